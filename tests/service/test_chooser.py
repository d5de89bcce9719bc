"""The stored explanation of a decision is the policy's own: same arms, same confidence set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.policies.run import Run
from structuredbandits.service.decisions.chooser import Chooser
from structuredbandits.service.experiments import experiment_cache
from structuredbandits.service.subjects.subject_state import SubjectState

KNOWN = sb.Structure.from_table(
    [[3.0, 2.0, 0.0, 1.0], [3.0, 0.0, 2.0, 1.0], [3.0, 1.0, 1.0, 2.0]], sigma=0.5
)


def state_of(counts: list[int], means: list[float]) -> SubjectState:
    state = SubjectState.fresh(len(counts))
    for arm, (count, mean) in enumerate(zip(counts, means, strict=True)):
        state.counts[arm], state.sums[arm] = count, count * mean
        state.squares[arm] = count * (mean**2 + 0.25)
    state.received = state.decided = sum(counts)
    return state


def test_without_the_best_arm_the_best_of_the_rest_compete() -> None:
    """Arm 0 is best at every θ; without it each of the others is best at one."""
    chooser = Chooser(KNOWN, "ucb-c", horizon=None, floor=0.0)
    for state in (SubjectState.fresh(4), state_of([3, 0, 0, 0], [3.0, 0.0, 0.0, 0.0])):
        choices = chooser.choices([state], np.array([1, 2, 3]))
        assert choices.competitive.tolist() == [[False, True, True, True]]
        assert choices.plausible.tolist() == [3]
    everything = chooser.choices([SubjectState.fresh(4)], np.arange(4))
    assert everything.competitive.tolist() == [[True, False, False, False]]


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize(
    "policy",
    [
        "ucb-c(alpha=0.5)",
        "ucb-c(alpha=0.5,robust=1)",
        "ucb-cj(alpha=0.5)",
        "ucb-cj(alpha=0.5,robust=1)",
        "ts-c(alpha=0.5,robust=1,floor=0.1)",
        "ucb-s(alpha=0.5)",
        "hierarchical-c(alpha=0.5,errors=1)",
        "hierarchical-c(alpha=0.5,errors=1,robust=1)",
    ],
)
def test_the_explanation_is_that_of_the_policy(policy: str, minimize: bool) -> None:
    """Before, a robust policy was explained with the width of its test, and without its set."""
    rng = np.random.default_rng(8)
    options: Any = {"standard_errors": np.full((9, 4), 0.1)} if "hierarchical" in policy else {}

    def drawn() -> tuple[sb.Structure, SubjectState]:
        means = rng.normal(size=(9, 4))
        structure = sb.Structure.from_table(means, sigma=0.7, minimize=minimize, **options)
        return structure, state_of(rng.integers(0, 4, 4).tolist(), rng.normal(size=4).tolist())

    check_explanations(policy, drawn, rng)


@pytest.mark.parametrize("policy", ["ucb-c", "ts-c(alpha=2,robust=1)", "ucb-s", "ucb-cj"])
@pytest.mark.parametrize("family", ["bernoulli", "bounded"])
def test_limited_rewards_are_explained_with_the_intervals_of_their_family(
    policy: str, family: str
) -> None:
    rng = np.random.default_rng(9)
    options: Any = {"limits": (0.0, 1.0)} if family == "bounded" else {}

    def drawn() -> tuple[sb.Structure, SubjectState]:
        structure = sb.Structure.from_table(rng.random((9, 4)), rewards=family, **options)
        counts = rng.integers(0, 40, 4)
        shares = rng.binomial(counts, 0.4) / np.maximum(counts, 1)
        return structure, state_of(counts.tolist(), shares.tolist())

    check_explanations(policy, drawn, rng)


def check_explanations(
    policy: str,
    drawn: Callable[[], tuple[sb.Structure, SubjectState]],
    rng: np.random.Generator,
) -> None:
    """Compare what is stored with a decision with what a run of the policy says."""
    different = 0
    for _ in range(40):
        structure, state = drawn()
        chooser = Chooser(structure, policy, horizon=None, floor=0.0)
        allowed = np.flatnonzero(rng.random(4) < 0.7)
        allowed = allowed if allowed.size else np.arange(4)
        run = Run(chooser.algorithm, structure, seed=0)
        run.restore(
            counts=state.counts,
            sums=structure.sign * np.array(state.sums),
            squares=state.squares,
            pending=state.pending,
            decided=state.decided,
        )
        choices = chooser.choices([state], allowed)
        assert np.flatnonzero(choices.competitive[0]).tolist() == run.candidates(allowed).tolist()
        assert run.plausible is not None
        assert choices.plausible[0] == run.plausible.sum()
        assert chooser.plausible_at(state).tolist() == run.plausible.tolist()
        assert chooser.view(state, allowed).plausible.tolist() == run.plausible.tolist()
        different += int(run.plausible.sum() < 9)
    assert different > 10


def test_intervals_of_a_robust_policy_have_the_width_of_its_set() -> None:
    state = state_of([4, 0, 0, 0], [3.0, 0.0, 0.0, 0.0])
    plain = Chooser(KNOWN, "ucb-c", horizon=None, floor=0.0).view(state, np.arange(4))
    robust = Chooser(KNOWN, "ucb-c(robust=1)", horizon=None, floor=0.0).view(state, np.arange(4))
    assert (robust.low, robust.high) == (plain.low, plain.high)


def test_the_versions_in_use_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[int] = []

    def load(connection: Any, experiment: Any, number: int) -> Any:
        loaded.append(number)
        return f"version {number}"

    monkeypatch.setattr(experiment_cache, "load_version", load)
    catalogue = experiment_cache.ExperimentCache()
    experiment: Any = type("Named", (), {"id": "shop"})()
    nobody: Any = None
    for number in range(200):
        catalogue.version(nobody, experiment, number)
        assert catalogue.version(nobody, experiment, 0) == "version 0"  # used all the time
        assert catalogue.known_version("shop", 0) == "version 0"
    assert loaded == list(range(200))
    assert catalogue.known_version("shop", 100) is None
    assert catalogue.known_version("shop", 199) == "version 199"
