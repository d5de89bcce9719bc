"""What a reward of a log is: 0 or 1, a rating on a usual scale, or any number."""

from __future__ import annotations

from typing import Literal

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.learning._cells import Cells
from structuredbandits.structure import FAMILIES, FloatArray, Rewards

#: A family of rewards; None to detect it.
RewardFamily = Literal["gaussian", "bernoulli", "bounded"] | None
# Whole numbers from 1 to one of these are ratings. Other whole numbers may be counts without a
# limit, such as items bought.
_SCALES = (5.0, 7.0, 10.0)
# Rounding of a mean of squares, in units of the squared prize.
_ROUNDING = 1e-9


def reward_family(cells: Cells, asked: RewardFamily) -> Rewards:
    """Return the family of the rewards of a log: what was asked for, or what the rewards look like.

    Examples
    --------
    >>> import pandas as pd
    >>> from structuredbandits.learning import read_cells
    >>> log = pd.DataFrame({"arm": ["a", "a", "b"], "who": ["x"] * 3, "clicked": [1, 0, 1]})
    >>> reward_family(read_cells(log, arm="arm", segment="who", reward="clicked"), None).name
    'bernoulli'
    """
    if asked is not None and asked not in FAMILIES:
        raise InvalidInput(
            f"rewards = {asked!r} is unknown; choose one of {', '.join(FAMILIES)}, or leave it out "
            "to detect them."
        )
    low, high = float(np.nanmin(cells.low)), float(np.nanmax(cells.high))
    n_arms = len(cells.arms)
    if asked is None:
        if cells.whole and low == 0.0 and high == 1.0:
            asked = "bernoulli"
        elif cells.whole and low == 1.0 and high in _SCALES:
            asked = "bounded"
        else:
            asked = "gaussian"
    if asked == "gaussian":
        return Rewards()
    if asked == "bernoulli":
        return _with_prizes(cells)
    if not low < high:
        raise InvalidInput(
            f"all rewards are {low:g}, so their limits are not known; use rewards='gaussian'."
        )
    return Rewards("bounded", (low,) * n_arms, (high,) * n_arms)


def _with_prizes(cells: Cells) -> Rewards:
    """Return Bernoulli rewards whose prizes are the largest rewards of the arms."""
    prizes = np.nanmax(cells.high, axis=0)
    wrong = ((cells.low < 0.0) | ~_two_valued(cells, prizes)).any(axis=0)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InvalidInput(
            f"rewards of arm {cells.arms[k]!r} are not all 0 or {prizes[k]:g}, so they are not "
            "Bernoulli; use rewards='bounded' or 'gaussian'."
        )
    # An arm that never paid gets the largest prize of the others.
    prizes = np.where(prizes > 0.0, prizes, float(prizes.max()) or 1.0)
    return Rewards("bernoulli", (0.0,) * len(cells.arms), tuple(prizes.tolist()))


def _two_valued(cells: Cells, prizes: FloatArray) -> np.ndarray:
    """Return (segments, arms) bool: whether all rewards of a cell are 0 or the prize.

    Rewards between 0 and the prize have Σ w r (prize − r) = 0 only if each is one of the two.
    """
    single = cells.low == cells.high
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = cells.freedom * cells.counts / (cells.counts - 1.0)  # Σ w
        between = cells.means * (prizes - cells.means) - cells.deviations / weights
        several = between <= _ROUNDING * np.square(prizes)
    return np.asarray(
        np.where(single, (cells.low == 0.0) | (cells.low == prizes), several) | (cells.counts == 0)
    )
