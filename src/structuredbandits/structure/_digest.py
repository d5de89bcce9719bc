"""The contents of a structure as plain data, and a digest of them.

Both structure files and the equality of structures use these contents.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from structuredbandits.structure.parameters import FloatArray

if TYPE_CHECKING:
    from structuredbandits.structure.structure import Structure


class Contents(NamedTuple):
    """A header of plain JSON values, and named arrays."""

    header: dict[str, Any]
    arrays: dict[str, FloatArray]

    @property
    def header_bytes(self) -> bytes:
        """The header as canonical JSON."""
        text = json.dumps(self.header, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return text.encode("ascii")


def contents_of(structure: Structure) -> Contents:
    """Return the contents of a structure, without its name and its functions.

    Functions can be neither compared nor stored; their values on the grid stand for them.
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
    if structure.rewards.limited:  # only then, so that digests of Gaussian structures stay
        rewards = structure.rewards
        header["rewards"] = {
            "family": rewards.name,
            "limits": [list(pair) for pair in zip(rewards.low, rewards.high, strict=True)],
        }
    if structure.length is not None:
        header["length"] = structure.length
    arrays = {"sigma": structure.sigma, "lower": structure.lower}
    if not structure.exact:
        arrays["upper"] = structure.upper
    optional = {
        "prior": structure.prior,
        "counts": structure.counts,
        "standard_errors": structure.standard_errors,
        "features": structure.features,
        "noise": structure.noise,
    }
    arrays.update({name: array for name, array in optional.items() if array is not None})
    return Contents(header, arrays)


def digest_of(contents: Contents) -> str:
    """Return 16 hexadecimal digits that change whenever the contents change."""
    total = sha256(contents.header_bytes)
    for name in sorted(contents.arrays):
        array = contents.arrays[name]
        total.update(f"|{name}{array.shape}|".encode("ascii"))
        total.update(array.astype("<f8", copy=False).tobytes())
    return total.hexdigest()[:16]
