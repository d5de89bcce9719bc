"""A deleted subject leaves nothing behind, in any table, and the audit does not say who it was."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import select, update

from structuredbandits.service.storage import tables
from tests.service.conftest import Api

NAME = "somebody with a name"
PATH = f"/v1/experiments/shop/subjects/{NAME}"


def everything(api: Api) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables."""
    with api.service.database.read() as connection:
        return {
            name: [dict(row) for row in connection.execute(select(table)).mappings()]
            for name, table in tables.metadata.tables.items()
        }


def live(api: Api, subject: str) -> dict[str, Any]:
    """Let a subject have all that can be stored of her; the first of her decisions."""
    made = [
        api.client.post(
            "/v1/experiments/shop/decisions",
            json={"subject": subject},
            headers={"Idempotency-Key": f"{subject}-{number}".replace(" ", "-")},
        ).json()
        for number in range(3)
    ]
    assert api.reward(made[0], 1.0).status_code == 200
    correction = {"reward": 2.0, "reason": f"{subject} complained"}
    path = f"/v1/decisions/{made[0]['id']}/corrections"
    assert api.client.post(path, json=correction).status_code == 200
    return dict(made[0])


@pytest.mark.parametrize("way", ["by request", "by age"])
def test_a_deleted_subject_leaves_no_row_and_no_word(api: Api, way: str) -> None:
    api.create(retention_days=1.0)
    other = live(api, "another one")
    before = everything(api)
    decision = live(api, NAME)
    number = int(decision["id"].split("-")[0], 16)
    assert NAME in str(everything(api))
    if way == "by request":
        assert api.client.delete(PATH).status_code == 204
    else:
        with api.service.database.write() as connection:
            old = update(tables.subjects).where(tables.subjects.c.name == NAME).values(created=0)
            connection.execute(old)
        asyncio.run(api.service.scheduler.round())
    after = everything(api)
    for word in (NAME, NAME.replace(" ", "-"), "complained"):
        assert str(after).count(word) == str(before).count(word), word
    for name, table in tables.metadata.tables.items():
        changed = [row for row in after[name] if row not in before[name]]
        if name == "audit":
            assert [row["action"] for row in changed] == [
                "delete subject" if way == "by request" else "retention"
            ]
            (line,) = changed
            assert line["subject"] is None
            assert line["experiment"] == "shop"
            assert json.loads(line["detail"]) in ({}, {"subjects": 1})
        elif name != "counters":  # which hold no row of anybody
            assert changed == [], name
        if "subject" in table.c:
            assert number not in [row["subject"] for row in after[name]], name
    assert api.reward(other, 1.0).status_code == 200


def test_a_deleted_subject_is_somebody_new_when_she_comes_again(api: Api) -> None:
    api.create()
    old = live(api, NAME)
    assert api.client.delete(PATH).status_code == 204
    assert api.client.delete(PATH).status_code == 404
    assert api.client.get(PATH).status_code == 404
    assert api.reward(old, 1.0).status_code == 404
    new = live(api, NAME)
    assert (new["round"], new["id"] == old["id"]) == (1, False)
    assert api.client.get("/v1/experiments/shop/events").text.count("\n") == 1
