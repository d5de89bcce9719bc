"""What is known before the first pull: how each arm's mean reward depends on a hidden θ.

A structure is knowledge only, immutable and checked when it is made. It must not know policies,
where rewards really come from, or which problems are embedded in the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits.errors import InvalidStructure
from structuredbandits.structure import checks
from structuredbandits.structure.cells import (
    check_lipschitz,
    linear_bounds,
    lipschitz_bounds,
    piecewise_bounds,
)
from structuredbandits.structure.knowledge import Knowledge, StructureOptions
from structuredbandits.structure.models import Linear, Pieces, tabulate
from structuredbandits.structure.parameters import Finite, Interval, Parameters
from structuredbandits.structure.piecewise import PiecewiseLinear
from structuredbandits.structure.theta import FloatArray, brief

if TYPE_CHECKING:
    import pandas as pd


class Structure(Knowledge):
    """Known mean rewards of K arms at every θ in a set Θ.

    Make one with `from_functions`, `from_table`, `from_bounds`, `from_breakpoints` or `linear`.
    All of them also take the options of `StructureOptions`: `minimize`, `name`, `prior`,
    `counts` and `standard_errors`.

    Parameters
    ----------
    lower, upper
        (parameters, arms): bounds on the means; equal where the means are known exactly.
    parameters
        Θ.
    arms
        Names, one a column; "1", "2" and so on if None.
    sigma
        The sub-Gaussian proxy of the rewards, one number or one an arm: their standard deviation
        if they are Gaussian, half their range if they are bounded.
    model
        How means are computed between grid points; None to interpolate.
    options
        See `StructureOptions`.

    Attributes
    ----------
    means, lower, upper : (parameters, arms)
        Read-only. If `exact`, all three are one array; otherwise `means` is the middle.
    sigma : (arms,)
    arms : tuple of str
    parameters : Finite, Interval or Box
    prior : (parameters,) or None
    counts, standard_errors : (parameters, arms) or None

    Notes
    -----
    Two structures are equal if their names and their numbers are; functions, which cannot be
    compared, count by their values on the grid.

    Examples
    --------
    >>> structure = Structure.from_functions(
    ...     {"cheap": lambda demand: 3 - 0 * demand, "dear": lambda demand: demand},
    ...     Interval(0, 6, points=601),
    ...     sigma=2.0,
    ... )
    >>> structure
    <Structure: 2 arms, 601 θ in [0, 6], sigma 2>
    >>> structure.optimal_arm(4.321), structure.means_at(4.321)
    ('dear', array([3.   , 4.321]))
    """

    @classmethod
    def from_functions(
        cls,
        functions: Mapping[str, Callable[..., Any]],
        parameters: Parameters,
        *,
        sigma: ArrayLike,
        lipschitz: ArrayLike | None = None,
        **options: Unpack[StructureOptions],
    ) -> Self:
        """Make a structure from one function of θ for each arm.

        Parameters
        ----------
        functions
            Arm name → function. It is called with all θ at once, (parameters,) for numbers or
            (parameters, dimension) for vectors, and with one θ at a time if that does not work.
        parameters
            Θ.
        sigma
            One number or one an arm.
        lipschitz
            For sound cells: constants L, one or one an arm, with |μ(θ) − μ(θ')| ≤ L ‖θ − θ'‖ in
            the Euclidean norm. Each grid point then stands for its whole cell, with bounds that
            hold for every θ in it.
        """
        checks.a_mapping(functions, "functions")
        checks.a_parameter_set(parameters)
        arms = checks.arm_names(functions.keys(), len(functions))
        model, means = tabulate(list(functions.values()), parameters, arms)
        lower, upper = _lipschitz(means, parameters, arms, lipschitz)
        return cls(
            lower, upper, parameters=parameters, arms=arms, sigma=sigma, model=model, **options
        )

    @classmethod
    def from_table(
        cls,
        means: ArrayLike | Mapping[str, ArrayLike] | pd.DataFrame,
        parameters: Parameters | None = None,
        arms: Sequence[str] | None = None,
        *,
        sigma: ArrayLike,
        lipschitz: ArrayLike | None = None,
        **options: Unpack[StructureOptions],
    ) -> Self:
        """Make a structure from a table of means, such as averages of a survey.

        Parameters
        ----------
        means
            (parameters, arms); or a mapping from arm name to column; or a DataFrame, whose
            columns name the arms and whose index holds the θ.
        parameters
            Θ; the numbers 0, 1, ... of the rows if None. On an `Interval` or a `Box` the means
            between grid points are interpolated, linear along every side.
        arms
            Names, one a column, where the means do not come with names.
        sigma
            One number or one an arm.
        lipschitz
            As in `from_functions`.

        Examples
        --------
        >>> table = Structure.from_table([[1, 0], [0, 2]], Finite(["calm", "busy"]), sigma=1)
        >>> table.optimal_arm("busy")
        '2'
        """
        values, rows, columns = _read_means(means)
        table = checks.as_table(values, "means")
        theta = parameters if parameters is not None else rows or Finite(range(len(table)))
        checks.a_parameter_set(theta)
        names = checks.arm_names(_one_source(arms, columns), table.shape[1])
        checks.check_shape(table, theta, names)
        lower, upper = _lipschitz(table, theta, names, lipschitz)
        return cls(lower, upper, parameters=theta, arms=names, sigma=sigma, **options)

    @classmethod
    def from_bounds(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        parameters: Parameters | None = None,
        arms: Sequence[str] | None = None,
        *,
        sigma: ArrayLike,
        **options: Unpack[StructureOptions],
    ) -> Self:
        """Make a structure from bounds on the means: lower ≤ mean ≤ upper.

        Parameters
        ----------
        lower, upper
            (parameters, arms).
        parameters, arms, sigma
            As in `from_table`.

        Examples
        --------
        >>> vague = Structure.from_bounds([[1.0, 0.0]], [[2.0, 1.5]], sigma=1)
        >>> vague.means, vague.optimal
        (array([[1.5 , 0.75]]), array([[ True,  True]]))
        """
        low = checks.as_table(lower, "lower")
        theta = Finite(range(len(low))) if parameters is None else parameters
        return cls(low, upper, parameters=theta, arms=arms, sigma=sigma, **options)

    @classmethod
    def from_breakpoints(
        cls,
        breakpoints: Mapping[str, PiecewiseLinear | Sequence[tuple[float, float]]],
        *,
        sigma: ArrayLike,
        points: int = 601,
        sound: bool = False,
        **options: Unpack[StructureOptions],
    ) -> Self:
        """Make a structure from exact piecewise-linear functions of a single number θ.

        Parameters
        ----------
        breakpoints
            Arm name → pairs (θ, mean), linear between; a θ given twice is a jump (see
            `PiecewiseLinear`). All arms have the same first and last θ, the ends of Θ.
        sigma
            One number or one an arm.
        points
            The number of even grid points; every breakpoint is added to them.
        sound
            True to let each grid point stand for its whole cell, with the exact extremes of
            every arm over it as bounds.

        Examples
        --------
        >>> steps = {"a": [(0, 1), (3, 1), (3, 4), (6, 4)], "b": [(0, 2), (6, 3)]}
        >>> structure = Structure.from_breakpoints(steps, sigma=2, points=7)
        >>> structure.optimal_arm(2.99), structure.optimal_arm(3), structure.means_at(4.5)
        ('b', 'a', array([4.  , 2.75]))
        """
        checks.a_mapping(breakpoints, "breakpoints")
        arms = checks.arm_names(breakpoints.keys(), len(breakpoints))
        model = Pieces([_piece(arm, breakpoints[arm]) for arm in breakpoints], arms)
        kinks = sorted({theta for piece in model.pieces for theta in piece.theta.tolist()})
        grid = Interval(kinks[0], kinks[-1], points=points, include=kinks)
        if sound:
            lower, upper = piecewise_bounds(model.pieces, grid)
        else:
            lower = np.stack([piece(grid.axes[0]) for piece in model.pieces], axis=1)
            upper = lower
        return cls(lower, upper, parameters=grid, arms=arms, sigma=sigma, model=model, **options)

    @classmethod
    def linear(
        cls,
        features: ArrayLike | Mapping[str, ArrayLike],
        parameters: Parameters,
        *,
        sigma: ArrayLike,
        link: str | None = None,
        arms: Sequence[str] | None = None,
        sound: bool = False,
        **options: Unpack[StructureOptions],
    ) -> Self:
        """Make a structure whose means are products of known features with an unknown vector θ.

        Parameters
        ----------
        features
            (arms, dimension), or a mapping from arm name to vector.
        parameters
            A `Box`, an `Interval`, or a `Finite` set of vectors, of the same dimension.
        sigma
            One number or one an arm.
        link
            None or "identity" for x·θ, "logistic" for 1 / (1 + exp(−x·θ)).
        arms
            Names, one a row of features, where they do not come with names.
        sound
            As in `from_breakpoints`; needs a `Box` or an `Interval`.

        Examples
        --------
        >>> from structuredbandits.structure.parameters import Box
        >>> structure = Structure.linear([[2, 1], [1, 1.5]], Box([(-1, 1), (-1, 1)]), sigma=2)
        >>> structure.means_at((0.9, 0.5)), structure.n_parameters
        (array([2.3 , 1.65]), 1681)
        """
        checks.a_parameter_set(parameters)
        names: Sequence[str] | None = arms
        vectors: Any = features
        if isinstance(features, Mapping):
            names = _one_source(arms, tuple(map(str, features)))
            vectors = list(features.values())
        model = _linear_model(vectors, parameters, link)
        if sound:
            lower, upper = linear_bounds(model, parameters)
        else:
            lower = model.through_link(np.asarray(parameters.points) @ model.features.T)
            upper = lower
        return cls(
            lower, upper, parameters=parameters, arms=names, sigma=sigma, model=model, **options
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the structure to one file, which `load_structure` reads.

        Everything is stored but functions: a structure that was made from them interpolates
        between grid points after it is loaded.
        """
        from structuredbandits.structure.files import write_structure

        write_structure(self, path)

    def to_frame(self) -> pd.DataFrame:
        """Return the means as a table: a row for each θ, a column for each arm."""
        from structuredbandits.structure.display import structure_frame

        return structure_frame(self)

    def _repr_html_(self) -> str:
        from structuredbandits.structure.display import figure_svg, structure_html

        try:
            # The one call upwards: a notebook shows the structure as a picture, too.
            from structuredbandits.plots import structure_plot

            picture = figure_svg(structure_plot(self))
        except ImportError:  # no matplotlib here; the table says enough
            picture = ""
        return structure_html(self, picture=picture)

    def __repr__(self) -> str:
        from structuredbandits.structure.display import structure_line

        return f"<Structure{'' if self.name is None else f' {self.name}'}: {structure_line(self)}>"


def _lipschitz(
    means: FloatArray, parameters: Parameters, arms: tuple[str, ...], constants: ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    if constants is None:
        return means, means
    checks.check_finite(means, parameters, arms, "mean")
    full = checks.one_an_arm(constants, arms, "lipschitz", 0.0)
    bounds = lipschitz_bounds(means, parameters, full)
    check_lipschitz(means, parameters, arms, full)
    return bounds


def _one_source(arms: Sequence[str] | None, named: Sequence[str] | None) -> Sequence[str] | None:
    """Return the arm names, which come with the numbers or in `arms=`, and not in both ways."""
    if arms is None or named is None:
        return named if arms is None else arms
    if isinstance(arms, Iterable) and list(map(str, arms)) == list(named):
        return named
    raise InvalidStructure(
        f"arms = {brief(arms)} names arms that are called {brief(list(named))} already; leave out "
        "arms."
    )


def _read_means(
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


def _piece(
    arm: str, breakpoints: PiecewiseLinear | Sequence[tuple[float, float]]
) -> PiecewiseLinear:
    if isinstance(breakpoints, PiecewiseLinear):
        return breakpoints
    try:
        return PiecewiseLinear(breakpoints)
    except InvalidStructure as error:
        raise InvalidStructure(f"arm {arm!r}: {error}") from None


def _linear_model(features: ArrayLike, parameters: Parameters, link: str | None) -> Linear:
    rows = checks.as_table(features, "features")
    points = parameters.points
    if points is None or points.shape[1] != rows.shape[1]:
        raise InvalidStructure(
            f"features with {rows.shape[1]} numbers an arm do not fit a Θ of dimension "
            f"{parameters.dimension}{' of labels' if points is None else ''}; give vectors of "
            "equal length."
        )
    if not np.isfinite(rows).all():
        raise InvalidStructure("features hold NaN or infinity; give finite numbers.")
    if link not in (None, "identity", "logistic"):
        raise InvalidStructure(f"link = {link!r} is unknown; choose 'identity' or 'logistic'.")
    return Linear(rows, None if link == "identity" else link)
