"""NumPy generators inside kernels, without the cost of passing one.

Passing a ``numpy.random.Generator`` to a compiled function costs microseconds per call, since Numba
unpacks it each time. Four addresses are enough: the state, and the three functions that draw from
it. ``borrow`` turns them back into a generator inside compiled code. The Python object must stay
alive; it remains the owner, so its ``bit_generator.state`` is always current.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from structuredbandits._compiled.decorators import inline
from structuredbandits.errors import InvalidInput

_GENERATOR = types.NumPyRandomGeneratorType("rng")
_BIT_GENERATOR = types.NumPyRandomBitGeneratorType("bit_generator")


def new_generator(seed: int | np.random.SeedSequence | None) -> np.random.Generator:
    """A PCG64 generator, the one bit generator of this library."""
    try:
        return np.random.Generator(np.random.PCG64(seed))
    except (TypeError, ValueError):
        raise InvalidInput(
            f"the seed is {seed!r}; give a whole number of at least 0, or None for a random one."
        ) from None


def first_words(seed: np.random.SeedSequence) -> np.ndarray:
    """The state of ``PCG64(seed)`` before its first draw, for ``open_stream``: (4,) uint64.

    Examples
    --------
    >>> first_words(np.random.SeedSequence(7)).dtype
    dtype('uint64')
    """
    start = np.random.PCG64(seed).state["state"]
    words = [half for name in ("state", "inc") for half in divmod(start[name], 1 << 64)]
    return np.array(words, dtype=np.uint64)


_pointer_of: Any = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def addresses_of(generator: np.random.Generator) -> np.ndarray:
    """Addresses that ``borrow`` needs: (4,) uint64.

    They are the first four words of what NumPy offers to C programs (``bitgen_t``): its capsule is
    ten times quicker to ask than ``bit_generator.ctypes``, which many short runs would feel.

    Examples
    --------
    >>> addresses_of(new_generator(7)).shape
    (4,)
    """
    address = _pointer_of(generator.bit_generator.capsule, b"BitGenerator")
    return np.array((ctypes.c_uint64 * 4).from_address(address))


def _generator(typing_context: Any, addresses: Any) -> Any:
    signature = _GENERATOR(types.UniTuple(types.uint64, 4))

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        state, next_uint64, next_uint32, next_double = (
            builder.extract_value(arguments[0], i) for i in range(4)
        )
        bits = cgutils.create_struct_proxy(_BIT_GENERATOR)(context, builder)
        bits.state_address = state
        bits.state = state
        bits.fnptr_next_uint64 = next_uint64
        bits.fnptr_next_uint32 = next_uint32
        bits.fnptr_next_double = next_double
        generator = cgutils.create_struct_proxy(_GENERATOR)(context, builder)
        generator.bit_generator = bits._getvalue()
        return generator._getvalue()

    return signature, generate


_generator_at: Any = intrinsic(_generator)


@inline
def borrow(addresses: np.ndarray) -> Any:
    """The generator at these addresses, for use in compiled code only."""
    return _generator_at((addresses[0], addresses[1], addresses[2], addresses[3]))
