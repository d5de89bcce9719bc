"""Logs with one JSON object per line, such as a service exports, compressed or not.

A value keeps its JSON type: "007" is text and 7 a number.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from structuredbandits.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

_ROWS_AT_ONCE = 1 << 17
# A field may be missing in some objects, but hardly in all of the first ones.
_INSPECTED = 1_000


def field_names(path: str) -> list[str]:
    """Return the fields of the first objects of a file, in the order in which they appear."""
    found: dict[str, None] = {}
    for row in itertools.islice(_objects(path), _INSPECTED):
        found |= dict.fromkeys(row)
    if not found:
        raise FileError(f"{path} is empty; give a file with one JSON object per line.")
    return list(found)


def read_pieces(paths: Sequence[str], columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the wanted fields of all objects in pieces; None where a field is missing."""
    import pandas as pd

    rows = ([row.get(name) for name in columns] for path in paths for row in _objects(path))
    while piece := list(itertools.islice(rows, _ROWS_AT_ONCE)):
        # As objects: a whole number beside a missing one stays whole.
        yield pd.DataFrame(piece, columns=list(columns), dtype=object)


def _objects(path: str) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    try:
        with pa.input_stream(path) as stream:  # decompresses by the file name extension
            # Bytes are split at line feeds only; text would also be split at U+2028.
            for number, line in enumerate(io.BufferedReader(stream), 1):
                if line.strip():
                    yield _object(line, f"line {number:,} of {path}")
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")[:300]
        raise FileError(f"{path} cannot be read: {reason}.") from error


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{where} is not JSON ({error}); give one object per line, in UTF-8."
        ) from None
    if not isinstance(found, dict):
        raise FileError(f"{where} is not a JSON object; give one object per line.")
    return found
