"""What is known before the first pull: how each arm's mean reward depends on a hidden θ.

A structure holds knowledge only. It is immutable and checked when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structuredbandits.errors import InvalidInput, InvalidStructure, UnknownArm, suggestion
from structuredbandits.structure import _constructor_inputs as inputs
from structuredbandits.structure import validation
from structuredbandits.structure._digest import contents_of, digest_of
from structuredbandits.structure._finite import Finite
from structuredbandits.structure._grids import Interval
from structuredbandits.structure._mean_models import (
    Linear,
    MeanModel,
    Pieces,
    interpolate,
    tabulate,
)
from structuredbandits.structure._piecewise import PiecewiseLinear
from structuredbandits.structure._sound_cells import linear_bounds, piecewise_bounds
from structuredbandits.structure.interaction_length import Length, read_length
from structuredbandits.structure.parameters import (
    FloatArray,
    Parameters,
    brief,
    read_only,
    show_theta,
)
from structuredbandits.structure.reward_family import Rewards, check_limits, read_rewards
from structuredbandits.structure.validation import StructureOptions

if TYPE_CHECKING:
    import pandas as pd

# "Optimal" allows for rounding: this share of the range of all means, so that a structure in
# other units behaves the same.
_TOLERANCE = 1e-9


class Structure:
    """Known mean rewards of K arms at every θ in a set Θ.

    Make one with `from_functions`, `from_table`, `from_bounds`, `from_breakpoints` or `linear`.
    All of them also take the options of `StructureOptions`: `minimize`, `name`, `prior`,
    `counts`, `standard_errors`, `rewards` (with `prize` or `limits`), `noise` and `length`.

    Parameters
    ----------
    lower, upper
        (parameters, arms): bounds on the means; equal where the means are known exactly.
    parameters
        Θ.
    arms
        Names, one per column; "1", "2" and so on if None.
    sigma
        The sub-Gaussian proxy of the rewards, one number or one per arm: their standard deviation
        if they are Gaussian, half their range if they are bounded. None uses half the range of
        Bernoulli and bounded rewards.
    model
        How means are computed between grid points; None to interpolate.
    options
        See `StructureOptions`.

    Attributes
    ----------
    means, lower, upper : (parameters, arms)
        Read-only. If `exact`, all three are one array; otherwise `means` is the middle.
    sigma : (arms,)
    rewards : Rewards
    noise : (arms,) or None
    arms : tuple of str
    parameters : Finite, Interval or Box
    prior : (parameters,) or None
    counts, standard_errors : (parameters, arms) or None
    length : float, tuple of pairs, or None

    Notes
    -----
    Two structures are equal if their names and their numbers are; functions cannot be compared, so
    their values on the grid are.

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

    arms: tuple[str, ...]
    parameters: Parameters
    means: FloatArray
    lower: FloatArray
    upper: FloatArray
    exact: bool
    sigma: FloatArray
    rewards: Rewards
    noise: FloatArray | None
    minimize: bool
    name: str | None
    prior: FloatArray | None
    counts: FloatArray | None
    standard_errors: FloatArray | None
    length: Length | None
    model: MeanModel | None

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        parameters: Parameters,
        arms: Sequence[str] | None = None,
        sigma: ArrayLike | None = None,
        model: MeanModel | None = None,
        **options: Unpack[StructureOptions],
    ) -> None:
        validation.check_parameters(parameters)
        low = validation.as_table(lower, "lower")
        names = validation.arm_names(arms, low.shape[1])
        same = upper is lower
        validation.check_shape(low, parameters, names, "means" if same else "lower bounds")
        validation.check_finite(low, parameters, names, "mean" if same else "bound")
        high = low if same else validation.as_table(upper, "upper")
        if not same:
            validation.check_shape(high, parameters, names, "upper bounds")
            validation.check_finite(high, parameters, names, "bound")
        validation.check_order(low, high, parameters, names)
        exact = same or bool((low == high).all())
        shape = (len(parameters), len(names))
        unknown = set(options) - set(StructureOptions.__annotations__)
        if unknown:
            raise TypeError(
                f"a structure has no option {sorted(unknown)[0]!r}; it takes "
                f"{', '.join(StructureOptions.__annotations__)}."
            )
        rewards = read_rewards(
            options.get("rewards", "gaussian"), options.get("limits"), options.get("prize"), names
        )
        check_limits(rewards, low, high, parameters, names)
        noise = options.get("noise")
        self.__dict__.update(
            arms=names,
            parameters=parameters,
            lower=low,
            upper=low if exact else high,
            means=low if exact else read_only(0.5 * low + 0.5 * high),
            exact=exact,
            rewards=rewards,
            sigma=validation.positive_sigma(
                rewards.half_ranges() if sigma is None and rewards.limited else sigma, names
            ),
            noise=None if noise is None else validation.positive_sigma(noise, names, "noise"),
            minimize=bool(options.get("minimize", False)),
            name=validation.check_name(options.get("name")),
            prior=validation.normalised_prior(options.get("prior"), len(parameters)),
            counts=validation.check_companion(options.get("counts"), shape, "counts"),
            standard_errors=validation.check_companion(
                options.get("standard_errors"), shape, "standard_errors"
            ),
            length=read_length(options.get("length"), InvalidStructure),
            model=model,
        )

    @classmethod
    def from_functions(
        cls,
        functions: Mapping[str, Callable[..., Any]],
        parameters: Parameters,
        *,
        sigma: ArrayLike | None = None,
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
            One number or one per arm.
        lipschitz
            For sound cells: constants L, one or one per arm, with |μ(θ) − μ(θ')| ≤ L ‖θ − θ'‖ in
            the Euclidean norm. Each grid point then stands for its whole cell, with bounds that
            hold for every θ in it.
        """
        validation.check_mapping(functions, "functions")
        validation.check_parameters(parameters)
        arms = validation.arm_names(functions.keys(), len(functions))
        model, means = tabulate(list(functions.values()), parameters, arms)
        lower, upper = inputs.with_lipschitz(means, parameters, arms, lipschitz)
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
        sigma: ArrayLike | None = None,
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
            Θ; the row numbers 0, 1, ... if None. On an `Interval` or a `Box` the means
            between grid points are interpolated, linear along every side.
        arms
            Names, one per column, where the means do not come with names.
        sigma
            One number or one per arm.
        lipschitz
            As in `from_functions`.

        Examples
        --------
        >>> table = Structure.from_table([[1, 0], [0, 2]], Finite(["calm", "busy"]), sigma=1)
        >>> table.optimal_arm("busy")
        '2'
        """
        values, rows, columns = inputs.read_means(means)
        table = validation.as_table(values, "means")
        theta = parameters if parameters is not None else rows or Finite(range(len(table)))
        validation.check_parameters(theta)
        names = validation.arm_names(inputs.merge_arm_names(arms, columns), table.shape[1])
        validation.check_shape(table, theta, names)
        lower, upper = inputs.with_lipschitz(table, theta, names, lipschitz)
        return cls(lower, upper, parameters=theta, arms=names, sigma=sigma, **options)

    @classmethod
    def from_bounds(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        parameters: Parameters | None = None,
        arms: Sequence[str] | None = None,
        *,
        sigma: ArrayLike | None = None,
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
        low = validation.as_table(lower, "lower")
        theta = Finite(range(len(low))) if parameters is None else parameters
        return cls(low, upper, parameters=theta, arms=arms, sigma=sigma, **options)

    @classmethod
    def from_breakpoints(
        cls,
        breakpoints: Mapping[str, PiecewiseLinear | Sequence[tuple[float, float]]],
        *,
        sigma: ArrayLike | None = None,
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
            One number or one per arm.
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
        validation.check_mapping(breakpoints, "breakpoints")
        arms = validation.arm_names(breakpoints.keys(), len(breakpoints))
        model = Pieces([inputs.read_piece(arm, breakpoints[arm]) for arm in breakpoints], arms)
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
        sigma: ArrayLike | None = None,
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
            One number or one per arm.
        link
            None or "identity" for x·θ, "logistic" for 1 / (1 + exp(−x·θ)).
        arms
            Names, one per row of features, where they do not come with names.
        sound
            As in `from_breakpoints`; needs a `Box` or an `Interval`.

        Examples
        --------
        >>> from structuredbandits.structure import Box
        >>> structure = Structure.linear([[2, 1], [1, 1.5]], Box([(-1, 1), (-1, 1)]), sigma=2)
        >>> structure.means_at((0.9, 0.5)), structure.n_parameters
        (array([2.3 , 1.65]), 1681)
        """
        validation.check_parameters(parameters)
        names: Sequence[str] | None = arms
        vectors: Any = features
        if isinstance(features, Mapping):
            names = inputs.merge_arm_names(arms, tuple(map(str, features)))
            vectors = list(features.values())
        model = inputs.linear_model(vectors, parameters, link)
        if sound:
            lower, upper = linear_bounds(model, parameters)
        else:
            lower = model.through_link(np.asarray(parameters.points) @ model.features.T)
            upper = lower
        return cls(
            lower, upper, parameters=parameters, arms=names, sigma=sigma, model=model, **options
        )

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return len(self.arms)

    @property
    def n_parameters(self) -> int:
        """The number of grid points or members of Θ."""
        return len(self.parameters)

    @property
    def sign(self) -> float:
        """+1.0, or -1.0 for costs: a mean multiplied by it is better if it is larger."""
        return -1.0 if self.minimize else 1.0

    @cached_property
    def tolerance(self) -> float:
        """The largest distance from the best mean that still counts as equal to it."""
        return _TOLERANCE * float(self.upper.max() - self.lower.min())

    @cached_property
    def optimal(self) -> NDArray[np.bool_]:
        """(parameters, arms): whether an arm is, or with bounds may be, the best at each θ."""
        flags: NDArray[np.bool_]
        if self.minimize:
            flags = self.lower <= self.upper.min(axis=1, keepdims=True) + self.tolerance
        else:
            flags = self.upper >= self.lower.max(axis=1, keepdims=True) - self.tolerance
        flags.setflags(write=False)
        return flags

    @property
    def pieces(self) -> tuple[PiecewiseLinear, ...] | None:
        """The exact function of each arm, if the structure was made from breakpoints."""
        return self.model.pieces if isinstance(self.model, Pieces) else None

    @property
    def features(self) -> FloatArray | None:
        """(arms, dimension): the features, if the structure is linear."""
        return self.model.features if isinstance(self.model, Linear) else None

    @property
    def link(self) -> str | None:
        """The link of a linear structure; None for the identity."""
        return self.model.link if isinstance(self.model, Linear) else None

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits of all contents except the name."""
        return digest_of(contents_of(self))

    def means_at(self, theta: object) -> FloatArray:
        """Return the mean rewards (arms,) at any θ in Θ, also between grid points.

        Between grid points, functions, breakpoints and features give exact means. A structure
        without them (a table, bounds, or a file saved from functions) interpolates its means
        linearly along every side.
        """
        value = self.parameters.resolve(theta)
        if not self.parameters.continuous:
            return np.array(self.means[self.parameters.index(value)])
        near = self.parameters.nearest(value)
        if self.exact and self.parameters[near] == value:
            return np.array(self.means[near])
        if self.model is None:
            return interpolate(self.parameters, self.means, value)
        row = self.model.at(value)
        if not np.isfinite(row).all():
            arm = self.arms[int(np.argmin(np.isfinite(row)))]
            raise InvalidStructure(
                f"the function of arm {arm!r} is not finite at θ = {show_theta(value)}; correct it."
            )
        return row

    def optimal_arm(self, theta: object) -> str:
        """Return the name of the best arm at any θ in Θ, the first one on a tie."""
        return self.arms[int(np.argmax(self.sign * self.means_at(theta)))]

    def arm_index(self, arm: str | int) -> int:
        """Return the position of an arm given by its name, or check a position.

        Examples
        --------
        >>> Structure.from_table([[1, 2]], arms=["low", "high"], sigma=1).arm_index("high")
        1
        """
        if isinstance(arm, str):
            if arm in self._positions:
                return self._positions[arm]
            raise UnknownArm(f"there is no arm {arm!r}; {suggestion(arm, self.arms)}")
        if isinstance(arm, int | np.integer) and not isinstance(arm, bool):
            if 0 <= arm < self.n_arms:
                return int(arm)
            raise UnknownArm(
                f"there is no arm at position {arm}; positions run from 0 to {self.n_arms - 1}."
            )
        raise UnknownArm(f"{arm!r} is not an arm; give its name or its position.")

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {arm: k for k, arm in enumerate(self.arms)}

    def label(self, position: int) -> str:
        """Return the θ of a row of `means` as short text."""
        return self.parameters.label(position)

    def with_(
        self,
        *,
        arms: Sequence[str | int] | None = None,
        sigma: ArrayLike | None = None,
        minimize: bool | None = None,
        name: str | None = None,
        prior: ArrayLike | None = None,
        rewards: str | Rewards | None = None,
        prize: ArrayLike | None = None,
        limits: ArrayLike | None = None,
        noise: ArrayLike | None = None,
        length: Length | None = None,
    ) -> Self:
        """Return a changed copy; arguments that are not given keep their value.

        Parameters
        ----------
        arms
            The arms to keep, in this order.
        sigma
            One number, or one for each kept arm.
        minimize, name, prior, rewards, prize, limits, noise, length
            See `StructureOptions`. With new `rewards` and no `sigma`, σ is half their range.

        Examples
        --------
        >>> three = Structure.from_table([[1, 2, 3]], arms=["a", "b", "c"], sigma=1)
        >>> three.with_(arms=["c", "a"], sigma=[1, 2]).means
        array([[3., 1.]])
        """
        kept = self._kept(arms)
        counts, errors = self.counts, self.standard_errors
        lower = self.lower[:, kept]
        arms_kept = tuple(self.arms[k] for k in kept)
        family = self.rewards.subset(kept)
        if rewards is not None or prize is not None or limits is not None:
            family = read_rewards(
                self.rewards.name if rewards is None else rewards, limits, prize, arms_kept
            )
        if noise is None and self.noise is not None:
            noise = self.noise[kept]
        if sigma is None and not (family.limited and family != self.rewards.subset(kept)):
            sigma = self.sigma[kept]
        return type(self)(
            lower,
            lower if self.exact else self.upper[:, kept],
            parameters=self.parameters,
            arms=arms_kept,
            sigma=sigma,
            model=None if self.model is None else self.model.subset(kept),
            minimize=self.minimize if minimize is None else minimize,
            name=self.name if name is None else name,
            prior=self.prior if prior is None else prior,
            counts=None if counts is None else counts[:, kept],
            standard_errors=None if errors is None else errors[:, kept],
            rewards=family,
            noise=noise,
            length=self.length if length is None else length,
        )

    def _kept(self, arms: Sequence[str | int] | None) -> list[int]:
        if arms is None:
            return list(range(self.n_arms))
        if isinstance(arms, str) or not isinstance(arms, Iterable):
            raise InvalidStructure(
                f"arms = {brief(arms)} is not a list; give a list of the arms to keep."
            )
        kept = [self.arm_index(arm) for arm in arms]
        if not kept:
            raise InvalidStructure(
                f"arms = {brief(arms)} leaves nothing to choose; keep at least 2 arms."
            )
        return kept

    def save(self, path: str | PathLike[str]) -> None:
        """Write the structure to one file, which `load_structure` reads.

        Everything except functions is stored: a structure made from functions interpolates
        between grid points after it is loaded.
        """
        from structuredbandits.structure._files import write_structure

        write_structure(self, path)

    def to_frame(self) -> pd.DataFrame:
        """Return the means as a table: one row per θ, one column per arm."""
        from structuredbandits.structure._formatting import structure_frame

        return structure_frame(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return self is other or (self.name == other.name and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in Structure.__annotations__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {"rewards": Rewards(), "noise": None, "length": None, **state}  # older pickles
        self.__dict__.update(state)
        for value in state.values():
            if isinstance(value, np.ndarray):
                read_only(value)  # pickling does not keep the flag

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a structure cannot be changed; use with_ to make a changed copy.")

    def _repr_html_(self) -> str:
        from structuredbandits.structure._formatting import figure_svg, structure_html

        try:
            # The only import from a higher layer: a notebook also shows the structure as a picture.
            from structuredbandits.plots import structure_plot

            picture = figure_svg(structure_plot(self))
        except ModuleNotFoundError as missing:  # without Matplotlib the table is shown alone
            if (missing.name or "").partition(".")[0] != "matplotlib":
                raise
            picture = ""
        return structure_html(self, picture=picture)

    def __repr__(self) -> str:
        from structuredbandits.structure._formatting import structure_line

        return f"<Structure{'' if self.name is None else f' {self.name}'}: {structure_line(self)}>"


def require_structure(value: object) -> None:
    """Raise an error unless the value is a structure; the name of one is not."""
    if not isinstance(value, Structure):
        raise InvalidInput(
            f"{brief(value)} is not a structure; give one, such as load_structure('three-arms')."
        )
