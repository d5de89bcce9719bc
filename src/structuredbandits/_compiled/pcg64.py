"""NumPy's PCG64 inside kernels, kept in registers.

A borrowed generator is called through a pointer for every number, and around each call a loop has
to save its registers. A stream is four words that the loop keeps itself; its numbers are those of
``numpy.random.Generator``, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # ships no types
from numba import njit, types
from numba.extending import intrinsic
from numba.np.random._constants import (
    fi_double,
    ki_double,
    wi_double,
    ziggurat_nor_inv_r,
    ziggurat_nor_r,
)

from structuredbandits._compiled.cache import require_kernel_package
from structuredbandits._compiled.decorators import inline

_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_UNIT = 2.0**-53


class Stream(NamedTuple):
    """State and increment of the generator, 128 bits each."""

    high: int
    low: int
    step_high: int
    step_low: int


@inline
def open_stream(words: np.ndarray) -> Stream:
    """The stream at these words."""
    return Stream(words[0], words[1], words[2], words[3])


@inline
def keep_stream(stream: Stream, words: np.ndarray) -> None:
    """Save the stream, so that the next ``open_stream`` continues it."""
    words[0], words[1] = stream.high, stream.low


def _advance(typing_context: Any, high: Any, low: Any, step_high: Any, step_low: Any) -> Any:
    word = types.uint64
    signature = types.UniTuple(word, 3)(word, word, word, word)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        single, double = ir.IntType(64), ir.IntType(128)
        shift = ir.Constant(double, 64)

        def joined(high: Any, low: Any) -> Any:
            return builder.or_(
                builder.shl(builder.zext(high, double), shift), builder.zext(low, double)
            )

        product = builder.mul(joined(arguments[0], arguments[1]), ir.Constant(double, _MULTIPLIER))
        state = builder.add(product, joined(arguments[2], arguments[3]))
        high = builder.trunc(builder.lshr(state, shift), single)
        low = builder.trunc(state, single)
        # The output: both halves folded together, turned by the highest six bits.
        folded, turn = builder.xor(high, low), builder.lshr(high, ir.Constant(single, 58))
        back = builder.and_(builder.neg(turn), ir.Constant(single, 63))
        output = builder.or_(builder.lshr(folded, turn), builder.shl(folded, back))
        return context.make_tuple(builder, signature.return_type, (output, high, low))

    return signature, generate


#: (output, high, low) after one step.
_step: Any = intrinsic(_advance)


@inline
def _next_word(stream: Stream) -> tuple[int, Stream]:
    output, high, low = _step(stream.high, stream.low, stream.step_high, stream.step_low)
    return output, Stream(high, low, stream.step_high, stream.step_low)


@inline
def next_uniform(stream: Stream) -> tuple[float, Stream]:
    """A number from [0, 1), as ``Generator.random``."""
    word, stream = _next_word(stream)
    return (word >> np.uint64(11)) * _UNIT, stream


def _seldom(function: Callable[..., Any]) -> Any:
    """Compile a function that is not inlined, so that it takes no registers from the loop."""
    require_kernel_package(function)
    return njit(nogil=True, error_model="numpy")(function)


@inline
def next_normal(stream: Stream) -> tuple[float, Stream]:
    """A standard normal number, as ``Generator.standard_normal``.

    By the ziggurat of Marsaglia and Tsang (2000) with 256 layers: a word holds the layer, the sign
    and the place in it; one comparison accepts 99 of 100.
    """
    while True:
        word, stream = _next_word(stream)
        layer = np.int64(word & np.uint64(0xFF))
        place = word >> np.uint64(9) & np.uint64(0x000FFFFFFFFFFFFF)
        value = place * wi_double[layer]
        if word & np.uint64(0x100):
            value = -value
        if place < ki_double[layer]:
            return value, stream
        accepted, value, stream = _near_an_edge(layer, place, value, stream)
        if accepted:
            return value, stream


@_seldom
def _near_an_edge(
    layer: int, place: int, value: float, stream: Stream
) -> tuple[bool, float, Stream]:
    """Whether a place outside its layer's rectangle is below the density; the tail of layer 0."""
    if layer > 0:
        u, stream = next_uniform(stream)
        height = (fi_double[layer - 1] - fi_double[layer]) * u + fi_double[layer]
        return height < np.exp(-0.5 * value * value), value, stream
    while True:
        u, stream = next_uniform(stream)
        beyond = -ziggurat_nor_inv_r * np.log1p(-u)
        u, stream = next_uniform(stream)
        height = -np.log1p(-u)
        if height + height > beyond * beyond:
            value = ziggurat_nor_r + beyond
            if place >> np.uint64(8) & np.uint64(1):
                value = -value
            return True, value, stream
