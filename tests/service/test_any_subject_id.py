"""Subjects are called whatever their system calls them, also with slashes."""

from __future__ import annotations

from urllib.parse import quote

import httpx

from structuredbandits.client import Client
from tests.service.conftest import Api
from tests.service_guarantees.servers import wait_until

NAMES = [
    "ab/cd==",
    "a/steps",
    "steps/",
    "//",
    "a/../b",
    "a%2Fb",
    "ü/ß ?#&+\\\"'",
    "a\u2028b",
    "🙂/",
]


def test_a_subject_may_have_any_printable_character(api: Api) -> None:
    api.create()
    with Client(str(api.client.base_url)) as client:
        for name in NAMES:
            decision = api.decide(name)
            assert decision["subject"] == name
            path = f"/v1/experiments/shop/subjects/{quote(name, safe='')}"
            # The first view of a subject compiles, which a busy machine may not do in time.
            wait_until(lambda path=path: api.client.get(path).status_code != 503, 600.0)
            assert api.client.get(path).json()["subject"] == name
            steps = api.client.get(f"{path}/steps").json()
            assert (steps["subject"], len(steps["steps"])) == (name, 1)
            assert client.subject("shop", name).subject == name
    listed = api.client.get("/v1/experiments/shop/subjects").json()["subjects"]
    assert {one["subject"] for one in listed} == set(NAMES)
    for number, name in enumerate(NAMES, 1):
        path = f"/v1/experiments/shop/subjects/{quote(name, safe='')}"
        assert api.client.delete(path).status_code == 204
        assert api.client.get(path).status_code == 404
        assert api.count("subjects") == len(NAMES) - number


def test_control_characters_and_dots_alone_are_refused(lite: Api) -> None:
    lite.create()
    for name in ("a\nb", "a\x7f", "..", "", "\x00"):
        body = {"subject": name}
        assert lite.client.post("/v1/experiments/shop/decisions", json=body).status_code == 422
    raw = httpx.URL(f"{lite.client.base_url}/v1/experiments/shop/subjects/a%00%2Fb")
    assert lite.client.get(raw).status_code == 422
