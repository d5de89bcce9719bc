"""A run as one reference that compiled code can follow.

Handing the tables of a structure to a kernel array by array costs a quarter of a microsecond each.
A frame holds them all on the compiled side; a running policy passes just the frame.
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
class FrameType(types.StructRef):  # type: ignore[misc]  # Numba is untyped
    """Numba's type of a frame: the types of its fields."""

    def preprocess_fields(self, fields: Any) -> Any:
        """Types of values, not of constants: a frame is filled at run time."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)

    @property
    def key(self) -> Any:
        """Frames are alike if their fields are; names would confuse two agents called the same."""
        return self._fields


class Frame(structref.StructRefProxy):  # type: ignore[misc]  # Numba is untyped
    """Python's hold on a frame; it keeps the arrays inside alive."""

    if TYPE_CHECKING:
        agent: Any
        memory: Memory
        block: np.ndarray
        clock: np.ndarray
        addresses: np.ndarray

        def __init__(self, *parts: Any) -> None: ...


structref.define_boxing(FrameType, Frame)
structref.define_constructor(Frame, FrameType, _FIELDS)
structref.define_attributes(FrameType)


@kernel
def bind(
    agent: Any, memory: Memory, block: np.ndarray, clock: np.ndarray, addresses: np.ndarray
) -> Frame:
    """Put a run into a frame; its arrays are shared, not copied."""
    return Frame(agent, memory, block, clock, addresses)
