"""The two ways in which this library compiles: ``kernel`` (entered from Python) and ``inline``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.registry import CPUDispatcher
from numba.extending import overload

from structuredbandits._compiled.cache import KernelCache, require_kernel_room

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PACKAGE_PREFIX = __name__.split(".")[0] + "."
# For what becomes part of kernels. An entry for Python and one for C, which nobody uses, would be
# a quarter of the time that a first run compiles for.
_MERGED = {
    "nogil": True,
    "error_model": "numpy",
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class _Merged(CPUDispatcher):  # type: ignore[misc]  # Numba is untyped
    """What compiled code calls; from Python the missing entry would be a crash, so say it."""

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for compiled code; call a kernel around it")


def inline(function: Callable[..., Any]) -> Any:
    """Compile a function that only other compiled functions call.

    It is not cached by itself: it becomes part of every kernel that uses it. Python cannot call it,
    except within a kernel.
    """
    require_kernel_room(function)
    made = njit(**_MERGED)(function)
    made.__class__ = _Merged
    return made


def by_type(operation: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Say what ``operation`` does in compiled code, chosen by the types of its arguments.

    The decorated function gets the types and returns a function of the same arguments, which is
    merged into the kernel: a call would have to hand over every array of every tuple.
    """
    return overload(operation, jit_options=_MERGED)  # type: ignore[no-any-return]  # Numba is untyped


def owned_by_library(parts: Any) -> bool:
    """Whether a (nested) named tuple is made of the library's own classes only.

    Kernels that run a user's policy are not stored on disk: the key of the stored ones covers
    our sources, not hers.
    """
    if isinstance(parts, tuple):
        # A class that was made by code without a module's name has None there.
        home = type(parts).__module__ or ""
        ours = not hasattr(parts, "_fields") or home.startswith(_PACKAGE_PREFIX)
        return ours and all(owned_by_library(part) for part in parts)
    return True


class Kernel:
    """A compiled entry point with a stored and an unstored variant.

    Calling it picks the variant by the first argument, which carries the policy's type.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        require_kernel_room(function)
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.stored = njit(nogil=True, error_model="numpy")(function)
        self.stored._cache = KernelCache(function)
        self._unstored: Any = None

    @property
    def unstored(self) -> Any:
        """The variant for a user's own types; made when first needed."""
        if self._unstored is None:
            self._unstored = njit(nogil=True, error_model="numpy")(self.__wrapped__)
        return self._unstored

    def variant(self, first: Any) -> Any:
        """The compiled function to call when the first argument is ``first``."""
        return self.stored if owned_by_library(first) else self.unstored

    def __call__(self, first: Any, *rest: Any) -> Any:
        return self.variant(first)(first, *rest)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile an entry point and keep it on disk, under a digest of all our sources."""
    return Kernel(function)
