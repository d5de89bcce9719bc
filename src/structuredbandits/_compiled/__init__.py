"""Compilation with Numba: decorators, the disk cache, and random numbers inside kernels."""

from structuredbandits._compiled.cache import cache_folder, kernel_digest
from structuredbandits._compiled.decorators import (
    by_type,
    called,
    inline,
    kernel,
    owned_by_library,
)
from structuredbandits._compiled.generators import addresses_of, borrow, first_words, new_generator
from structuredbandits._compiled.ownership import unowned
from structuredbandits._compiled.pcg64 import (
    Stream,
    keep_stream,
    next_normal,
    next_uniform,
    open_stream,
)

__all__ = [
    "Stream",
    "addresses_of",
    "borrow",
    "by_type",
    "cache_folder",
    "called",
    "first_words",
    "inline",
    "keep_stream",
    "kernel",
    "kernel_digest",
    "new_generator",
    "next_normal",
    "next_uniform",
    "open_stream",
    "owned_by_library",
    "unowned",
]
