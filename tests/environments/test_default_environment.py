"""A structure that comes without an environment gets rewards of its own family."""

from __future__ import annotations

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.environments import Bernoulli, Bounded, Gaussian, default_environment
from structuredbandits.errors import InvalidStructure
from structuredbandits.recommendation import draw_true_means
from structuredbandits.simulation.arguments import read_problem

PLAIN = sb.Structure.from_table([[0.2, 0.6]], arms=["a", "b"], sigma=0.5)
CLICKS = PLAIN.with_(rewards="bernoulli")
SALES = sb.Structure.from_table([[4.0, 6.0]], rewards="bernoulli", prize=[20, 30])
STARS = sb.Structure.from_table([[2.0, 4.5]], rewards="bounded", limits=(1, 5), noise=1.0)


def test_the_family_decides() -> None:
    assert default_environment(PLAIN) == Gaussian(PLAIN)
    assert default_environment(CLICKS) == Bernoulli(CLICKS, prize=1)
    assert default_environment(SALES) == Bernoulli(SALES, prize=[20, 30])
    assert default_environment(STARS) == Bounded(STARS)
    for known in (PLAIN, CLICKS, SALES, STARS):
        assert read_problem(known, None)[1] == default_environment(known)


@pytest.mark.parametrize("known", [CLICKS, SALES, STARS])
def test_rewards_are_possible_and_have_the_means(known: sb.Structure) -> None:
    cumulative, values = default_environment(known).quantile_table(0)  # type: ignore[attr-defined]  # a table
    shares = np.diff(cumulative, prepend=0.0, axis=1)
    np.testing.assert_allclose(shares @ values, known.means[0])
    for k in range(2):
        assert all(known.rewards.possible(k, v) for v in values[shares[k] > 0].tolist())


def test_bounded_rewards_have_the_noise_of_the_structure_where_the_limits_allow_it() -> None:
    cumulative, values = Bounded(STARS).quantile_table(0)
    shares = np.diff(cumulative, prepend=0.0, axis=1)
    variances = shares @ values**2 - STARS.means[0] ** 2
    np.testing.assert_allclose(variances, [1.0, 1.0])
    cumulative, values = Bounded(STARS.with_(noise=3.0)).quantile_table(0)
    shares = np.diff(cumulative, prepend=0.0, axis=1)
    variances = shares @ values**2 - STARS.means[0] ** 2
    np.testing.assert_allclose(variances, [1.0 * 3.0, 3.5 * 0.5])  # the largest within 1 and 5
    with pytest.raises(InvalidStructure, match="have no limits"):
        Bounded(PLAIN)


def test_simulated_true_means_stay_within_the_limits() -> None:
    doubtful = sb.Structure.from_table(
        [[0.01, 0.5]], rewards="bernoulli", standard_errors=[[0.2, 0.2]]
    )
    drawn = draw_true_means(doubtful, runs=200, seed=1)
    assert drawn.min() == 0.0
    assert drawn.max() <= 1.0


def test_recommend_and_identify_draw_clicks() -> None:
    known = sb.Structure.from_table([[0.1, 0.9], [0.9, 0.1]], rewards="bernoulli")
    found = sb.recommend(known, horizon=50, candidates=["ts-beta"], runs=4)
    assert {row.policy for row in found.candidates} == {"always", "prior-index", "ts-beta"}
    assert sb.identify(known, theta=1, delta=0.1, runs=3, seed=1).correct.all()
