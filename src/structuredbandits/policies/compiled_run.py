"""A run as one reference that compiled code can follow.

Passing the tables of a structure to a kernel array by array costs a quarter of a microsecond each.
A `CompiledRun` holds them all on the compiled side; `Run` passes just this reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.experimental import structref

from structuredbandits._compiled import kernel
from structuredbandits.confidence.memory import Memory

_FIELDS = ("agent", "memory", "block", "clock", "addresses")


@structref.register
class CompiledRunType(types.StructRef):  # type: ignore[misc]  # Numba is untyped
    """Numba's type of a compiled run: the types of its fields."""

    def preprocess_fields(self, fields: Any) -> Any:
        """Types of values, not of constants: the fields are filled at run time."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)

    @property
    def key(self) -> Any:
        """Equal if the fields are; names would confuse two agents of the same name."""
        return self._fields


class CompiledRun(structref.StructRefProxy):  # type: ignore[misc]  # Numba is untyped
    """Python's reference to a compiled run; it keeps the arrays inside alive."""

    if TYPE_CHECKING:
        agent: Any
        memory: Memory
        block: np.ndarray
        clock: np.ndarray
        addresses: np.ndarray

        def __init__(self, *parts: Any) -> None: ...


structref.define_boxing(CompiledRunType, CompiledRun)
structref.define_constructor(CompiledRun, CompiledRunType, _FIELDS)
structref.define_attributes(CompiledRunType)


@kernel
def bind(
    agent: Any, memory: Memory, block: np.ndarray, clock: np.ndarray, addresses: np.ndarray
) -> CompiledRun:
    """Make the reference; the arrays are shared, not copied."""
    return CompiledRun(agent, memory, block, clock, addresses)
