"""The lab over HTTP: shapes, limits, and one sentence for every mistake."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

import structuredbandits as sb
from structuredbandits.plots import style
from structuredbandits.service.api.responses import install
from structuredbandits.service.lab import router as lab
from structuredbandits.service.lab.lab_models import MOST_ROUNDS
from structuredbandits.service.lab.lab_structures import OFFERED
from structuredbandits.service.settings import ServiceSettings
from structuredbandits.service.worker_process import WorkerProcess

THREE = {"problem": "three-arms"}
worker = WorkerProcess(waiting=4, seconds=600.0)
LINES = {"a": [[0, 1], [1, 2]], "b": [[0, 2], [1, 1]]}


@pytest.fixture(scope="module", autouse=True)
def started() -> Iterator[None]:
    """The process of the lab, for all tests of this file."""
    yield
    worker.close()


def ask(method: str, path: str, **body: Any) -> httpx.Response:
    app = FastAPI()
    install(app)
    app.include_router(lab.router)
    app.state.service = SimpleNamespace(settings=ServiceSettings(insecure=True), lab=worker)

    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://lab") as client:
            return await client.request(method, path, **body)

    return asyncio.run(asked())


def run(**changes: Any) -> httpx.Response:
    body = {"structure": THREE, "theta": 0.5, "policies": ["ucb-c"], "rounds": 10} | changes
    return ask("POST", "/v1/lab/runs", json=body)


def test_all_embedded_problems_are_listed() -> None:
    rows = ask("GET", "/v1/lab/problems").json()["problems"]
    assert [row["name"] for row in rows] == list(sb.problem_names())


@pytest.mark.parametrize("name", sb.problem_names())
def test_every_embedded_problem_can_be_shown_and_run(name: str) -> None:
    shown = ask("POST", "/v1/lab/structures", json={"structure": {"problem": name}}).json()
    structure = sb.load_structure(name)
    assert [arm["name"] for arm in shown["arms"]] == list(structure.arms)
    assert len(shown["best"]) == structure.n_parameters
    assert [row["name"] for row in shown["policies"]] == list(OFFERED)
    answer = run(structure={"problem": name}, theta=shown["thetas"][0], policies=["ucb-c"])
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["policies"][0]["arms"]) == 10


def test_policies_and_arms_look_as_in_the_figures() -> None:
    shown = ask("POST", "/v1/lab/structures", json={"structure": THREE}).json()
    for row in shown["policies"]:
        assert row["look"]["colour"] == style.colour_of(row["name"])
    for k, arm in enumerate(shown["arms"]):
        assert arm["look"]["colour"] == style.arm_look(k).colour
    assert shown["policies"][0]["look"]["dash"]
    assert not shown["policies"][OFFERED.index("ucb-c")]["look"]["dash"]


def test_looks_of_any_policy_and_of_many_arms() -> None:
    answer = ask("GET", "/v1/lab/looks?arms=20&policy=hierarchical&policy=ucb-c(alpha=2)").json()
    assert [look["colour"] for look in answer["arms"]] == [
        style.arm_look(k).colour for k in range(20)
    ]
    assert set(answer["policies"]) == {"hierarchical", "ucb-c(alpha=2)"}
    assert ask("GET", "/v1/lab/looks?arms=1001").status_code == 422


def test_a_policy_that_does_not_fit_says_why() -> None:
    shown = ask("POST", "/v1/lab/structures", json={"structure": THREE}).json()
    row = shown["policies"][OFFERED.index("hierarchical")]
    assert not row["applies"]
    assert "standard errors" in row["reason"]


def test_a_drawn_structure_runs() -> None:
    answer = run(structure={"breakpoints": LINES, "sigma": 0.5}, theta=0.25)
    assert answer.status_code == 200
    assert answer.json()["true_means"] == [1.25, 1.75]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"structure": {"problem": "tree-arms"}}, "did you mean 'three-arms'"),
        ({"structure": {}}, "Field required"),
        ({"structure": {"breakpoints": {"a": [[0, 1]], "b": [[0, 1], [1, 2]]}}}, "breakpoints.a"),
        ({"structure": {"breakpoints": {"a": LINES["a"]}}}, "at least 2"),
        (
            {"structure": {"breakpoints": LINES | {"c": [[0, 1], [2, 2]]}}},
            "give all arms the same two ends",
        ),
        ({"structure": {"breakpoints": {str(k): LINES["a"] for k in range(13)}}}, "at most 12"),
        ({"structure": {"breakpoints": LINES, "sigma": 0}}, "sigma"),
        ({"structure": {"breakpoints": LINES, "points": 10**6}}, "points"),
        ({"theta": 99}, "give a number from 0 to 6"),
        ({"theta": [1, 2]}, "not in Θ"),
        ({"policies": []}, "policies"),
        ({"policies": ["ucb"] * 7}, "policies"),
        ({"policies": ["x" * 81]}, "policies.0"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": MOST_ROUNDS + 1}, "rounds"),
        ({"seed": -1}, "seed"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_mistakes_get_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    answer = run(**changes)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"].startswith("invalid")
    assert sentence in error["message"]
    assert "\n" not in error["message"]


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[]", b""])
def test_a_body_that_cannot_be_read(content: bytes) -> None:
    answer = ask("POST", "/v1/lab/runs", content=content)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["message"]


def test_a_full_queue_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full:
        full.setattr(worker, "_calls", worker.waiting + 1)  # one runs, and all others wait
        for busy in (run(), ask("POST", "/v1/lab/structures", json={"structure": THREE})):
            assert busy.status_code == 429
            assert busy.headers["Retry-After"] == "1"
        assert ask("GET", "/v1/lab/looks?arms=2").status_code == 200
    assert run().status_code == 200
    assert run(policies=["nope"]).status_code == 422
    assert run().status_code == 200
