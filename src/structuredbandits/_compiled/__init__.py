"""How compiled code is made and stored: the decorators, the disk cache and generators for kernels.

This room knows Numba and nothing else of the library: no structure, no policy, no environment.
"""

from structuredbandits._compiled.cache import cache_folder, kernel_digest
from structuredbandits._compiled.decorators import by_type, inline, kernel, owned_by_library
from structuredbandits._compiled.generators import addresses_of, borrow, new_generator
from structuredbandits._compiled.ownership import unowned
from structuredbandits._compiled.pcg64 import (
    Stream,
    first_words,
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
