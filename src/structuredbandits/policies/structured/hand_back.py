"""How compiled code asks Python for a row of a table that it has not computed yet.

The address of a Python function travels with the tables; a kernel calls it with the row it needs.
This module must not know what the rows mean.
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


class Rows(NamedTuple):
    """A table that is filled row by row, as kernels see it."""

    values: np.ndarray  # (rows, columns)
    filled: np.ndarray  # (rows,) bool, set after the row was written
    address: int  # of the Python function that fills a row


class _Keeper:
    """A table that keeps something else alive: an array made of it has it as its base."""

    def __init__(self, table: np.ndarray, kept: object) -> None:
        self.__array_interface__ = table.__array_interface__
        self._kept = table, kept


class _Filler:
    """What is called. It must not know the keeper: arrays are invisible to Python's collector."""

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
        except Exception as problem:  # it cannot pass through compiled code
            self.problem = problem


class RowsOnDemand:
    """A table whose rows are computed when a kernel first asks for them.

    Parameters
    ----------
    n_rows, n_columns
        Its shape.
    compute
        row → (columns,) numbers.

    Examples
    --------
    >>> squares = RowsOnDemand(3, 1, lambda row: np.array([float(row * row)]))
    >>> squares.fill(2)
    >>> squares.rows.values[2], squares.rows.filled
    (array([4.]), array([False, False,  True]))
    """

    def __init__(self, n_rows: int, n_columns: int, compute: Callable[[int], np.ndarray]) -> None:
        self._filler = _Filler(np.zeros((n_rows, n_columns)), compute)
        callback = _CALLBACK(self._filler.called)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        # Whoever has the rows has only the address: the table keeps the function alive for them.
        values = np.asarray(_Keeper(self._filler.table, callback))
        self.rows = Rows(values, self._filler.filled, address)

    @property
    def problem(self) -> Exception | None:
        """What went wrong in the latest call; a kernel cannot carry an exception through."""
        return self._filler.problem

    def fill(self, row: int) -> None:
        """Compute a row, if that was not done before."""
        self._filler.fill(row)


def _call(typing_context: Any, address: Any, row: Any) -> Any:
    """Call the function at an address with one whole number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [whole])
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), [arguments[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


#: Called in compiled code with (address, row); Numba gives it the first argument by itself.
call_python: Any = intrinsic(_call)
