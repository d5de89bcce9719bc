"""Estimate a structure from cells: raw means, shrunken means or bounds, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits.errors import InvalidInput, InvalidStructure
from structuredbandits.learning._cells import Cells
from structuredbandits.learning._reward_detection import RewardFamily, reward_family
from structuredbandits.structure import Finite, FloatArray, Structure, Theta, show_theta
from structuredbandits.structure.shrinkage import shrink
from structuredbandits.structure.validation import LARGEST

Estimator = Literal["raw", "shrink", "bounds"]
EmptyCells = Literal["drop-segment", "arm-mean", "error"]
SigmaRule = Literal["estimate", "per-arm", "range"]
_ESTIMATORS = ("raw", "shrink", "bounds")
_EMPTY = ("drop-segment", "arm-mean", "error")
_SIGMAS = ("estimate", "per-arm", "range")


class EstimationOptions(TypedDict, total=False):
    """The options of `estimate_structure`; see `learn_structure`."""

    estimate: Estimator
    level: float
    sigma: ArrayLike | SigmaRule | None
    empty: EmptyCells
    min_count: float
    minimize: bool
    name: str | None
    rewards: RewardFamily


class Noise(NamedTuple):
    """The standard deviation of rewards within a segment."""

    deviation: FloatArray
    """(arms,): the standard deviation that the standard errors are computed from."""
    freedom: float
    """Degrees of freedom of the pooled variance; infinite if σ was given instead."""
    borrowed: tuple[str, ...]
    """Arms that use the pooled value, since their rewards never vary or are too few."""


@dataclass(frozen=True)
class Repairs:
    """What was changed to make a complete table from the log."""

    dropped_segments: tuple[tuple[Theta, int], ...] = ()
    """Segments that were left out, with their numbers of empty cells."""
    filled_cells: tuple[tuple[Theta, str], ...] = ()
    """Empty cells that hold the arm's mean over all segments."""
    borrowed_sigma: tuple[str, ...] = ()
    """Arms that use the standard deviation of all arms, since their own rewards never vary."""
    dropped_rows: int = 0
    """Rows with a reward in segments that were left out."""


class Learned(NamedTuple):
    """A structure, and the repairs that it needed."""

    structure: Structure
    repairs: Repairs


def estimate_structure(
    cells: Cells,
    *,
    estimate: Estimator = "raw",
    level: float = 0.95,
    sigma: ArrayLike | SigmaRule | None = None,
    empty: EmptyCells = "drop-segment",
    min_count: float = 1.0,
    minimize: bool = False,
    name: str | None = None,
    rewards: RewardFamily = None,
) -> Learned:
    """Estimate a structure from cells; the parameters are those of `learn_structure`.

    Examples
    --------
    >>> import pandas as pd
    >>> from structuredbandits.learning import read_cells
    >>> log = pd.DataFrame({"arm": ["a", "a", "b", "b"], "who": ["x"] * 4, "paid": [1, 3, 4, 6]})
    >>> cells = read_cells(log, arm="arm", segment="who", reward="paid")
    >>> estimate_structure(cells).structure.means
    array([[2., 5.]])
    """
    _check(estimate, level, sigma, empty, min_count)
    if len(cells.arms) < 2:
        raise InvalidStructure(
            f"the log holds only the arm {cells.arms[0]!r}; give one with at least 2 arms."
        )
    largest = max(-float(np.nanmin(cells.low)), float(np.nanmax(cells.high)))
    if largest > LARGEST:
        raise InvalidStructure(
            f"a reward is {largest:g} in size, above {LARGEST:g}, the largest supported number; "
            "use another unit."
        )
    family = reward_family(cells, rewards)
    noise = _noise(cells, sigma)
    kept, dropped = _complete_segments(cells, empty, min_count)
    means, errors, filled = _means(cells, kept, noise, estimate, min_count)
    lower, upper = means, means
    if estimate == "bounds":
        reach = _quantile(level, noise.freedom) * errors
        lower, upper = means - reach, means + reach
        if family.limited:
            lower, upper = np.maximum(lower, family.low), np.minimum(upper, family.high)
    members = [cells.segments[i] for i in kept]
    structure = Structure(
        lower,
        lower if estimate != "bounds" else upper,
        parameters=Finite(members, names=cells.segment_names),
        arms=cells.arms,
        sigma=None if family.limited and sigma is None else _sigma(cells, noise, sigma),
        minimize=minimize,
        name=name,
        prior=cells.weights[kept].sum(axis=1),
        counts=cells.counts[kept],
        standard_errors=errors,
        rewards=family,
        # Standard errors of plain means imply the noise; shrunken and filled means do not.
        noise=noise.deviation if family.limited or filled or estimate == "shrink" else None,
    )
    lost = 0 if cells.used is None else int(cells.used.sum() - cells.used[kept].sum())
    return Learned(structure, Repairs(dropped, filled, noise.borrowed, lost))


def _check(
    estimate: str,
    level: float,
    sigma: ArrayLike | SigmaRule | None,
    empty: str,
    min_count: float,
) -> None:
    for what, value, known in (("estimate", estimate, _ESTIMATORS), ("empty", empty, _EMPTY)):
        if value not in known:
            raise InvalidInput(f"{what} = {value!r} is unknown; choose one of {', '.join(known)}.")
    if isinstance(sigma, str) and sigma not in _SIGMAS:
        raise InvalidInput(
            f"sigma = {sigma!r} is unknown; give a number, or one of {', '.join(_SIGMAS)}."
        )
    check_level(level)
    if not (np.isfinite(min_count) and min_count >= 0):
        raise InvalidInput(f"min_count = {min_count!r} is not a number of rewards; give 1 or more.")


def check_level(level: float) -> None:
    """Raise unless it is a confidence level."""
    if not (isinstance(level, int | float) and 0.0 < level < 1.0):
        raise InvalidInput(
            f"level = {level!r} is not a confidence level; give one between 0 and 1, such as 0.95."
        )


def _quantile(level: float, freedom: float) -> float:
    """Return the two-sided quantile of Student's distribution."""
    from scipy.special import ndtri, stdtrit

    tail = 0.5 + 0.5 * level
    return float(ndtri(tail) if np.isinf(freedom) else stdtrit(freedom, tail))


def _noise(cells: Cells, sigma: ArrayLike | SigmaRule | None) -> Noise:
    """Estimate the standard deviation of rewards within cells, pooled or per arm."""
    freedom = float(cells.freedom.sum())
    pooled = float(cells.deviations.sum()) / freedom if freedom > 0 else 0.0
    n_arms = len(cells.arms)
    if pooled <= _least_variance(cells):
        if sigma is None or isinstance(sigma, str):
            why = "no cell has two rewards" if freedom <= 0 else "rewards never vary within a cell"
            raise InvalidStructure(
                f"sigma cannot be estimated, since {why}; give sigma, such as half the range of "
                "the rewards."
            )
        given = np.broadcast_to(np.asarray(sigma, dtype=float), (n_arms,))
        return Noise(given, np.inf, ())
    if sigma != "per-arm":
        return Noise(np.full(n_arms, np.sqrt(pooled)), freedom, ())
    own_freedom = cells.freedom.sum(axis=0)
    own = cells.deviations.sum(axis=0) / np.maximum(own_freedom, 1e-300)
    lacking = (own_freedom <= 0) | (own <= _least_variance(cells))
    borrowed = tuple(arm for arm, flag in zip(cells.arms, lacking, strict=True) if flag)
    return Noise(np.sqrt(np.where(lacking, pooled, own)), freedom, borrowed)


def _least_variance(cells: Cells) -> float:
    """Return the largest variance that rounding alone can give to equal rewards."""
    size = max(abs(float(np.nanmin(cells.low))), abs(float(np.nanmax(cells.high))))
    return (1e-12 * size) ** 2


def _sigma(cells: Cells, noise: Noise, sigma: ArrayLike | SigmaRule | None) -> ArrayLike:
    if sigma == "range":
        return 0.5 * (float(np.nanmax(cells.high)) - float(np.nanmin(cells.low)))
    if sigma is None or isinstance(sigma, str):
        return noise.deviation
    return sigma


def _complete_segments(
    cells: Cells, empty: EmptyCells, min_count: float
) -> tuple[list[int], tuple[tuple[Theta, int], ...]]:
    """Return the kept segments, and the dropped ones with their numbers of empty cells."""
    lacking = _lacking(cells.counts, min_count)
    gaps = lacking.sum(axis=1)
    if empty == "arm-mean":
        nowhere = lacking.all(axis=0)
        if nowhere.any():
            raise InvalidStructure(
                f"arm {cells.arms[int(np.argmax(nowhere))]!r} has fewer than {min_count:g} rewards "
                "in every segment; lower min_count or remove the arm's rows."
            )
        return list(range(len(cells.segments))), ()
    if empty == "error" and gaps.any():
        i, k = map(int, np.argwhere(lacking)[0])
        raise InvalidStructure(
            f"segment {show_theta(cells.segments[i])} has {cells.counts[i, k]:g} rewards of arm "
            f"{cells.arms[k]!r}, and {int(lacking.sum())} cells lack rewards; use "
            "empty='drop-segment' or 'arm-mean', or fewer segment columns."
        )
    kept = np.flatnonzero(gaps == 0).tolist()
    if not kept:
        worst = int(np.argmax(lacking.sum(axis=0)))
        raise InvalidStructure(
            f"none of the {len(cells.segments)} segments has rewards of every arm (arm "
            f"{cells.arms[worst]!r} is missing in {int(lacking[:, worst].sum())}); use "
            "empty='arm-mean', or fewer segment columns."
        )
    dropped = tuple((cells.segments[i], int(gaps[i])) for i in np.flatnonzero(gaps).tolist())
    return kept, dropped


def _lacking(counts: FloatArray, min_count: float) -> np.ndarray:
    # Kish's effective sample size may miss a whole number by rounding.
    return np.asarray((counts < min_count * (1.0 - 1e-9)) | (counts == 0.0))


def _means(
    cells: Cells, kept: list[int], noise: Noise, estimate: Estimator, min_count: float
) -> tuple[FloatArray, FloatArray, tuple[tuple[Theta, str], ...]]:
    """Return means and standard errors (kept segments, arms), and which cells were empty."""
    counts, raw = cells.counts[kept], cells.means[kept]
    lacking = _lacking(counts, min_count)
    with np.errstate(divide="ignore"):
        variances = np.square(noise.deviation) / np.where(lacking, 0.0, counts)
    means, errors = raw.copy(), np.sqrt(variances)
    for k in range(len(cells.arms)):
        seen = ~lacking[:, k]
        if estimate == "shrink" or not seen.all():
            moved, spread = shrink(np.where(seen, raw[:, k], 0.0), variances[:, k])
            kept_raw = seen & (estimate != "shrink")
            means[:, k] = np.where(kept_raw, raw[:, k], moved)
            errors[:, k] = np.where(kept_raw, errors[:, k], spread)
    filled = tuple(
        (cells.segments[kept[i]], cells.arms[k]) for i, k in np.argwhere(lacking).tolist()
    )
    return means, errors, filled
