"""Checks of the numbers, names and options that structures are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits.errors import InvalidParameter, InvalidStructure
from structuredbandits.structure.interaction_length import Length
from structuredbandits.structure.parameters import FloatArray, Parameters, brief, read_only

if TYPE_CHECKING:
    from structuredbandits.structure.reward_family import Rewards

#: The largest mean or σ: sums of squares of any number of rewards of this size stay finite.
LARGEST = 1e100


class StructureOptions(TypedDict, total=False):
    """The options that every constructor of `Structure` accepts."""

    minimize: bool
    """True if rewards are costs, to be made small."""
    name: str | None
    """A name for tables and plots; it has no other effect."""
    prior: ArrayLike | None
    """(parameters,): weights of the θ, not negative; they are divided by their sum."""
    counts: ArrayLike | None
    """(parameters, arms): how many observations each mean was learned from."""
    standard_errors: ArrayLike | None
    """(parameters, arms): the standard error of each learned mean."""
    rewards: str | Rewards
    """What a single reward is: "gaussian" (the default), "bernoulli" or "bounded"."""
    prize: ArrayLike | None
    """For "bernoulli": the reward of a success, one number (1 by default) or one per arm."""
    limits: ArrayLike | None
    """For "bounded": the smallest and the largest reward, one pair or one per arm."""
    noise: ArrayLike | None
    """The standard deviation of single rewards, one or one per arm, where it was estimated:
    likelihoods use it, and confidence sets use sigma."""
    length: Length | None
    """How many interactions a subject has: the mean, or pairs of a length and its share. Policies
    that plan ahead use it in runs without a horizon."""


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


def check_mapping(values: object, what: str) -> None:
    """Raise unless it is a mapping from arm names."""
    if not isinstance(values, Mapping):
        raise InvalidStructure(
            f"{what} = {brief(values)} does not name its arms; give a mapping such as "
            "{'a': ..., 'b': ...}."
        )


def check_parameters(parameters: object) -> None:
    """Raise unless it is a set Θ."""
    if not isinstance(parameters, Parameters):
        raise InvalidParameter(
            f"parameters = {brief(parameters)} is not a set of θ; give Finite(...), Interval(...) "
            "or Box(...)."
        )


def check_name(name: object) -> str | None:
    """Return the name of a structure, or None; raise unless it is text."""
    if name is not None and not isinstance(name, str):
        raise InvalidStructure(f"name = {brief(name)} is not text; give text, or leave it out.")
    return name


def as_table(values: ArrayLike, what: str) -> FloatArray:
    """Return a read-only copy with two dimensions, (parameters, arms)."""
    table = as_floats(values, what)
    if table.ndim != 2 or not table.size:
        raise InvalidStructure(
            f"{what} has shape {table.shape}; give one row per θ and one column per arm."
        )
    return table


def arm_names(arms: Iterable[object] | None, number: int) -> tuple[str, ...]:
    """Return checked names, by default "1", "2" and so on."""
    if isinstance(arms, str):
        raise InvalidStructure(f"arms = {arms!r} is a single text; give a list of names.")
    if arms is not None and not isinstance(arms, Iterable):
        raise InvalidStructure(f"arms = {brief(arms)} is not a list; give a list of names.")
    names = tuple(str(k + 1) for k in range(number)) if arms is None else tuple(map(str, arms))
    if len(names) != number:
        raise InvalidStructure(
            f"{len(names)} arm names were given for {number} arms; give one name per column."
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


def one_per_arm(
    values: ArrayLike,
    arms: tuple[str, ...],
    what: str,
    least: float,
    wanted: str = "a finite number that is not negative",
) -> FloatArray:
    """Return (arms,) from one number or one per arm, each finite and at least `least`.

    Numbers equal to `least` are allowed; `positive_sigma` asks for more.
    """
    given = as_floats(values, what)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != len(arms)):
        raise InvalidStructure(
            f"{what} has shape {given.shape} for {len(arms)} arms; give one number, or one per arm."
        )
    full = np.array(np.broadcast_to(given, (len(arms),)))
    for arm, value in zip(arms, full.tolist(), strict=True):
        if not np.isfinite(value) or value < least:
            raise InvalidStructure(f"{what} = {value:g} for arm {arm!r}; give {wanted}.")
        if value > LARGEST:
            raise InvalidStructure(
                f"{what} = {value:g} for arm {arm!r} is above {LARGEST:g}, the largest supported "
                "number; use another unit."
            )
    return read_only(full)


def positive_sigma(
    sigma: ArrayLike | None, arms: tuple[str, ...], what: str = "sigma"
) -> FloatArray:
    """Return σ as (arms,), each finite and above 0."""
    if sigma is None:
        raise InvalidStructure(
            f"{what} is None; give the standard deviation of the rewards, or half their range."
        )
    full = one_per_arm(sigma, arms, what, -np.inf, wanted="a finite number above 0")
    for arm, value in zip(arms, full.tolist(), strict=True):
        if value <= 0:
            raise InvalidStructure(
                f"{what} = {value:g} for arm {arm!r} is not above 0; give the standard deviation "
                "of its rewards, or half their range."
            )
    return full


def check_shape(
    table: FloatArray, parameters: Parameters, arms: tuple[str, ...], what: str = "means"
) -> None:
    """Raise unless the table has one row per θ and one column per arm."""
    if table.shape != (len(parameters), len(arms)):
        raise InvalidStructure(
            f"the {what} have shape {table.shape}, but there are {len(parameters)} θ and "
            f"{len(arms)} arms; give one row per θ and one column per arm."
        )


def check_finite(
    table: FloatArray, parameters: Parameters, arms: tuple[str, ...], what: str
) -> None:
    """Raise on NaN and infinity, naming the first arm and θ."""
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
    """Raise on bounds that cross, naming the first arm and θ, and on numbers that are too large."""
    wrong = lower > upper
    if wrong.any():
        i, k = map(int, np.argwhere(wrong)[0])
        raise InvalidStructure(
            f"the bounds of arm {arms[k]!r} at θ = {parameters.label(i)} cross: lower "
            f"{lower[i, k]:g} is above upper {upper[i, k]:g}; exchange them."
        )
    if max(-float(lower.min()), float(upper.max())) > LARGEST:
        raise InvalidStructure(
            f"the means run from {lower.min():g} to {upper.max():g}, beyond ±{LARGEST:g}, the "
            "largest supported numbers; use another unit."
        )


def check_companion(
    values: ArrayLike | None, shape: tuple[int, int], what: str
) -> FloatArray | None:
    """Return counts or standard errors (parameters, arms), finite and not negative, or None."""
    if values is None:
        return None
    table = as_floats(values, what)
    if table.shape != shape:
        raise InvalidStructure(
            f"{what} has shape {table.shape}, but the means have {shape}; give one number per mean."
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
            f"prior has shape {prior.shape} for {number} θ; give one weight per θ."
        )
    total = float(prior.sum()) if np.isfinite(prior).all() else np.nan
    if not np.isfinite(total) or (prior < 0).any() or total <= 0:
        raise InvalidStructure(
            f"prior holds weights from {float(prior.min()):g} to {float(prior.max()):g}; give "
            "finite weights that are not negative and not all 0."
        )
    # Dividing twice changes the last digits, and a stored prior must be read back unchanged.
    return prior if abs(total - 1.0) <= 1e-12 else read_only(prior / total)
