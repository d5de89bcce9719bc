"""A user's own policy: an index function in a few lines, compiled like the built-in ones."""

from __future__ import annotations

import dataclasses
import inspect
from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numba import njit

from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.index import IndexAlgorithm
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registry import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


def index_policy(function: Callable[..., float]) -> type[IndexAlgorithm]:
    """Make an algorithm of an index function.

    The function gets an arm (``pulls``, ``mean``, ``scale`` = sigma/sqrt(pulls), ``sigma``,
    ``total``, ``squares``, ``leader``, ``n_candidates``), the moment (``received``, ``decided``,
    ``log_t``, ``width``, ``horizon``) and its own parameters by keyword; it returns the index.
    Arms that were never seen come first and do not reach it. What results is a class: its
    parameters are those of the function, it is known by the function's name with dashes, and it
    works everywhere a built-in algorithm does.

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
    parameters = list(inspect.signature(function).parameters.values())
    settings = parameters[2:]
    if len(parameters) < 2 or any(p.default is inspect.Parameter.empty for p in settings):
        raise InvalidPolicy(
            f"{function.__name__} must take (arm, moment) and then parameters with defaults, for "
            "example def cautious(arm, moment, width=1.0)."
        )
    compiled = njit(error_model="numpy")(function)
    # Numba wants at least one field, so a function without parameters gets one that is not used.
    fields = [p.name for p in settings] or ["nothing"]
    agent: Any = namedtuple(f"{function.__name__}_agent", fields)  # type: ignore[misc]  # fields known at run time only
    agent.__module__ = function.__module__
    _register_index(agent, compiled, bool(settings))

    def make_agent(self: Any, structure: Structure, rounds: int, horizon: int) -> Any:
        return agent(*([float(getattr(self, p.name)) for p in settings] or [0.0]))

    made = dataclasses.make_dataclass(
        function.__name__,
        [(p.name, float, dataclasses.field(default=p.default)) for p in settings],
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
    register(made)
    return made


def _register_index(agent: type, compiled: Any, has_settings: bool) -> None:
    if has_settings:

        @implements(index, agent)
        def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
            return compiled(arm, moment, *agent)

    else:

        @implements(index, agent)
        def _plain_index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
            return compiled(arm, moment)
