"""Decorators that compile: ``kernel`` (called from Python), ``inline`` and ``by_type``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.registry import CPUDispatcher
from numba.extending import overload

from structuredbandits._compiled.cache import KernelCache, require_kernel_package

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PACKAGE_PREFIX = __name__.split(".")[0] + "."
# Options of functions that become part of kernels. Entry points for Python and C, which are never
# used, would be a quarter of the compile time of a first run.
_CALLED = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_MERGED = {**_CALLED, "forceinline": True}


class _Merged(CPUDispatcher):  # type: ignore[misc]  # Numba is untyped
    """A function for compiled code only; a call from Python raises instead of crashing."""

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for compiled code; call a kernel around it")


def inline(function: Callable[..., Any]) -> Any:
    """Compile a function that only other compiled functions call.

    It becomes part of every kernel that uses it and has no cache entry of its own. Python cannot
    call it.
    """
    return _for_compiled_code(function, _MERGED)


def _for_compiled_code(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    require_kernel_package(function)
    made = njit(**options)(function)
    made.__class__ = _Merged
    return made


def called(function: Callable[..., Any]) -> Any:
    """Compile a function of a few numbers that kernels call.

    It is for work that is long and rare: merged into every place that needs it, it would be
    compiled once for each. Python cannot call it.
    """
    return _for_compiled_code(function, _CALLED)


def by_type(operation: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Define ``operation`` in compiled code by the types of its arguments.

    The decorated function gets the types and returns a function of the same arguments, which is
    merged into the kernel: a call would have to pass every array of every tuple.
    """
    return overload(operation, jit_options=_MERGED)  # type: ignore[no-any-return]  # Numba is untyped


def owned_by_library(parts: Any) -> bool:
    """Whether a (nested) named tuple is made of the library's own classes only.

    Kernels that run a user's policy are not stored on disk: the key of the stored ones covers only
    the library's sources.
    """
    if isinstance(parts, tuple):
        # None for a class that was made by code without a module.
        home = type(parts).__module__ or ""
        ours = not hasattr(parts, "_fields") or home.startswith(_PACKAGE_PREFIX)
        return ours and all(owned_by_library(part) for part in parts)
    return True


class Kernel:
    """A compiled entry point with a stored and an unstored variant.

    Calling it picks the variant by the first argument, which carries the policy's type.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        require_kernel_package(function)
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.stored = njit(nogil=True, error_model="numpy")(function)
        self.stored._cache = KernelCache(function)
        self._unstored: Any = None

    @property
    def unstored(self) -> Any:
        """The variant for a user's own types, compiled when first needed."""
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
