"""Finds segment columns that look like identifiers or timestamps, in the first rows of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.learning._ibis_grouping import is_ibis_table
from structuredbandits.learning.log_reader import stream

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 20_000
_FEWEST = 200  # different values below which a column can always be a segment
# Different values per row, and the share of the values in the second half that the first has not.
_DENSE, _NEW = 0.08, 0.5
# Seconds and milliseconds since 1970, from 2001 to 2065.
_SECONDS, _MILLISECONDS = (1e9, 3e9), (1e12, 3e12)
_DATE = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}"


def doubtful_segments(log: Any, segments: Sequence[str]) -> list[str]:
    """Say which columns look like an ID or a timestamp, from the first rows of a log.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"user": range(1000), "age": [20, 30] * 500})
    >>> [line[:30] for line in doubtful_segments(log, ["user", "age"])]
    ["Column 'user' looks like an ID"]
    """
    names = list(dict.fromkeys(segments))
    try:
        frame = _first_rows(log, names)
    except (StructuredBanditsError, OSError, StopIteration):
        return []  # reading the whole log says what is wrong
    found = []
    for name in names:
        column = frame[name].dropna()
        kind = _kind(column)
        if kind is not None:
            number = column.astype(str).nunique()
            found.append(
                f"Column {name!r} looks like {kind} ({number:,} different values in the first "
                f"{len(column):,} rows); use columns that many visitors share, such as age."
            )
    return found


def _first_rows(log: Any, segments: Sequence[str]) -> pd.DataFrame:
    if is_ibis_table(log):
        frame: pd.DataFrame = log.select(*segments).limit(_ROWS).execute()
        return frame
    return next(iter(stream(log, list(segments)).frames)).head(_ROWS)


def _kind(column: pd.Series[Any]) -> str | None:
    values = column.astype(str)  # lists, which no segment can be, are refused later
    number = values.nunique()
    if number < _FEWEST:
        return None
    if _is_time(column, values):
        return "a timestamp"
    half = len(values) // 2
    first, second = set(values.iloc[:half]), set(values.iloc[half:])
    new = len(second - first) / max(len(second), 1)
    return "an ID" if number > _DENSE * len(values) or new > _NEW else None


def _is_time(column: pd.Series[Any], values: pd.Series[Any]) -> bool:
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column) or values.str.match(_DATE).mean() > 0.9:
        return True
    numbers = np.asarray(pd.to_numeric(values, errors="coerce"), dtype=float)
    return any(
        np.mean((numbers >= low) & (numbers < high)) > 0.9
        for low, high in (_SECONDS, _MILLISECONDS)
    )
