"""Tables whose rows are computed by Python when a kernel first needs them.

The address of a Python function is passed to the kernel with the table; the kernel calls it with
the number of the row that it needs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # ships no types
from numba import types
from numba.extending import intrinsic

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64)


class LazyRows(NamedTuple):
    """A lazy table as kernels see it."""

    values: np.ndarray  # (rows, columns)
    filled: np.ndarray  # (rows,) bool, True once the row is written
    address: int  # of the Python function that fills a row


class _Keeper:
    """Keeps an object alive as long as any array made from the table exists."""

    def __init__(self, table: np.ndarray, kept: object) -> None:
        self.__array_interface__ = table.__array_interface__
        self._kept = table, kept


class _Filler:
    """The target of the callback.

    It does not refer to the keeper: the garbage collector cannot see through arrays, so that cycle
    would never be freed.
    """

    def __init__(self, table: np.ndarray, compute: Callable[[int], np.ndarray]) -> None:
        self.table, self.compute = table, compute
        self.filled = np.zeros(len(table), dtype=np.bool_)
        self.problem: Exception | None = None

    def fill(self, row: int) -> None:
        if not self.filled[row]:
            self.table[row] = self.compute(row)
            self.filled[row] = True

    def called(self, row: int) -> None:
        try:
            self.fill(row)
        except Exception as problem:  # exceptions cannot pass through compiled code
            self.problem = problem


class LazyTable:
    """A table whose rows are computed when a kernel first needs them.

    Parameters
    ----------
    n_rows, n_columns
        Its shape.
    compute
        row → (columns,) numbers.

    Examples
    --------
    >>> squares = LazyTable(3, 1, lambda row: np.array([float(row * row)]))
    >>> squares.fill(2)
    >>> squares.rows.values[2], squares.rows.filled
    (array([4.]), array([False, False,  True]))
    """

    def __init__(self, n_rows: int, n_columns: int, compute: Callable[[int], np.ndarray]) -> None:
        self._filler = _Filler(np.zeros((n_rows, n_columns)), compute)
        callback = _CALLBACK(self._filler.called)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        # Kernels hold only the address, so the table keeps the callback alive.
        values = np.asarray(_Keeper(self._filler.table, callback))
        self.rows = LazyRows(values, self._filler.filled, address)

    @property
    def problem(self) -> Exception | None:
        """The exception of the latest call from a kernel, or None."""
        return self._filler.problem

    def fill(self, row: int) -> None:
        """Compute a row, unless it is computed already."""
        self._filler.fill(row)


def _call(typing_context: Any, address: Any, row: Any) -> Any:
    """Call the function at an address with one integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [whole])
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), [arguments[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


#: Called in compiled code with (address, row); Numba adds the first argument.
fill_row: Any = intrinsic(_call)
