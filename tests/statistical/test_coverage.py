"""How often the truth is ruled out: never more often than proved, exactly as often as computed.

Pr(θ* not plausible after t rewards) <= 2 K t^(1 - alpha), for known means and for known bounds
(Appendix A). One-sided exact binomial tests with error rate 1e-4 each, seeds fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import structuredbandits as sb
from tests.statistical.agreement import assert_share, share_exceeds
from tests.statistical.ruled_out import proved, times_ruled_out

MOMENTS = (5, 10, 20, 40)
TRUTH = 1.5
RUNS = 5000


def known_exactly(sigma: float = 2.0) -> sb.Structure:
    exact = sb.load_structure("three-arms")
    return sb.Structure.from_table(exact.means, parameters=exact.parameters, sigma=sigma)


def known_by_bounds(sigma: float = 2.0) -> sb.Structure:
    """The truth lies on a lower, an upper and a lower bound: one step from being ruled out."""
    exact = sb.load_structure("three-arms")
    below, above = np.array([0.0, 0.5, 0.0]), np.array([0.5, 0.0, 0.2])
    return sb.Structure.from_bounds(
        exact.means - below, exact.means + above, parameters=exact.parameters, sigma=sigma
    )


def count_over_runs(
    structure: sb.Structure, alpha: float, seed: int, noise: float = 2.0
) -> list[int]:
    """In how many of the runs of UCB-C the truth is ruled out, at each of the moments."""
    truth = dict(zip(structure.arms, sb.load_structure("three-arms").means_at(TRUTH), strict=True))
    return times_ruled_out(
        sb.Competitive(sb.UCB(alpha=3.0), alpha=alpha),
        structure,
        truth,
        structure.parameters.nearest(TRUTH),
        np.random.default_rng(seed).normal(0.0, noise, (RUNS, MOMENTS[-1])).tolist(),
        MOMENTS,
    )


@pytest.mark.parametrize(
    ("structure", "alpha"),
    [(known_exactly(), 3.0), (known_exactly(), 2.0), (known_by_bounds(), 3.0)],
    ids=["means, alpha 3", "means, alpha 2", "bounds, alpha 3"],
)
def test_the_truth_is_ruled_out_no_more_often_than_proved(
    structure: sb.Structure, alpha: float
) -> None:
    hits = count_over_runs(structure, alpha, seed=31)
    for count, bound in zip(hits, proved(3, alpha, MOMENTS), strict=True):
        assert not share_exceeds(count, RUNS, bound)


@pytest.mark.parametrize(
    ("structure", "alpha"),
    [(known_exactly(sigma=1.0), 3.0), (known_by_bounds(sigma=1.0), 3.0), (known_exactly(), 0.8)],
    ids=["means, half of sigma", "bounds, half of sigma", "means, alpha 0.8"],
)
def test_a_set_that_is_too_small_breaks_the_bound(structure: sb.Structure, alpha: float) -> None:
    """The test above can fail: the bound for alpha 3 is broken at some moment."""
    hits = count_over_runs(structure, alpha, seed=32)
    bounds = proved(3, 3.0, MOMENTS)
    assert any(share_exceeds(n, RUNS, bound) for n, bound in zip(hits, bounds, strict=True))


# -- with fixed numbers of pulls the probability is known exactly ----------------------------------

COUNTS = (6, 3, 1)
SIGMAS = np.array([2.0, 1.0, 0.5])
MEANS = np.array([1.0, -0.5, 0.3])
FIXED_RUNS = 20_000


def shares_ruled_out(lower: np.ndarray, upper: np.ndarray, alpha: float) -> float:
    """Probability that some arm rules θ* out after its fixed number of pulls."""
    deviation = SIGMAS / np.sqrt(COUNTS)
    radius = np.sqrt(2 * alpha * np.log(sum(COUNTS))) * deviation
    too_high = stats.norm.sf((upper - MEANS + radius) / deviation)
    too_low = stats.norm.sf((MEANS - lower + radius) / deviation)
    return float(1 - np.prod(1 - too_high - too_low))


def count_ruled_out(lower: np.ndarray, upper: np.ndarray, alpha: float) -> int:
    structure = sb.Structure.from_bounds([lower, lower - 9], [upper, upper - 9], sigma=SIGMAS)
    algorithm = sb.Competitive(sb.UCB(), alpha=alpha)
    arms = np.repeat(np.arange(3), COUNTS)
    generator = np.random.default_rng(33)
    rewards = MEANS[arms] + SIGMAS[arms] * generator.standard_normal((FIXED_RUNS, arms.size))
    missing = 0
    for row in rewards.tolist():
        policy = algorithm.start(structure, seed=0, history=zip(arms.tolist(), row, strict=True))
        missing += not policy.confidence_set.mask[0]
    return missing


@pytest.mark.parametrize("alpha", [0.5, 0.25])
@pytest.mark.parametrize(
    ("below", "above"),
    [((0, 0, 0), (0, 0, 0)), ((0.0, 0.6, 0.1), (0.4, 0.0, 0.3))],
    ids=["means", "bounds"],
)
def test_the_truth_is_ruled_out_exactly_as_often_as_computed(
    below: tuple[float, ...], above: tuple[float, ...], alpha: float
) -> None:
    """Two-sided, error rate 1e-4; alpha off by a tenth would fail."""
    lower, upper = MEANS - below, MEANS + above
    missing = count_ruled_out(lower, upper, alpha)
    assert_share(missing, FIXED_RUNS, shares_ruled_out(lower, upper, alpha))
    for wrong in (0.9 * alpha, 1.1 * alpha):
        with pytest.raises(AssertionError, match="not"):
            assert_share(missing, FIXED_RUNS, shares_ruled_out(lower, upper, wrong))
