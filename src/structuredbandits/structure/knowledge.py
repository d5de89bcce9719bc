"""The checked numbers of a structure and what follows from them directly.

This module knows means, bounds, σ and Θ. It must not know how a structure was made, nor files,
policies or the problems that are embedded in the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NoReturn, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structuredbandits.errors import InvalidStructure, UnknownArm, suggestion
from structuredbandits.structure import checks
from structuredbandits.structure.contents import contents_of, digest_of
from structuredbandits.structure.models import Linear, MeanModel, Pieces, interpolate
from structuredbandits.structure.parameters import Parameters, show_theta
from structuredbandits.structure.piecewise import PiecewiseLinear
from structuredbandits.structure.theta import FloatArray, brief, read_only

# "Optimal" allows for rounding: this share of the range of all means, so that a structure in
# other units behaves the same.
_TOLERANCE = 1e-9


class StructureOptions(TypedDict, total=False):
    """What every way of making a structure accepts besides its own arguments."""

    minimize: bool
    """True if rewards are costs, to be made small."""
    name: str | None
    """A name for tables and plots; it does not matter otherwise."""
    prior: ArrayLike | None
    """(parameters,): weights of the θ, not negative; they are divided by their sum."""
    counts: ArrayLike | None
    """(parameters, arms): how many observations each mean was learned from."""
    standard_errors: ArrayLike | None
    """(parameters, arms): the standard error of each learned mean."""


class Knowledge:
    """What `Structure` knows; it adds the ways to make, show and store one.

    Parameters
    ----------
    lower, upper
        (parameters, arms): bounds on the means; equal where the means are known exactly.
    parameters
        Θ.
    arms
        Names, one a column; "1", "2" and so on if None.
    sigma
        One number or one an arm.
    model
        How means are computed between grid points; None to interpolate.
    options
        See `StructureOptions`.
    """

    arms: tuple[str, ...]
    parameters: Parameters
    means: FloatArray
    lower: FloatArray
    upper: FloatArray
    exact: bool
    sigma: FloatArray
    minimize: bool
    name: str | None
    prior: FloatArray | None
    counts: FloatArray | None
    standard_errors: FloatArray | None
    model: MeanModel | None

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        parameters: Parameters,
        arms: Sequence[str] | None = None,
        sigma: ArrayLike,
        model: MeanModel | None = None,
        **options: Unpack[StructureOptions],
    ) -> None:
        checks.a_parameter_set(parameters)
        low = checks.as_table(lower, "lower")
        names = checks.arm_names(arms, low.shape[1])
        same = upper is lower
        checks.check_shape(low, parameters, names, "means" if same else "lower bounds")
        checks.check_finite(low, parameters, names, "mean" if same else "bound")
        high = low if same else checks.as_table(upper, "upper")
        if not same:
            checks.check_shape(high, parameters, names, "upper bounds")
            checks.check_finite(high, parameters, names, "bound")
        checks.check_order(low, high, parameters, names)
        exact = same or bool((low == high).all())
        shape = (len(parameters), len(names))
        unknown = set(options) - set(StructureOptions.__annotations__)
        if unknown:
            raise TypeError(
                f"a structure has no option {sorted(unknown)[0]!r}; it takes "
                f"{', '.join(StructureOptions.__annotations__)}."
            )
        self.__dict__.update(
            arms=names,
            parameters=parameters,
            lower=low,
            upper=low if exact else high,
            means=low if exact else read_only(0.5 * low + 0.5 * high),
            exact=exact,
            sigma=checks.positive_sigma(sigma, names),
            minimize=bool(options.get("minimize", False)),
            name=checks.a_name(options.get("name")),
            prior=checks.normalised_prior(options.get("prior"), len(parameters)),
            counts=checks.companion(options.get("counts"), shape, "counts"),
            standard_errors=checks.companion(
                options.get("standard_errors"), shape, "standard_errors"
            ),
            model=model,
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
        """+1.0, or -1.0 for costs: times a mean, more is better."""
        return -1.0 if self.minimize else 1.0

    @cached_property
    def tolerance(self) -> float:
        """How far a mean may be from the best and still count as equal to it."""
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
        """Sixteen hexadecimal digits of everything that matters; the name does not."""
        return digest_of(contents_of(self))

    def means_at(self, theta: object) -> FloatArray:
        """Return the mean rewards (arms,) at any θ in Θ, also between grid points.

        There functions, breakpoints and features are exact. A structure that has none of them
        (a table, bounds, or one loaded from a file that was made from functions) interpolates its
        means, linear along every side.
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
        >>> from structuredbandits.structure.structure import Structure
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
    ) -> Self:
        """Return a copy with changes; what is not given stays as it is.

        Parameters
        ----------
        arms
            The arms to keep, in this order.
        sigma
            One number, or one for each kept arm.
        minimize, name, prior
            See `StructureOptions`.

        Examples
        --------
        >>> from structuredbandits.structure.structure import Structure
        >>> three = Structure.from_table([[1, 2, 3]], arms=["a", "b", "c"], sigma=1)
        >>> three.with_(arms=["c", "a"], sigma=[1, 2]).means
        array([[3., 1.]])
        """
        kept = self._kept(arms)
        counts, errors = self.counts, self.standard_errors
        lower = self.lower[:, kept]
        return type(self)(
            lower,
            lower if self.exact else self.upper[:, kept],
            parameters=self.parameters,
            arms=[self.arms[k] for k in kept],
            sigma=self.sigma[kept] if sigma is None else sigma,
            model=None if self.model is None else self.model.subset(kept),
            minimize=self.minimize if minimize is None else minimize,
            name=self.name if name is None else name,
            prior=self.prior if prior is None else prior,
            counts=None if counts is None else counts[:, kept],
            standard_errors=None if errors is None else errors[:, kept],
        )

    def _kept(self, arms: Sequence[str | int] | None) -> list[int]:
        if arms is None:
            return list(range(self.n_arms))
        if isinstance(arms, str) or not isinstance(arms, Iterable):
            raise InvalidStructure(
                f"arms = {brief(arms)} is no list; give a list of the arms to keep."
            )
        kept = [self.arm_index(arm) for arm in arms]
        if not kept:
            raise InvalidStructure(
                f"arms = {brief(arms)} leaves nothing to choose; keep at least 2 arms."
            )
        return kept

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Knowledge):
            return NotImplemented
        return self is other or (self.name == other.name and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in Knowledge.__annotations__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for value in state.values():
            if isinstance(value, np.ndarray):
                read_only(value)  # pickling forgets it

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a structure cannot be changed; use with_ to make a changed copy.")
