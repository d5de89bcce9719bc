"""The lab's runs are the library's: the regret of `simulate`, the sets of the policies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.errors import InvalidInput
from structuredbandits.service.lab import lab_runs as runs
from structuredbandits.service.lab.lab_models import DrawnStructure, PolicyRun, RunAnswer
from structuredbandits.service.lab.lab_structures import problem_of, show

POLICIES = ["ucb", "ucb-s", "ucb-c", "ts-c"]


def mask_of(run: PolicyRun, after: int, size: int) -> np.ndarray:
    assert run.sets is not None
    entry = [one for one in run.sets if one.round <= after][-1]
    mask = np.zeros(size, dtype=bool)
    for first, end in entry.plausible:
        mask[first:end] = True
    return mask


def test_a_run_is_the_run_that_simulate_makes() -> None:
    answer = runs.run(sb.load_problem("three-arms"), 1.5, POLICIES, rounds=300, seed=5)
    results = sb.simulate("three-arms", POLICIES, theta=1.5, horizon=300, runs=1, seed=5)
    final = results.mean()[:, 0, -1]
    assert [run.policy for run in answer.policies] == list(results.policies)
    for run, regret in zip(answer.policies, final, strict=True):
        assert run.regret[-1] == pytest.approx(regret, rel=1e-6)


def test_ratings_of_people_are_a_run_of_simulate_too() -> None:
    answer = runs.run(sb.load_problem("movielens"), 67, ["ts-c"], rounds=200, seed=1)
    results = sb.simulate("movielens", ["ts-c"], theta=67, horizon=200, runs=1, seed=1)
    assert answer.policies[0].regret[-1] == pytest.approx(results.mean()[0, 0, -1], rel=1e-6)
    assert all(reward in (1, 2, 3, 4, 5) for reward in answer.policies[0].rewards)


@pytest.mark.parametrize("policy", ["ucb-c", "ucb-s"])
def test_intervals_explain_the_plausible_set(policy: str) -> None:
    """A θ is plausible exactly if every arm's interval holds its mean."""
    structure = sb.load_structure("three-arms")
    run = runs.run(sb.load_problem("three-arms"), 2.6, [policy], rounds=120, seed=3).policies[0]
    assert run.widths is not None
    for after in range(1, 121):
        chosen, rewards = np.array(run.arms[:after]), np.array(run.rewards[:after])
        allowed = np.ones(structure.n_parameters, dtype=bool)
        for k in range(structure.n_arms):
            own = rewards[chosen == k]
            if len(own):
                radius = run.widths[after - 1] * structure.sigma[k] / np.sqrt(len(own))
                allowed &= np.abs(structure.means[:, k] - own.mean()) < radius
        # The page gets seven digits, so a θ at the very end of an interval may differ.
        assert (allowed != mask_of(run, after, structure.n_parameters)).sum() <= 1


def test_what_is_recorded_is_consistent() -> None:
    structure = sb.load_structure("three-arms")
    answer = runs.run(sb.load_problem("three-arms"), 0.5, POLICIES, rounds=250, seed=2)
    gaps = max(answer.true_means) - np.array(answer.true_means)
    assert answer.best_arm == 1
    for run in answer.policies:
        assert len(run.arms) == len(run.rewards) == len(run.means) == len(run.regret) == 250
        np.testing.assert_allclose(run.regret, np.cumsum(gaps[run.arms]), rtol=1e-6)
        last = run.arms[-1]
        own = [reward for arm, reward in zip(run.arms, run.rewards, strict=True) if arm == last]
        assert run.means[-1] == pytest.approx(np.mean(own), rel=1e-5)
    assert answer.policies[0].sets is None
    sets = answer.policies[2].sets
    assert sets is not None
    assert [entry.round for entry in sets] == sorted({entry.round for entry in sets})
    for entry in sets:
        mask = mask_of(answer.policies[2], entry.round, structure.n_parameters)
        best = structure.optimal[mask].any(axis=0) if mask.any() else np.ones(3, dtype=bool)
        assert entry.competitive == np.flatnonzero(best).tolist()
        assert entry.share == pytest.approx(structure.parameters.weights[mask].sum(), rel=1e-6)


def test_equal_requests_have_equal_answers_whatever_runs_beside() -> None:
    def answered(policies: list[str]) -> RunAnswer:
        return runs.run(sb.load_problem("two-arms"), 2.75, policies, rounds=80, seed=9)

    assert answered(["ucb-c", "ts"]).policies[0] == answered(["ts-c", "ucb-c"]).policies[1]


@pytest.mark.parametrize(
    ("policies", "sentence"),
    [
        (["nope"], "there is no policy 'nope'"),
        (["ucb", "UCB"], "'ucb' is given twice"),
        (["ucb-c(alpha='x')"], "positive finite alpha"),
        (["hierarchical"], "needs the standard errors"),
    ],
)
def test_policies_that_cannot_run(policies: list[str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        runs.run(sb.load_problem("three-arms"), 0.5, policies, rounds=10, seed=0)


def test_a_run_that_takes_too_long_is_one_sentence() -> None:
    with pytest.raises(runs.TooSlow, match="ask for fewer rounds or policies"):
        runs.run(sb.load_problem("three-arms"), 0.5, ["ucb"], rounds=64, seed=0, seconds=0.0)


corners = st.lists(
    st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3)),
    min_size=3,
    max_size=3,
)


@given(first=corners, second=corners)
def test_what_is_shown_of_a_drawn_structure_is_the_structure(
    first: list[float], second: list[float]
) -> None:
    places = (0.0, 1.5, 4.0)
    breakpoints = {
        "a": list(zip(places, first, strict=True)),
        "b": list(zip(places, second, strict=True)),
    }
    problem = problem_of(DrawnStructure(breakpoints=breakpoints, sigma=1.0, points=21))
    shown = show(problem)
    assert shown.kind == "interval"
    assert shown.axes is not None
    for k, values in enumerate((first, second)):
        expected = np.interp(shown.axes[0], places, values)
        np.testing.assert_allclose(shown.arms[k].means, expected, rtol=1e-5, atol=1e-4)
    assert shown.thetas == [2.0]
