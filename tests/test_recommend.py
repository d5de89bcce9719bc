"""Which policy to use: the answer, its numbers, its words and its command."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.cli.app import run
from structuredbandits.recommendation import CANDIDATES, draw_worlds

LEARNED = sb.Structure.from_table(
    [[1.0, 0.0, 0.2], [0.0, 1.0, 0.2], [0.3, 0.2, 0.8]],
    arms=["a", "b", "c"],
    sigma=1.0,
    standard_errors=np.full((3, 3), 0.1),
)


@pytest.fixture(scope="module")
def answer() -> sb.Recommendation:
    return sb.recommend(LEARNED, horizon=300, runs=30, seed=1)


def test_numbers_belong_together(answer: sb.Recommendation) -> None:
    rows = {row.policy: row for row in answer.candidates}
    assert answer.policy == answer.chosen.policy == answer.candidates[0].policy
    assert [row.regret for row in answer.candidates] == sorted(row.regret for row in rows.values())
    assert rows["ts"].gain == 0.0
    for row in rows.values():
        assert row.gain == pytest.approx(rows["ts"].regret - row.regret)
    assert sum(row.best for row in rows.values()) == pytest.approx(1.0)
    assert set(rows) == {"ts", *CANDIDATES}


def test_the_structure_is_worth_something_here(answer: sb.Recommendation) -> None:
    assert answer.policy != "ts"
    assert answer.chosen.gain > 0
    text = str(answer)
    assert text.startswith(f"Use {answer.policy}.")
    assert "95 % interval" in text
    assert "taken as exact" not in text


def test_equal_seeds_give_equal_answers(answer: sb.Recommendation) -> None:
    again = sb.recommend(LEARNED, horizon=300, runs=30, seed=1)
    assert again == answer
    assert sb.recommend(LEARNED, horizon=300, runs=30, seed=2) != answer


def test_what_does_not_apply_is_named() -> None:
    exact = sb.Structure.from_table(LEARNED.means, sigma=1.0)
    found = sb.recommend(exact, 50, candidates=["hierarchical", "posterior", "ts-beta"], runs=3)
    assert set(found.left_out) == {"hierarchical", "ts-beta"}
    assert "standard errors" in found.left_out["hierarchical"]
    assert "taken as exact" in str(found)


def test_bounds_are_filled_evenly() -> None:
    bounds = sb.Structure.from_bounds([[0.0, 1.0]], [[0.5, 3.0]], sigma=1.0)
    worlds = draw_worlds(bounds, 2_000, seed=0)
    assert (worlds >= bounds.lower[0]).all()
    assert (worlds <= bounds.upper[0]).all()
    # The mean of 2,000 uniform numbers is within six standard errors of the middle.
    off = abs(worlds.mean(axis=0) - [0.25, 2.0]) / np.array([0.5, 2.0])
    assert (off < 6 / np.sqrt(12 * 2_000)).all()


def test_costs_are_made_small() -> None:
    costs = sb.Structure.from_table(-LEARNED.means, sigma=1.0, minimize=True)
    found = sb.recommend(costs, 100, candidates=["posterior"], runs=5)
    assert all(row.regret >= 0 for row in found.candidates)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"horizon": 0}, "horizon is 0"),
        ({"horizon": 2.5}, "horizon is 2.5"),
        ({"horizon": 10, "runs": 1}, "runs is 1"),
        ({"horizon": 10, "seed": -1}, "seed is -1"),
    ],
)
def test_bad_settings_are_told(settings: dict[str, int], said: str) -> None:
    with pytest.raises(sb.InvalidInput, match=said):
        sb.recommend(LEARNED, **settings)


def test_it_wants_a_structure() -> None:
    with pytest.raises(sb.InvalidInput, match="not a structure"):
        sb.recommend("movielens", 10)  # type: ignore[arg-type]  # a name is for the command line


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run_here(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capsys.readouterr()

    return run_here


def test_the_command_says_what_to_use(call: Callable[..., tuple[int, str, str]]) -> None:
    options = ("--horizon", "50", "--runs", "3", "--policies", "posterior,hierarchical")
    code, out, _ = call("recommend", "three-arms", *options)
    assert code == 0
    assert "Use " in out
    assert "hierarchical was left out" in " ".join(out.split())
    code, out, _ = call("recommend", "three-arms", *options, "--json")
    assert code == 0
    found = json.loads(out)
    assert {row["policy"] for row in found["candidates"]} == {"ts", "posterior"}


def test_the_command_needs_a_horizon(call: Callable[..., tuple[int, str, str]]) -> None:
    code, _, err = call("recommend", "three-arms")
    assert code == 2
    assert "horizon" in err.lower()
