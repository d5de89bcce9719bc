"""The hierarchical policies behave as documented, over many draws and runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import structuredbandits as sb
from structuredbandits.recommendation import draw_true_means
from structuredbandits.recommendation.worlds import believed_means


def learned(seed: int) -> sb.Structure:
    generator = np.random.default_rng(seed)
    counts = generator.integers(5, 60, (12, 6))
    return sb.Structure.from_table(
        generator.normal(0.0, 0.5, (12, 6)),
        sigma=1.0,
        counts=counts,
        standard_errors=1.0 / np.sqrt(counts),
    )


@pytest.mark.parametrize("name", ["hierarchical", "hierarchical-c(alpha=1)"])
def test_frequencies_are_the_stated_probabilities(name: str) -> None:
    """Chi-square of 20,000 pulls at three moments of a run; error rate 3e-4 per name, seed 1."""
    structure = learned(1)
    policy = sb.make_policy(name, structure, seed=1)
    generator = np.random.default_rng(2)
    for moment in range(3):
        shares = np.array(list(policy.probabilities().values()))
        pulled = np.zeros(6)
        for _ in range(20_000):
            pulled[structure.arm_index(policy.pull())] += 1
        common = shares * 20_000 > 5
        rest = [shares[~common].sum() * 20_000] if shares[~common].sum() * 20_000 > 5 else []
        expected = np.array([*(shares[common] * 20_000), *rest])
        observed = np.array([*pulled[common], *([pulled[~common].sum()] if rest else [])])
        expected *= observed.sum() / expected.sum()
        assert chisquare(observed, expected).pvalue > 1e-4, moment
        for _ in range(15):
            policy.update(int(generator.integers(6)), float(generator.normal(0.0, 1.0)))


def test_on_its_own_model_the_index_beats_thompson_and_both_beat_the_rest() -> None:
    """Worlds drawn from the model: paired differences of mean regret, 150 worlds, seed 3.

    Each difference is at least 4 standard errors, so a false order would pass with probability
    below 1e-4.
    """
    structure = learned(4)
    answer = sb.recommend(
        structure,
        horizon=1_000,
        candidates=["hierarchical", "hierarchical-index", "posterior", "ts-c", "ts"],
        runs=150,
        seed=3,
    )
    regret = {row.policy: row.regret for row in answer.candidates}
    error = {row.policy: row.standard_error for row in answer.candidates}
    assert answer.policy == "hierarchical-index"
    assert regret["hierarchical-index"] < regret["hierarchical"] < regret["ts"]
    apart = regret["ts"] - regret["hierarchical"]
    assert apart > 4 * np.hypot(error["ts"], error["hierarchical"])


def test_worlds_have_the_errors_of_the_map() -> None:
    """Standardised draws have mean 0 and variance 1: six-sigma bounds at 4,000 draws, seed 5."""
    structure = learned(6).with_(prior=[1.0] + [0.0] * 11)
    assert structure.standard_errors is not None
    worlds = draw_true_means(structure, 4_000, seed=5)
    means, errors = believed_means(structure)
    z = (worlds - means[0]) / errors[0]
    assert abs(z.mean(axis=0)).max() < 6 / np.sqrt(4_000)
    assert abs(z.var(axis=0) - 1).max() < 6 * np.sqrt(2 / 4_000)
