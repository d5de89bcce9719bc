"""How often a run rules the truth out, for tests of how often it may.

Knows runs of one policy against Gaussian luck; not what was proved about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structuredbandits as sb


def times_ruled_out(
    algorithm: sb.Competitive,
    structure: sb.Structure,
    truth: Mapping[str, float],
    place: int,
    luck: Iterable[list[float]],
    moments: Iterable[int],
) -> list[int]:
    """In how many runs the θ at `place` is ruled out, after each of the numbers of rewards.

    `truth` has the mean of every arm; `luck` one row of deviations from it for each run.
    """
    ruled_out = dict.fromkeys(moments, 0)
    for run, deviations in enumerate(luck):
        policy = algorithm.start(structure, seed=run)
        for received, deviation in enumerate(deviations, start=1):
            arm = policy.pull()
            policy.update(arm, truth[arm] + deviation)
            if received in ruled_out:
                ruled_out[received] += not policy.confidence_set.mask[place]
    return list(ruled_out.values())


def proved(arms: int, alpha: float, moments: Iterable[int]) -> list[float]:
    """2 K t^(1 - alpha) at the moments t, as far as it is below 1."""
    return [min(1.0, 2 * arms * t ** (1 - alpha)) for t in moments]
