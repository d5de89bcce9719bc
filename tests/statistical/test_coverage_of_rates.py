"""How often the truth is ruled out for Bernoulli and bounded rewards: as for Gaussian ones.

Pr(θ* not plausible after t rewards) <= 2 K t^(1 - alpha), and with fixed numbers of pulls exactly
as often as a sum over binomial probabilities. Exact binomial tests with error rate 1e-4 each,
seeds fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import structuredbandits as sb
from tests.plain.structure_arrays import divergence
from tests.statistical.agreement import assert_share, share_exceeds
from tests.statistical.ruled_out import proved

MOMENTS = (5, 10, 20, 40)
RATES = np.array([[0.03, 0.3, 0.95], [0.2, 0.1, 0.5], [0.5, 0.6, 0.05]])
RUNS = 3000


def known(bounded: bool) -> sb.Structure:
    if bounded:  # 1 to 5 stars
        return sb.Structure.from_table(1 + 4 * RATES, rewards="bounded", limits=(1, 5))
    prize = np.array([1.0, 2.0, 30.0])
    return sb.Structure.from_table(prize * RATES, rewards="bernoulli", prize=prize)


def count_over_runs(structure: sb.Structure, alpha: float, seed: int) -> list[int]:
    """In how many of the runs of UCB-C the first θ, which is true, is ruled out."""
    algorithm, uniform = sb.Competitive(sb.UCB(), alpha=alpha), np.random.default_rng(seed)
    low, high = structure.rewards.low, structure.rewards.high
    ruled_out = dict.fromkeys(MOMENTS, 0)
    for run, row in enumerate(uniform.random((RUNS, MOMENTS[-1])).tolist()):
        policy = algorithm.start(structure, seed=run)
        for received, u in enumerate(row, start=1):
            arm = structure.arms.index(policy.pull())
            policy.update(arm, high[arm] if u < RATES[0, arm] else low[arm])
            if received in ruled_out:
                ruled_out[received] += not policy.confidence_set.mask[0]
    return list(ruled_out.values())


@pytest.mark.parametrize("bounded", [False, True], ids=["bernoulli", "bounded"])
def test_the_truth_is_ruled_out_no_more_often_than_proved(bounded: bool) -> None:
    hits = count_over_runs(known(bounded), 2.0, seed=41)
    for count, bound in zip(hits, proved(3, 2.0, MOMENTS), strict=True):
        assert not share_exceeds(count, RUNS, bound)


def test_a_set_that_is_too_small_breaks_the_bound() -> None:
    hits = count_over_runs(known(False), 0.3, seed=42)
    bounds = proved(3, 2.0, MOMENTS)
    assert any(share_exceeds(n, RUNS, bound) for n, bound in zip(hits, bounds, strict=True))


COUNTS = (60, 20, 9)


def computed(alpha: float) -> float:
    """Probability that some arm rules θ* out after its fixed number of pulls."""
    kept, level = 1.0, alpha * np.log(sum(COUNTS))
    for count, rate in zip(COUNTS, RATES[0], strict=True):
        inside = [count * divergence(s / count, rate) < level for s in range(count + 1)]
        kept *= stats.binom.pmf(np.arange(count + 1), count, rate)[inside].sum()
    return 1 - float(kept)


@pytest.mark.parametrize("alpha", [0.25, 0.4])
def test_the_truth_is_ruled_out_exactly_as_often_as_computed(alpha: float) -> None:
    """Two-sided; rewards that sum to the same are equal, so that only counts are drawn."""
    structure, runs = known(False), 4000
    policy = sb.Competitive(sb.UCB(), alpha=alpha).start(structure, seed=0)
    drawn = np.random.default_rng(43).binomial(COUNTS, RATES[0], (runs, 3))
    prizes, missing = np.array(structure.rewards.high), 0
    for wins in drawn:
        policy.run.restore(
            counts=COUNTS,
            sums=prizes * wins,
            squares=prizes**2 * wins,
            pending=(0, 0, 0),
            decided=sum(COUNTS),
        )
        missing += not policy.run.plausible[0]
    assert_share(missing, runs, computed(alpha))
    with pytest.raises(AssertionError, match="not"):
        assert_share(missing, runs, computed(0.6 * alpha))
