"""What the numbers of a structure must satisfy, with one sentence for each way to get it wrong.

This module knows shapes and ranges. It must not know where the numbers come from or go to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits.errors import InvalidParameter, InvalidStructure
from structuredbandits.structure.theta import FloatArray, Parameters, brief, read_only

#: The largest mean or σ: sums of squares of any number of rewards of this size stay finite.
LARGEST = 1e100


def as_floats(values: ArrayLike, what: str) -> FloatArray:
    """Return a read-only copy as float64 in C order; -0.0 becomes 0.0."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InvalidStructure(
            f"{what} cannot be read as numbers ({brief(values)}); give an array of floats."
        ) from None
    # Equal structures must have equal bytes, and -0.0 == 0.0.
    array += 0.0
    return read_only(array)


def a_mapping(values: object, what: str) -> None:
    """Refuse what is not a mapping from arm names."""
    if not isinstance(values, Mapping):
        raise InvalidStructure(
            f"{what} = {brief(values)} does not name its arms; give a mapping such as "
            "{'a': ..., 'b': ...}."
        )


def a_parameter_set(parameters: object) -> None:
    """Refuse what is not a set Θ."""
    if not isinstance(parameters, Parameters):
        raise InvalidParameter(
            f"parameters = {brief(parameters)} is no set of θ; give Finite(...), Interval(...) or "
            "Box(...)."
        )


def a_name(name: object) -> str | None:
    """Return the name of a structure, or None."""
    if name is not None and not isinstance(name, str):
        raise InvalidStructure(f"name = {brief(name)} is no text; give a text, or leave it out.")
    return name


def as_table(values: ArrayLike, what: str) -> FloatArray:
    """Return a read-only copy with two dimensions, (parameters, arms)."""
    table = as_floats(values, what)
    if table.ndim != 2 or not table.size:
        raise InvalidStructure(
            f"{what} has shape {table.shape}; give one row for each θ and one column for each arm."
        )
    return table


def arm_names(arms: Iterable[object] | None, number: int) -> tuple[str, ...]:
    """Return checked names, by default "1", "2" and so on."""
    if isinstance(arms, str):
        raise InvalidStructure(f"arms = {arms!r} is one text; give a list of names.")
    if arms is not None and not isinstance(arms, Iterable):
        raise InvalidStructure(f"arms = {brief(arms)} is no list; give a list of names.")
    names = tuple(str(k + 1) for k in range(number)) if arms is None else tuple(map(str, arms))
    if len(names) != number:
        raise InvalidStructure(
            f"{len(names)} arm names were given for {number} arms; give one name for each column."
        )
    if number < 2:
        raise InvalidStructure(
            f"a structure with {number} arm leaves nothing to choose; give at least 2 arms."
        )
    for k, name in enumerate(names):
        if not name.strip():
            raise InvalidStructure(f"arm {k + 1} has an empty name; give it one.")
        if name in names[:k]:
            raise InvalidStructure(f"two arms are called {name!r}; give each its own name.")
    return names


def one_an_arm(
    values: ArrayLike,
    arms: tuple[str, ...],
    what: str,
    least: float,
    wanted: str = "a finite number that is not negative",
) -> FloatArray:
    """Return (arms,) from one number or one an arm, each finite and at least `least`.

    Numbers equal to `least` are allowed; `positive_sigma` asks for more.
    """
    given = as_floats(values, what)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != len(arms)):
        raise InvalidStructure(
            f"{what} has shape {given.shape} for {len(arms)} arms; give one number, or one for "
            "each arm."
        )
    full = np.array(np.broadcast_to(given, (len(arms),)))
    for arm, value in zip(arms, full.tolist(), strict=True):
        if not np.isfinite(value) or value < least:
            raise InvalidStructure(f"{what} = {value:g} for arm {arm!r}; give {wanted}.")
        if value > LARGEST:
            raise InvalidStructure(
                f"{what} = {value:g} for arm {arm!r}, and nothing above {LARGEST:g} can be "
                "reckoned with; use another unit."
            )
    return read_only(full)


def positive_sigma(sigma: ArrayLike, arms: tuple[str, ...]) -> FloatArray:
    """Return σ as (arms,), each finite and above 0."""
    if sigma is None:
        raise InvalidStructure(
            "sigma is None; give the standard deviation of the rewards, or half their range."
        )
    full = one_an_arm(sigma, arms, "sigma", -np.inf, wanted="a finite number above 0")
    for arm, value in zip(arms, full.tolist(), strict=True):
        if value <= 0:
            raise InvalidStructure(
                f"sigma = {value:g} for arm {arm!r} is not above 0; give the standard deviation "
                "of its rewards, or half their range."
            )
    return full


def check_shape(
    table: FloatArray, parameters: Parameters, arms: tuple[str, ...], what: str = "means"
) -> None:
    """Refuse a table that does not have one row for each θ and one column for each arm."""
    if table.shape != (len(parameters), len(arms)):
        raise InvalidStructure(
            f"the {what} have shape {table.shape}, but there are {len(parameters)} θ and "
            f"{len(arms)} arms; give one row for each θ and one column for each arm."
        )


def check_finite(
    table: FloatArray, parameters: Parameters, arms: tuple[str, ...], what: str
) -> None:
    """Refuse NaN and infinity, naming the first arm and θ."""
    wrong = ~np.isfinite(table)
    if wrong.any():
        i, k = map(int, np.argwhere(wrong)[0])
        raise InvalidStructure(
            f"the {what} of arm {arms[k]!r} at θ = {parameters.label(i)} is {table[i, k]:g}; give "
            "a finite number."
        )


def check_order(
    lower: FloatArray, upper: FloatArray, parameters: Parameters, arms: tuple[str, ...]
) -> None:
    """Refuse bounds that cross, naming the first arm and θ, and a range that is not a float."""
    wrong = lower > upper
    if wrong.any():
        i, k = map(int, np.argwhere(wrong)[0])
        raise InvalidStructure(
            f"the bounds of arm {arms[k]!r} at θ = {parameters.label(i)} cross: lower "
            f"{lower[i, k]:g} is above upper {upper[i, k]:g}; exchange them."
        )
    if max(-float(lower.min()), float(upper.max())) > LARGEST:
        raise InvalidStructure(
            f"the means run from {lower.min():g} to {upper.max():g}, and nothing above "
            f"{LARGEST:g} in size can be reckoned with; use another unit."
        )


def companion(values: ArrayLike | None, shape: tuple[int, int], what: str) -> FloatArray | None:
    """Return counts or standard errors (parameters, arms), finite and not negative, or None."""
    if values is None:
        return None
    table = as_floats(values, what)
    if table.shape != shape:
        raise InvalidStructure(
            f"{what} has shape {table.shape}, but the means have {shape}; give one number for "
            "each mean."
        )
    if not np.isfinite(table).all() or (table < 0).any():
        bad = table[~(np.isfinite(table) & (table >= 0))].ravel()[0]
        raise InvalidStructure(f"{what} holds {bad:g}; give finite numbers that are not negative.")
    return table


def normalised_prior(values: ArrayLike | None, number: int) -> FloatArray | None:
    """Return a prior (parameters,) that sums to 1, or None."""
    if values is None:
        return None
    prior = as_floats(values, "prior")
    if prior.shape != (number,):
        raise InvalidStructure(
            f"prior has shape {prior.shape} for {number} θ; give one weight for each."
        )
    total = float(prior.sum()) if np.isfinite(prior).all() else np.nan
    if not np.isfinite(total) or (prior < 0).any() or total <= 0:
        raise InvalidStructure(
            "prior must hold finite weights that are not negative and not all 0; it holds "
            f"{float(prior.min()):g} to {float(prior.max()):g}."
        )
    # Dividing twice changes the last digits, and a stored prior must come back as it was.
    return prior if abs(total - 1.0) <= 1e-12 else read_only(prior / total)
