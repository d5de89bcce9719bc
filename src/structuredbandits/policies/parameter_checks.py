"""Parameters of algorithms: how a field declares what it takes, and the one check of all of them.

A field declares its range with `number` or `positive`, as ``alpha: float = positive(3.0)`` does.
Other fields that are annotated as float, int, bool or str are checked for that type. NumPy scalars
become plain Python values, so that labels and digests are those of the plain value.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidPolicy

#: The largest number that can be squared, multiplied with a mean and added up.
LARGEST = 1e100
_KEY = "structuredbandits"
_BY_ANNOTATION = {
    float: "number",
    int: "number",
    bool: "flag",
    str: "text",
    "float": "number",
    "int": "number",
    "bool": "flag",
    "str": "text",
}


class Check(NamedTuple):
    """What a field takes."""

    kind: str  # "number", "flag" or "text"
    optional: bool = False  # None is taken too
    above: float = -math.inf  # a number must be larger
    at_least: float = -math.inf
    at_most: float = math.inf
    below: float = math.inf  # a number must be smaller
    finite: bool = True


def number(
    default: float | None,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
    optional: bool | None = None,
) -> Any:
    """A field that takes a finite number within these limits.

    It also takes None if ``optional``, which is True by default if the default is None.
    """
    takes_none = default is None if optional is None else optional
    check = Check("number", takes_none, above, at_least, at_most, below)
    return dataclasses.field(default=default, metadata={_KEY: check})


def positive(default: float | None, *, at_most: float = math.inf) -> Any:
    """A field that takes a positive finite number, also None if that is its default."""
    return number(default, above=0.0, at_most=at_most)


def is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def read_parameters(described: Any) -> None:
    """Check all fields of a frozen dataclass, and make NumPy scalars plain Python values.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> UCB(alpha=np.float32(2.0))
    UCB(alpha=2.0)
    """
    for field in dataclasses.fields(described):
        value = plain_value(getattr(described, field.name))
        object.__setattr__(described, field.name, value)
        check = field.metadata.get(_KEY) or _annotated(field.type)
        if check is None or (check.optional and value is None) or _fits(check, value):
            continue
        needed, remedy = _needed(check, field.name, value), _remedy(check, field)
        raise InvalidPolicy(f"{type(described).__name__} needs {needed}, not {value!r}; {remedy}")


def plain_value(value: Any) -> Any:
    """A NumPy scalar as the Python value that it stands for; anything else as it is."""
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _annotated(annotation: Any) -> Check | None:
    """What an annotation alone says; a range is then up to the class."""
    optional = isinstance(annotation, str) and annotation.endswith(" | None")
    if optional:
        annotation = annotation.removesuffix(" | None")
    try:
        kind = _BY_ANNOTATION.get(annotation)
    except TypeError:  # an annotation that cannot be hashed
        kind = None
    return None if kind is None else Check(kind, optional, finite=False)


def _fits(check: Check, value: Any) -> bool:
    if check.kind == "text":
        return isinstance(value, str)
    if check.kind == "flag":
        # Names such as "posterior(uniform_prior=1)" were always read.
        return isinstance(value, bool) or (is_number(value) and value in (0, 1))
    if not check.finite and isinstance(value, float) and not math.isnan(value):
        return True
    if not is_number(value):
        return False
    within: bool = check.above < value < check.below and check.at_least <= value <= check.at_most
    return within


def _needed(check: Check, name: str, value: Any) -> str:
    if check.kind != "number":
        return f"True or False as {name}" if check.kind == "flag" else f"a text as {name}"
    if min(check.at_most, check.below) < LARGEST:
        low, high = max(check.above, check.at_least), min(check.below, check.at_most)
        return f"a value between {low:g} and {high:g} as {name}"
    if is_number(value) and value > check.at_most:
        return f"a {name} of at most {check.at_most:g}"
    if check.above == 0.0:
        return f"a positive finite {name}"
    if math.isfinite(check.at_least):
        return f"a finite {name} of at least {check.at_least:g}"
    return f"a finite number as {name}"


def _remedy(check: Check, field: dataclasses.Field[Any]) -> str:
    example = field.default
    if example is dataclasses.MISSING or example is None:
        if check.optional:
            return "leave it out."
        example = {"flag": True, "text": "", "number": 1.0}[check.kind]
    return f"give for example {field.name}={example!r}."
