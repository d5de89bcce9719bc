"""Compiled probabilities for many subjects against the plain formulas and against one run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import structuredbandits as sb
from structuredbandits.confidence.confidence_set import ConfidenceParameters
from structuredbandits.confidence.many_subjects import PlausibleSets
from structuredbandits.errors import InvalidPolicy

#: What the compiled version may differ by: the service draws from its numbers, so that an error
#: here changes the policy by as much, never the log.
NEAR = 1e-3


def largest(means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Probability that each normal draw is the largest, on a fine grid."""
    low, high = (means - 8 * deviations).max(), (means + 8 * deviations).max()
    grid = np.linspace(low, high, 6001)
    below = ndtr((grid - means[:, None]) / deviations[:, None])
    logs = np.log(np.maximum(below, 1e-300))
    others = np.exp(logs.sum(axis=0) - logs)
    masses = np.diff(below, axis=1) * 0.5 * (others[:, 1:] + others[:, :-1])
    return np.asarray(masses.sum(axis=1) / masses.sum())


def mixture(
    structure: sb.Structure, noise: float, counts: np.ndarray, sums: np.ndarray
) -> np.ndarray:
    """The hierarchical policy's probabilities, θ by θ."""
    errors = structure.standard_errors
    assert errors is not None
    prior = structure.prior
    assert prior is not None
    logs, shares = [], []
    for theta in range(structure.n_parameters):
        mean, variance, log = structure.means[theta].copy(), errors[theta] ** 2, 0.0
        for arm in np.flatnonzero(counts):
            sampling, seen = noise**2 / counts[arm], sums[arm] / counts[arm]
            total = variance[arm] + sampling
            log -= 0.5 * (math.log(total) + (seen - mean[arm]) ** 2 / total)
            trust = variance[arm] / total
            mean[arm] += trust * (seen - mean[arm])
            variance[arm] = trust * sampling
        logs.append(log + math.log(prior[theta]))
        shares.append(largest(mean, np.sqrt(variance)))
    weights = np.exp(np.array(logs) - max(logs))
    return np.asarray((weights[:, None] * shares).sum(axis=0) / weights.sum())


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_hierarchical_shares_are_those_of_the_plain_mixture(seed: int) -> None:
    rng = np.random.default_rng(seed)
    structure = sb.Structure.from_table(
        rng.normal(3.0, 0.5, (4, 6)),
        sigma=1.0,
        standard_errors=10 ** rng.uniform(-1.5, 0.0, (4, 6)),
        prior=rng.dirichlet(np.ones(4)) + 1e-6,
    )
    counts = rng.poisson(1.5, (3, 6)).astype(float)
    sums = counts * 3.0 + np.sqrt(counts) * rng.normal(size=(3, 6))
    found = sb.probabilities_many(sb.Hierarchical(noise=1.0), structure, counts, sums)
    for row in range(3):
        plain = mixture(structure, 1.0, counts[row], sums[row])
        assert np.abs(found[row] - plain).max() < NEAR


@pytest.mark.parametrize(
    "name", ["hierarchical", "ts", "ts-c", "ucb", "ucb-c", "ucb-cj", "posterior"]
)
@pytest.mark.parametrize("arms", [None, (1, 4, 7, 9)])
def test_many_subjects_get_what_each_run_would_tell(
    name: str, arms: tuple[int, ...] | None
) -> None:
    structure = sb.load_structure("movielens")
    rng = np.random.default_rng(11)
    counts = rng.poisson(rng.choice([0.05, 0.3, 3.0], (12, 1)), (12, 18)).astype(float)
    sums = counts * 3.0 + np.sqrt(counts) * rng.normal(size=(12, 18))
    pending = rng.poisson(0.2, (12, 18)).astype(float)
    found = sb.probabilities_many(name, structure, counts, sums, pending=pending, arms=arms)
    assert found.sum(axis=1) == pytest.approx(np.ones(12), abs=1e-12)
    for row in range(12):
        state = sb.make_policy(name, structure).state_dict()
        received, decided = int(counts[row].sum()), int(counts[row].sum() + pending[row].sum())
        state |= {"counts": counts[row].tolist(), "sums": sums[row].tolist()}
        state |= {"pending": pending[row].tolist(), "clock": [received, decided, 0]}
        run = sb.Policy.from_state(structure, state)
        single = np.array(list(run.probabilities(arms).values()))
        assert np.abs(found[row] - single).max() < NEAR


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_the_explanation_is_the_paper_s_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    structure = sb.Structure.from_table(rng.normal(size=(20, 4)), sigma=0.7)
    policy = sb.make_policy("ucb-c", structure, seed=1)
    for arm in rng.integers(4, size=rng.integers(12)):
        policy.update(int(arm), float(rng.normal()))
    sets = PlausibleSets(ConfidenceParameters(3.0, "box", structure))
    plausible, competitive = sets.of(np.array(policy.run.block)[None], np.arange(4))
    assert plausible[0] == len(policy.confidence_set)
    names = [arm for arm, yes in zip(structure.arms, competitive[0], strict=True) if yes]
    assert tuple(names) == policy.competitive_arms


def test_equal_and_certain_arms_share_equally() -> None:
    structure = sb.Structure.from_table(
        [[1.0, 1.0, 0.0]], sigma=1.0, standard_errors=[[0.0, 0.0, 0.0]]
    )
    nothing = np.zeros((1, 3))
    found = sb.probabilities_many(sb.Hierarchical(noise=1.0), structure, nothing, nothing)
    assert found.tolist() == [[0.5, 0.5, 0.0]]


def test_tables_grow_with_the_rounds() -> None:
    structure = sb.load_structure("three-arms")
    counts = np.full((1, 3), 2000.0)
    found = sb.probabilities_many("ucb-c", structure, counts, counts * [[2.0, 3.0, 1.0]])
    assert found.sum() == 1.0


def test_a_policy_without_known_probabilities_is_refused() -> None:
    class Stubborn:
        def pull(self, arms: list[str]) -> str:
            return arms[0]

        def update(self, arm: str, reward: float) -> None:
            pass

    structure = sb.load_structure("three-arms")
    nothing = np.zeros((1, 3))
    with pytest.raises(
        InvalidPolicy, match="the probabilities of stubborn-c are not known; use an"
    ):
        sb.probabilities_many(sb.Competitive(Stubborn()), structure, nothing, nothing)
