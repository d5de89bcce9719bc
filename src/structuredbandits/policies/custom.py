"""Custom policies: a user's index function, compiled like the built-in ones."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numba import njit, typeof, types

from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.custom_functions import NotANumber, check_function, compiled
from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.parameter_checks import number
from structuredbandits.policies.protocol import Arm, Moment, has_index, implements, index
from structuredbandits.policies.registration import Description, add

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


_definitions = itertools.count(1)


def index_policy(function: Callable[..., float]) -> type[Any]:
    """Make an algorithm of an index function.

    The function gets an arm (``pulls``, ``mean``, ``scale`` = sigma/sqrt(pulls), ``sigma``,
    ``total``, ``squares``, ``leader``, ``n_candidates``, ``position``), the moment (``received``,
    ``decided``, ``log_t``, ``width``, ``horizon``) and its own parameters by keyword; it returns
    the index, which must not be NaN. Arms without rewards are pulled first, without a call of the
    function. The result is a class whose parameters are those of the function; its name is the
    function's with dashes, and it works wherever a built-in algorithm does.

    Examples
    --------
    >>> import math
    >>> @index_policy
    ... def cautious(arm, moment, width=1.0):
    ...     return arm.mean + width * arm.sigma * math.sqrt(moment.log_t / arm.pulls)
    >>> cautious(width=0.5)
    cautious(width=0.5)
    >>> cautious.name
    'cautious'
    """
    check_function(function, "def cautious(arm, moment): return arm.mean")
    parameters = list(inspect.signature(function).parameters.values())
    settings = parameters[2:]
    if len(parameters) < 2 or any(p.default is inspect.Parameter.empty for p in settings):
        raise InvalidPolicy(
            f"{function.__name__} must take (arm, moment) and then parameters with defaults, for "
            "example def cautious(arm, moment, width=1.0)."
        )
    _check_names(function.__name__, [p.name for p in settings])
    agent = _agent_class(function)

    def make_agent(self: Any, structure: Structure, rounds: int, horizon: int) -> Any:
        # Registered here, since a class may come from another process.
        if not has_index(agent):
            _register_index(agent, function, len(settings))
        # Numba refuses empty tuples, so a function without parameters gets one that is not used.
        return agent(tuple(float(getattr(self, p.name)) for p in settings) or (0.0,))

    made = dataclasses.make_dataclass(
        function.__name__,
        [(p.name, float, number(p.default, optional=False)) for p in settings],
        bases=(IndexAlgorithm,),
        namespace={
            "agent": make_agent,
            "name": function.__name__.replace("_", "-"),
            "__doc__": function.__doc__ or f"Index policy of {function.__name__}.",
            "__module__": function.__module__,
        },
        frozen=True,
        repr=False,
    )
    made.__qualname__ = function.__qualname__
    add(made, Description())
    return made


def _agent_class(function: Callable[..., float]) -> Any:
    """The policy in compiled code: one field that is a plain tuple.

    Numba cannot unpack a named tuple into arguments.
    """
    # Numba distinguishes tuple classes by name, so each definition gets its own.
    name = f"{function.__name__}_agent_{next(_definitions)}"
    made: Any = namedtuple(name, ["settings"])  # type: ignore[misc]  # named at run time
    made.__module__ = function.__module__
    return made


def _check_names(function: str, settings: list[str]) -> None:
    """Refuse names that every algorithm uses already."""
    taken = [name for name in settings if hasattr(IndexAlgorithm, name)]
    if taken:
        raise InvalidPolicy(
            f"{function} has a parameter {taken[0]!r}, which every algorithm uses "
            "already; rename it."
        )


def _register_index(agent: type, function: Callable[..., float], n_settings: int) -> None:
    seen = typeof(Arm(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1, 0))
    moment = typeof(Moment(1, 1, 1.0, 1.0, 1))
    own = compiled(function, (seen, moment, *[types.float64] * n_settings), "an arm and the moment")
    name = function.__name__

    if n_settings:

        def value_of(agent: Any, arm: Any, moment: Any) -> Any:
            return float(own(arm, moment, *agent.settings))

    else:

        def value_of(agent: Any, arm: Any, moment: Any) -> Any:
            return float(own(arm, moment))

    value_of = njit(error_model="numpy", forceinline=True)(value_of)

    @implements(index, agent)
    def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
        value = value_of(agent, arm, moment)
        if value != value:  # NaN, which is neither more nor less than any other index
            raise NotANumber(name, arm.position)
        return value
