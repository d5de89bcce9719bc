"""Registration of policies: everything that the library says about a policy, once, at its class.

``@register(...)`` above a policy's class is all that makes it known: its name on the command line
and in files, its place in ``structuredbandits``, the policy table, its colour and ``all`` follow
from it. Modules in `policies.classical` and `policies.structured` are imported when the
registered policies are first asked for, so this module itself is quick to import.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from structuredbandits.errors import InvalidPolicy, suggestion
from structuredbandits.policies.labels import is_name

if TYPE_CHECKING:
    from structuredbandits.policies.algorithm import Algorithm

Kind = TypeVar("Kind", bound="type[Algorithm]")

#: What a policy needs of the structure or the run; "horizon" means that it is better with one.
Need = Literal[
    "linear means",
    "monotone means",
    "exact means",
    "standard errors",
    "horizon",
    "rewards in [0, 1]",
]
Line = Literal["solid", "dashed", "dotted", "dash-dot"]

#: Colours that people with any colour vision can distinguish: Okabe and Ito's palette without its
#: yellow, which is too light for a line, and some of Tol's.
COLOURS: Mapping[str, str] = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "orange": "#E69F00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "black": "#000000",
    "wine": "#882255",
    "olive": "#999933",
    "indigo": "#332288",
    "teal": "#44AA99",
    "brown": "#7F5539",
    "grey": "#6B6B6B",
}
_PACKAGES = ("classical", "structured")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_LAST = 1000


@dataclass(frozen=True)
class Description:
    """What the library says about a policy.

    Parameters
    ----------
    summary
        What it does, in one line of plain English.
    use
        When to use it, in one line.
    reference
        Where it was published.
    needs
        What it needs of the structure or the run.
    colour, line
        Its look in pictures: a name of `COLOURS` or #rrggbb, and a line. None: a colour that
        follows from its name, and the line of classical or structured policies.
    order
        Position in lists; policies of equal order are sorted by name.
    """

    summary: str = ""
    use: str = ""
    reference: str = ""
    needs: tuple[Need, ...] = ()
    colour: str | None = None
    line: Line | None = None
    order: int = _LAST

    def __post_init__(self) -> None:
        if not (self.colour is None or self.colour in COLOURS or _HEX.fullmatch(self.colour)):
            raise InvalidPolicy(
                f"there is no colour {self.colour!r}; {suggestion(self.colour, COLOURS, 20)}, or "
                "#rrggbb."
            )
        for need in self.needs:
            if need not in get_args(Need):
                raise InvalidPolicy(
                    f"there is no need {need!r}; {suggestion(need, get_args(Need), 10)}."
                )


_classes: dict[str, type[Algorithm]] = {}
_descriptions: dict[type[Algorithm], Description] = {}


def register(
    *,
    summary: str,
    use: str,
    needs: tuple[Need, ...] = (),
    reference: str | None = None,
    colour: str | None = None,
    line: Line | None = None,
    order: int = _LAST,
) -> Callable[[Kind], Kind]:
    """Make a class of algorithms known by its ``name``; for use as a decorator.

    The parameters are those of `Description`. Without a ``reference`` it is read from the
    References section of the class's docstring.
    """

    def decorate(algorithm: Kind) -> Kind:
        source = reference_of(algorithm) if reference is None else reference
        add(algorithm, Description(summary, use, source, tuple(needs), colour, line, order))
        return algorithm

    return decorate


def add(algorithm: type[Algorithm], description: Description) -> None:
    """Make a class of algorithms known by its name, here and in stored states.

    A custom algorithm may replace an earlier custom one of its name, but not a built-in one.
    """
    if not is_name(algorithm.name):
        raise InvalidPolicy(
            f"{algorithm.name!r} cannot be the name of a policy; use letters, digits and dashes."
        )
    if not is_built_in(algorithm):
        _check_that_it_is_free(algorithm)
    _classes[algorithm.name] = algorithm
    _descriptions[algorithm] = description


def _check_that_it_is_free(algorithm: type[Algorithm]) -> None:
    known = registered()
    if algorithm.name in known and not is_built_in(known[algorithm.name]):
        return
    taken = [name for name, kind in known.items() for name in names_of(name, kind)]
    if algorithm.name in taken:
        raise InvalidPolicy(
            f"{algorithm.name!r} is the name of a built-in policy; give yours another name."
        )
    for name in names_of(algorithm.name, algorithm):
        if name in known:
            raise InvalidPolicy(
                f"{algorithm.name!r} inside Algorithm-C would be {name!r}, which is another "
                "policy's name; give yours another name."
            )


#: Informative steps of Algorithm-C by the end of a policy's name.
METRICS = {
    "kl": "kl",
    "entropy": "entropy",
    "differential": "differential-entropy",
    "random": "random",
}


def names_of(name: str, algorithm: type[Algorithm]) -> list[str]:
    """The name of an algorithm, alone and inside Algorithm-C if it is classical."""
    if not algorithm.classical:
        return [name]
    return [name, f"{name}-c", *(f"{name}-c-{metric}" for metric in METRICS), f"{name}-cj"]


def is_built_in(algorithm: type[Algorithm]) -> bool:
    """Whether an algorithm comes with the library."""
    return algorithm.__module__.startswith(tuple(f"{__package__}.{name}." for name in _PACKAGES))


def registered(*, built_in: bool = False) -> dict[str, type[Algorithm]]:
    """All registered algorithms by name, in the order of lists; custom ones come last.

    Parameters
    ----------
    built_in
        True to leave out custom algorithms.
    """
    _import_all()
    own = [name for name, kind in _classes.items() if not is_built_in(kind)]
    names = [name for name in _classes if name not in own]
    names.sort(key=lambda name: (description_of(_classes[name]).order, name))
    return {name: _classes[name] for name in (names if built_in else names + own)}


def find(name: str) -> type[Algorithm] | None:
    """The registered algorithm of exactly this name."""
    _import_all()
    return _classes.get(name)


def description_of(algorithm: type[Algorithm]) -> Description:
    """What was registered with an algorithm; empty if nothing was."""
    return _descriptions.get(algorithm, Description())


@functools.cache
def _import_all() -> None:
    """Import every module in which the library registers policies."""
    for name in _PACKAGES:
        package: Any = importlib.import_module(f"{__package__}.{name}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")


def reference_of(algorithm: type[Algorithm]) -> str:
    """The References section of a docstring, as one line."""
    text = inspect.cleandoc(algorithm.__doc__ or "")
    found = re.search(r"^References\n-+\n(.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(found.group(1).split()) if found else ""
