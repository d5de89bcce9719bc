"""A check on simulated pulls of a condition that the proofs require of a policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import FloatArray


def share_above_fair(pulls: ArrayLike, rounds: ArrayLike | None = None) -> FloatArray:
    """Return the share of runs in which an arm has more than its fair share of the pulls.

    Any policy has bounded pulls of non-competitive arms in its structured form if, for every arm
    that is not the best, the probability of more than t/K pulls in t rounds falls faster than
    1/t. This function estimates that probability.

    Parameters
    ----------
    pulls
        (runs, checkpoints, arms): the number of pulls of each arm up to each checkpoint.
    rounds
        (checkpoints,): the rounds t of the checkpoints; the sums of the pulls if None.

    Returns
    -------
    (checkpoints, arms)
        The share of runs with more than t/K pulls. That of the best arm tends to 1.

    Examples
    --------
    >>> share_above_fair([[[1, 1], [9, 1]], [[0, 2], [4, 6]]])
    array([[0. , 0.5],
           [0.5, 0.5]])
    """
    counts = np.asarray(pulls, dtype=float)
    if counts.ndim != 3 or not counts.size or not (counts >= 0).all():
        raise InvalidInput(
            f"pulls has shape {counts.shape}; give counts of shape (runs, checkpoints, arms)."
        )
    played = counts.sum(axis=2) if rounds is None else np.asarray(rounds, dtype=float)
    if played.shape[-1] != counts.shape[1] or played.ndim > 2:
        raise InvalidInput(
            f"rounds has shape {played.shape} for {counts.shape[1]} checkpoints; give one round "
            "per checkpoint."
        )
    fair = np.broadcast_to(played, counts.shape[:2])[:, :, np.newaxis] / counts.shape[2]
    return np.asarray((counts > fair).mean(axis=0))
