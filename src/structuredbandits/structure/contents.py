"""Everything that matters about a structure as plain data, and a digest of it.

What a file holds and what makes two structures equal is decided here once. This module must not
know paths or file formats.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from structuredbandits.structure.theta import FloatArray

if TYPE_CHECKING:
    from structuredbandits.structure.knowledge import Knowledge


class Contents(NamedTuple):
    """A header of plain JSON values, and named arrays."""

    header: dict[str, Any]
    arrays: dict[str, FloatArray]

    @property
    def header_bytes(self) -> bytes:
        """The header in the one way in which it is written."""
        text = json.dumps(self.header, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return text.encode("ascii")


def contents_of(structure: Knowledge) -> Contents:
    """Return what makes a structure what it is; its name is not part of it, nor are functions.

    Functions cannot be compared or stored; their values on the grid are.
    """
    pieces = structure.pieces
    header: dict[str, Any] = {
        "arms": list(structure.arms),
        "minimize": structure.minimize,
        "parameters": structure.parameters.describe(),
        "link": structure.link,
        "pieces": None
        if pieces is None
        else [[list(pair) for pair in piece.breakpoints] for piece in pieces],
    }
    arrays = {"sigma": structure.sigma, "lower": structure.lower}
    if not structure.exact:
        arrays["upper"] = structure.upper
    optional = {
        "prior": structure.prior,
        "counts": structure.counts,
        "standard_errors": structure.standard_errors,
        "features": structure.features,
    }
    arrays.update({name: array for name, array in optional.items() if array is not None})
    return Contents(header, arrays)


def digest_of(contents: Contents) -> str:
    """Return 16 hexadecimal digits that change when anything in the contents does."""
    total = sha256(contents.header_bytes)
    for name in sorted(contents.arrays):
        array = contents.arrays[name]
        total.update(f"|{name}{array.shape}|".encode("ascii"))
        total.update(array.astype("<f8", copy=False).tobytes())
    return total.hexdigest()[:16]
