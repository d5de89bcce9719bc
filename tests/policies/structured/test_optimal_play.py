"""The default policy against optimal play, which dynamic programming finds on tiny problems."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.optimal_play import Tiny, optimal_cases


def test_optimal_play_is_the_best_of_all_policies() -> None:
    """Two rounds: every deterministic policy is tried, and none has less regret."""
    rates, prior = np.array([[0.8, 0.3], [0.2, 0.6]]), np.array([0.4, 0.6])
    tiny = Tiny(rates, prior, 2)
    gaps = rates.max(axis=1, keepdims=True) - rates
    least = np.inf
    for first, if_lost, if_won in itertools.product((0, 1), repeat=3):
        chance = rates[:, first]
        later = (1 - chance) * gaps[:, if_lost] + chance * gaps[:, if_won]
        least = min(least, float(prior @ (gaps[:, first] + later)))
    assert tiny.least_regret() == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize(("rounds", "factor"), [(5, 1.06), (20, 1.07)])
def test_the_default_loses_little_more_than_optimal_play(rounds: int, factor: float) -> None:
    """Exact expectations over 20 fixed problems: nothing is random, so the limit cannot flicker."""
    own, best = optimal_cases(rounds, 20, seed=7)
    assert (own >= best - 1e-9).all()
    assert own.mean() <= factor * best.mean()


def test_policies_that_ignore_the_rounds_to_come_lose_more() -> None:
    problems = [
        Tiny(np.array([[0.9, 0.5], [0.1, 0.5]]), np.array([p, 1 - p]), 20) for p in (0.3, 0.4)
    ]
    for tiny in problems:
        assert tiny.regret_of() < 0.9 * tiny.regret_of("greedy")
