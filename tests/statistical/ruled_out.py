"""Count how often runs of a policy rule out the true θ, and the proved bound on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structuredbandits as sb


def times_ruled_out(
    algorithm: sb.Competitive,
    structure: sb.Structure,
    truth: Mapping[str, float],
    place: int,
    noise: Iterable[list[float]],
    moments: Iterable[int],
) -> list[int]:
    """In how many runs the θ at `place` is ruled out, after each of the numbers of rewards.

    `truth` has the mean of every arm; `noise` one row of deviations from it for each run.
    """
    ruled_out = dict.fromkeys(moments, 0)
    for run, deviations in enumerate(noise):
        policy = algorithm.start(structure, seed=run)
        for received, deviation in enumerate(deviations, start=1):
            arm = policy.pull()
            policy.update(arm, truth[arm] + deviation)
            if received in ruled_out:
                ruled_out[received] += not policy.confidence_set.mask[place]
    return list(ruled_out.values())


def proved(arms: int, alpha: float, moments: Iterable[int]) -> list[float]:
    """2 K t^(1 - alpha) at the moments t, at most 1."""
    return [min(1.0, 2 * arms * t ** (1 - alpha)) for t in moments]
