"""The group-by of a log in a database: one Ibis query, on DuckDB, a warehouse or Spark alike.

This module knows Ibis. It must not know what is estimated from the cells.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from structuredbandits.errors import FileError, InvalidInput
from structuredbandits.learning.grouping import EXAMPLE, MOMENTS, NO_ROWS, SUMS, Columns, key_names
from structuredbandits.learning.logs import (
    MISSING_TEXTS,
    Files,
    check_columns,
    file_columns,
)
from structuredbandits.simulation.progress import Reporter

if TYPE_CHECKING:
    import pandas as pd

_Result = TypeVar("_Result")
_PERCENT = 100
_SECONDS_BETWEEN_LOOKS = 0.2


def has_duckdb() -> bool:
    """Tell whether Ibis and DuckDB are installed."""
    return find_spec("ibis") is not None and find_spec("duckdb") is not None


def require_ibis() -> None:
    """Refuse to go on without Ibis, and say how to get it."""
    if not has_duckdb():
        raise InvalidInput(
            "engine='ibis' needs Ibis and DuckDB; install them with "
            "pip install 'structuredbandits[learn]', or use engine='pandas'."
        )


def is_ibis_table(log: object) -> bool:
    """Tell whether a log is an Ibis table, without importing Ibis for other logs."""
    return type(log).__module__.split(".")[0] == "ibis" and hasattr(log, "group_by")


@contextmanager
def _quietly() -> Iterator[None]:
    """What Ibis must change for the next DuckDB or pandas is no concern of a user of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


def open_files(files: Files, columns: Sequence[str]) -> Any:
    """Return files as an Ibis table on a DuckDB of its own, which reads them when asked."""
    import ibis

    check_columns(columns, file_columns(files))
    with _quietly():
        connection = ibis.duckdb.connect(preserve_insertion_order=False)
        try:
            if files.kind == "parquet":
                return connection.read_parquet(list(files.paths))
            return connection.read_csv(
                list(files.paths), all_varchar=True, header=True, delim=files.delimiter, quote='"'
            )
        except Exception as error:  # DuckDB's errors have no base that can be imported cheaply
            raise FileError(f"{files.paths[0]} cannot be read: {_reason(error)}.") from error


def as_table(arrow: Any) -> Any:
    """Return an Arrow table as an Ibis table on a DuckDB of its own."""
    import ibis

    with _quietly():
        connection = ibis.duckdb.connect()
        connection.con.register("log", arrow)  # a view: nothing is copied
        return connection.table("log")


def group_table(table: Any, columns: Columns, reporter: Reporter) -> pd.DataFrame:
    """Return the raw table of cells of an Ibis table, by one query."""
    check_columns(columns.all, [str(name) for name in table.columns])
    with _quietly():
        query = _query(table, columns)
        found = _execute(query, reporter)
    raw: pd.DataFrame = found.select(key_names(columns)).to_pandas(integer_object_nulls=True)
    for name in SUMS:
        raw[name] = np.nan_to_num(_floats(found, name)).astype(np.int64)
    for name in MOMENTS:
        raw[name] = _floats(found, name)
    raw[EXAMPLE] = np.array(found[EXAMPLE].to_pylist(), dtype=object)
    empty = raw["used"].to_numpy() == 0
    raw.loc[empty, ["weight", "squared_weight", "mean", "deviations"]] = 0.0
    raw.loc[empty, "low"], raw.loc[empty, "high"] = np.inf, -np.inf
    if not len(raw):
        raise InvalidInput(NO_ROWS)
    return raw


def _floats(found: Any, name: str) -> np.ndarray:
    return np.asarray(found[name].cast("float64").to_pandas().to_numpy(dtype=float))


def _query(table: Any, columns: Columns) -> Any:
    """The group-by as an expression; nothing is computed here."""
    import ibis

    reward, missing, unreadable = _as_numbers(table[columns.reward])
    weight, no_weight, no_number = ibis.literal(1.0), ibis.literal(False), ibis.literal(False)
    if columns.weight is not None:
        weight, no_weight, no_number = _as_numbers(table[columns.weight])
    infinite = reward.isinf().fill_null(False)
    bad_weight = no_weight | no_number | (weight < 0.0) | weight.isinf()
    weightless = (weight == 0.0).fill_null(False)
    names = key_names(columns)
    # Only where there can be any: turning numbers into texts would take its time.
    text = table[columns.reward].type().is_string() or not table[columns.reward].type().is_numeric()
    rows = table.select(
        **{name: table[old] for name, old in zip(names, columns.keys, strict=True)},
        reward=reward,
        text=table[columns.reward].cast("string") if text else ibis.literal(None, type="string"),
        own_weight=weight,
        missing=missing,
        unreadable=unreadable,
        infinite=infinite,
        bad_weight=bad_weight.fill_null(True),
        weightless=weightless,
    )
    usable = ~(rows.missing | rows.unreadable | rows.infinite | rows.bad_weight | rows.weightless)
    rows = rows.mutate(usable=usable)
    cells = _cells(rows, names)
    if columns.weight is None:
        return cells
    return _with_deviations(rows, cells, names)


def _cells(rows: Any, names: Sequence[str]) -> Any:
    good = rows.usable
    weighted = rows.own_weight * rows.reward
    weight = rows.own_weight.sum(where=good)
    count = rows.count(where=good)
    return rows.group_by(list(names)).agg(
        rows=rows.count(),
        missing=rows.count(where=rows.missing),
        infinite=rows.count(where=rows.infinite),
        unreadable=rows.count(where=rows.unreadable),
        bad_weights=rows.count(where=rows.bad_weight),
        weightless=rows.count(where=rows.weightless),
        used=count,
        weight=weight,
        squared_weight=(rows.own_weight * rows.own_weight).sum(where=good),
        mean=weighted.sum(where=good) / weight,
        # Databases compute a variance without losing digits (Welford's way); with weights there
        # is no such function, and `_with_deviations` takes a second look at the rows.
        deviations=rows.reward.var(how="pop", where=good) * count,
        low=rows.reward.min(where=good),
        high=rows.reward.max(where=good),
        example=rows.text.max(where=rows.unreadable),
    )


def _with_deviations(rows: Any, cells: Any, names: Sequence[str]) -> Any:
    """Put Σ w (r − mean)² into the cells, each about the mean of its own cell."""
    used = rows.filter(rows.usable)
    means = cells.select(*names, cell_mean=cells.mean)
    joined = used.inner_join(means, list(names))
    distance = joined.reward - joined.cell_mean
    squares = joined.group_by(list(names)).agg(
        weighted=(joined.own_weight * distance * distance).sum()
    )
    whole = cells.drop("deviations").left_join(squares, list(names))
    moments = [moment for moment in MOMENTS if moment != "deviations"]
    chosen = whole.select(*names, *SUMS, *moments, EXAMPLE, "weighted")
    return chosen.rename(deviations="weighted")


def _as_numbers(column: Any) -> tuple[Any, Any, Any]:
    """Return a column as floats, where it is missing, and where it is no number."""
    import ibis

    if column.type().is_string():
        value = column.try_cast("float64")
        written = column.strip().lower()
        missing = (column.isnull() | written.isin(MISSING_TEXTS)).fill_null(True)
        missing = missing | value.isnan().fill_null(False)
        return value, missing, value.isnull() & ~missing
    kind = column.type()
    if not (kind.is_numeric() or kind.is_boolean()):
        return (
            ibis.literal(0.0),
            column.isnull(),
            column.notnull(),
        )
    value = column.cast("float64")
    missing = column.isnull() | value.isnan().fill_null(False)
    return value, missing, ibis.literal(False)


def _execute(query: Any, reporter: Reporter) -> Any:
    """Run a query; tell how far it is where the database knows."""
    connection = getattr(query.get_backend(), "con", None)
    try:
        if not hasattr(connection, "query_progress"):
            return query.to_pyarrow()
        return _watched(query.to_pyarrow, connection, reporter)
    except KeyboardInterrupt:
        raise
    except Exception as error:  # every database has its own errors
        raise FileError(f"the log cannot be read: {_reason(error)}.") from error


def _watched(work: Callable[[], _Result], connection: Any, reporter: Reporter) -> _Result:
    """Do DuckDB's work in a thread, while this one looks how far it is and can be interrupted."""
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # told to the caller below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    told = 0
    try:
        while thread.is_alive():
            thread.join(_SECONDS_BETWEEN_LOOKS)
            done = int(min(max(float(connection.query_progress()), 0.0), _PERCENT))
            if done > told:
                reporter.advance(done - told)
                told = done
    except KeyboardInterrupt:
        connection.interrupt()
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:300]
