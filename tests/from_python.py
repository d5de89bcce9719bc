"""Helper for tests of functions that only compiled code can call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def from_python(inlined: Any) -> Callable[..., Any]:
    """A kernel around a function that is ``inline``, which Python cannot call by itself."""

    @njit  # type: ignore[untyped-decorator]
    def call(*arguments: Any) -> Any:
        return inlined(*arguments)

    return call  # type: ignore[no-any-return]
