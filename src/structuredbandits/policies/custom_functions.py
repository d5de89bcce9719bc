"""Compilation of users' functions, with short messages if they cannot be compiled or give NaN."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numba import njit, typeof, types
from numba.core.registry import cpu_target

from structuredbandits.errors import InvalidPolicy

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST_REASON = 200


class NotANumber(Exception):
    """Raised in compiled code when a user's function returns NaN: its name, the arm's position."""


def check_function(function: Any, example: str) -> None:
    """Refuse objects that are not functions, and lambdas, which have no name."""
    if not (inspect.isfunction(function) or hasattr(function, "py_func")):
        raise InvalidPolicy(f"{function!r} is not a function; give one, for example {example}.")
    if not function.__name__.isidentifier():
        raise InvalidPolicy(
            f"a lambda does not have a name for the policy; write for example {example}."
        )


def compiled(function: Callable[..., Any], arguments: Sequence[Any], takes: str) -> Any:
    """Compile a function for arguments of these types, now, and make sure it gives a number.

    Inside a kernel the same failure would give a message of a hundred lines.
    """
    made = function if hasattr(function, "py_func") else njit(error_model="numpy")(function)
    try:
        call = typeof(made).get_call_type(cpu_target.typing_context, tuple(arguments), {})
    # Numba raises many kinds: unsupported bytecode, for example, is a bare Exception.
    except Exception as problem:
        raise InvalidPolicy(
            f"{function.__name__} cannot be compiled: {_reason(problem)}; use numbers, math and "
            f"NumPy only, of {takes}."
        ) from None
    if not isinstance(types.unliteral(call.return_type), (types.Float, types.Integer)):
        raise InvalidPolicy(
            f"{function.__name__} returns {types.unliteral(call.return_type)}; let it return one "
            "number in every case."
        )
    return made


def _reason(problem: Exception) -> str:
    """The first informative line of a message of Numba, without colours."""
    lines = [line.strip() for line in _COLOURS.sub("", str(problem)).splitlines()]
    informative = [
        line for line in lines if line and not line.startswith("Failed in nopython mode")
    ]
    reason = informative[0] if informative else type(problem).__name__
    if reason.endswith(":") and len(informative) > 1:  # "... found for signature:", and then it
        reason = f"{reason} {informative[1].removeprefix('>>> ')}"
    return reason[:_LONGEST_REASON].rstrip(".:; ")


def without_number(found: NotANumber, label: str, arms: Sequence[str]) -> InvalidPolicy:
    """The error message for a function that returned NaN in a run of this policy."""
    function, position = found.args
    return InvalidPolicy(
        f"{label} cannot choose, since {function} returned NaN for arm {arms[position]!r}; let it "
        "return a number whatever the rewards, for example by keeping divisors and logarithms "
        "above 0."
    )


@contextmanager
def asking_for_numbers(label: str, arms: Sequence[str]) -> Iterator[None]:
    """Raise with the policy and the arm if a user's function returns NaN inside the block."""
    try:
        yield
    except NotANumber as found:
        raise without_number(found, label, arms) from None
