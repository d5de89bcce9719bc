"""Read the arguments of `Structure`'s constructors: tables, breakpoints, features, constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits.errors import InvalidStructure
from structuredbandits.structure import validation
from structuredbandits.structure._finite import Finite
from structuredbandits.structure._mean_models import Linear
from structuredbandits.structure._piecewise import PiecewiseLinear
from structuredbandits.structure._sound_cells import check_lipschitz, lipschitz_bounds
from structuredbandits.structure.parameters import FloatArray, Parameters, brief


def with_lipschitz(
    means: FloatArray, parameters: Parameters, arms: tuple[str, ...], constants: ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the means over whole cells, or the means twice without constants."""
    if constants is None:
        return means, means
    validation.check_finite(means, parameters, arms, "mean")
    full = validation.one_per_arm(constants, arms, "lipschitz", 0.0)
    bounds = lipschitz_bounds(means, parameters, full)
    check_lipschitz(means, parameters, arms, full)
    return bounds


def merge_arm_names(
    arms: Sequence[str] | None, named: Sequence[str] | None
) -> Sequence[str] | None:
    """Return the arm names, given with the numbers or in `arms=`, but not in both ways."""
    if arms is None or named is None:
        return named if arms is None else arms
    if isinstance(arms, Iterable) and list(map(str, arms)) == list(named):
        return named
    raise InvalidStructure(
        f"arms = {brief(arms)} names arms that are already called {brief(list(named))}; leave "
        "out arms."
    )


def read_means(
    means: Any,
) -> tuple[ArrayLike, Finite | None, Sequence[str] | None]:
    """Return the numbers, and the θ and arm names that came with them."""
    if isinstance(means, Mapping):
        columns = [np.asarray(column) for column in means.values()]
        if len({column.shape for column in columns}) > 1:
            raise InvalidStructure(
                "the columns of means differ in length; give one mean for each θ."
            )
        return np.stack(columns, axis=-1) if columns else [], None, tuple(map(str, means))
    if hasattr(means, "columns") and hasattr(means, "index"):  # a DataFrame, without importing it
        names = [name for name in means.index.names if name is not None]
        complete = len(names) == len(means.index.names)
        rows = Finite(means.index.tolist(), names=names if complete else None)
        return means.to_numpy(), rows, tuple(map(str, means.columns))
    return means, None, None


def read_piece(
    arm: str, breakpoints: PiecewiseLinear | Sequence[tuple[float, float]]
) -> PiecewiseLinear:
    """Return the function of one arm; an error names the arm."""
    if isinstance(breakpoints, PiecewiseLinear):
        return breakpoints
    try:
        return PiecewiseLinear(breakpoints)
    except InvalidStructure as error:
        raise InvalidStructure(f"arm {arm!r}: {error}") from None


def linear_model(features: ArrayLike, parameters: Parameters, link: str | None) -> Linear:
    """Return the linear model of these features after checking that they fit Θ."""
    rows = validation.as_table(features, "features")
    points = parameters.points
    if points is None or points.shape[1] != rows.shape[1]:
        raise InvalidStructure(
            f"features with {rows.shape[1]} numbers per arm do not fit a Θ of dimension "
            f"{parameters.dimension}{' of labels' if points is None else ''}; give vectors of "
            "equal length."
        )
    if not np.isfinite(rows).all():
        raise InvalidStructure("features hold NaN or infinity; give finite numbers.")
    if link not in (None, "identity", "logistic"):
        raise InvalidStructure(f"link = {link!r} is unknown; choose 'identity' or 'logistic'.")
    return Linear(rows, None if link == "identity" else link)
