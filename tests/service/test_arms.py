"""Arms with odd names, and arms that only an older version of the structure has."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

import structuredbandits as sb
from tests.service.conftest import Api
from tests.service.test_experiments import code


def file_of(folder: Path, *arms: str) -> dict[str, str]:
    path = folder / "some.structure"
    means = [[1.0 + (row == column) for column in range(len(arms))] for row in range(len(arms))]
    sb.Structure.from_table(means, arms=list(arms), sigma=1.0).save(path)
    return {"file": base64.b64encode(path.read_bytes()).decode()}


def test_an_arm_that_only_an_older_version_has_can_be_retired(api: Api, tmp_path: Path) -> None:
    api.create(floor=1.0)
    api.decide("old")
    for arms in (("1", "x"), ("1", "y")):
        body = {"structure": file_of(tmp_path, *arms)}
        api.client.post("/v1/experiments/shop/structures", json=body)
    for arm in ("3", "x"):
        retired = api.client.post(f"/v1/experiments/shop/arms/{arm}/retire")
        assert retired.status_code == 200, retired.text
    assert retired.json()["retired_arms"] == ["3", "x"]
    assert api.decide("old")["probabilities"]["3"] == 0.0
    unknown = api.client.post("/v1/experiments/shop/arms/z/retire")
    assert code(unknown) == (422, "unknown_arm")
    assert code(api.client.post("/v1/experiments/shop/arms/z/restore")) == (422, "unknown_arm")
    restored = api.client.post("/v1/experiments/shop/arms/3/restore")
    assert restored.json()["retired_arms"] == ["x"]
    assert api.decide("old")["probabilities"]["3"] > 0.3
    # Old subjects may be left with nothing; new ones may not.
    for arm in ("2", "3", "1"):
        assert api.client.post(f"/v1/experiments/shop/arms/{arm}/retire").status_code == 200
    asked = api.client.post("/v1/experiments/shop/decisions", json={"subject": "old"})
    assert code(asked) == (409, "no_arm_left")
    assert api.decide("new")["arm"] == "y"
    assert code(api.client.post("/v1/experiments/shop/arms/y/retire")) == (409, "last_arm")


def test_arms_with_slashes_can_be_retired_and_restored(lite: Api, tmp_path: Path) -> None:
    arms = ("Action/Adventure", "a/retire", "50 % off?", "/", "a/../b", "...", "plain")
    body = {"id": "films", "structure": file_of(tmp_path, *arms), "policy": "ts-c"}
    assert lite.client.post("/v1/experiments", json=body).status_code == 201
    for arm, written in (
        ("Action/Adventure", "Action%2FAdventure"),
        ("Action/Adventure", "Action/Adventure"),
        ("a/retire", "a%2Fretire"),
        ("50 % off?", "50%20%25%20off%3F"),
        ("/", "%2F"),
        ("a/../b", "a%2F..%2Fb"),
        ("...", "..."),
    ):
        path = f"/v1/experiments/films/arms/{written}"
        assert lite.client.post(f"{path}/retire").json()["retired_arms"] == [arm]
        assert lite.client.post(f"{path}/restore").json()["retired_arms"] == []
    described = lite.client.get("/openapi.json").json()["paths"]
    assert "/v1/experiments/{experiment}/arms/{arm}/retire" in described


@pytest.mark.parametrize("arm", [".", "..", "a\nb", "a\x7f", 201 * "x"], ids=ascii)
def test_arms_that_no_request_could_name_are_refused(lite: Api, tmp_path: Path, arm: str) -> None:
    body = {"structure": file_of(tmp_path, "plain", arm)}
    made = lite.client.post("/v1/experiments", json=body | {"id": "odd", "policy": "ts-c"})
    assert code(made) == (422, "invalid_input")
    assert repr(arm[:80]) in made.json()["error"]["message"]
    assert lite.client.get("/v1/experiments/odd").status_code == 404
    lite.create()
    added = lite.client.post("/v1/experiments/shop/structures", json=body)
    assert code(added) == (422, "invalid_input")
    assert lite.client.get("/v1/experiments/shop").json()["structure_version"] == 1
