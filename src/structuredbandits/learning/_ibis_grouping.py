"""The group-by of a log in a database: one Ibis query, for DuckDB, a warehouse or Spark."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from structuredbandits.errors import FileError, InvalidInput
from structuredbandits.learning._pandas_grouping import (
    EXAMPLE,
    MOMENTS,
    NO_ROWS,
    ROUNDING,
    SUMS,
    Columns,
    key_names,
)
from structuredbandits.learning.log_reader import (
    MISSING_TEXTS,
    TRUTHS,
    Files,
    check_columns,
    file_columns,
)
from structuredbandits.progress import Reporter

if TYPE_CHECKING:
    import pandas as pd

_Result = TypeVar("_Result")
_PERCENT = 100
_SECONDS_BETWEEN_CHECKS = 0.2


def has_duckdb() -> bool:
    """Return whether Ibis and DuckDB are installed."""
    return find_spec("ibis") is not None and find_spec("duckdb") is not None


def require_ibis() -> None:
    """Raise without Ibis, and say how to install it."""
    if not has_duckdb():
        raise InvalidInput(
            "engine='ibis' needs Ibis and DuckDB; install them with "
            "pip install 'structuredbandits[learn]', or use engine='pandas'."
        )


def is_ibis_table(log: object) -> bool:
    """Return whether a log is an Ibis table, without importing Ibis for other logs."""
    return type(log).__module__.split(".")[0] == "ibis" and hasattr(log, "group_by")


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence deprecation warnings that Ibis raises for its own dependencies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


def open_files(files: Files, columns: Sequence[str]) -> Any:
    """Return files as an Ibis table on its own DuckDB connection; they are read on execution."""
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
    """Return an Arrow table as an Ibis table on its own DuckDB connection."""
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
    raw.loc[empty, ["weight", "squared_weight", "mean", "deviations", "share"]] = 0.0
    raw.loc[empty, "low"], raw.loc[empty, "high"] = np.inf, -np.inf
    if not len(raw):
        raise InvalidInput(NO_ROWS)
    return raw


def _floats(found: Any, name: str) -> np.ndarray:
    return np.asarray(found[name].cast("float64").to_pandas().to_numpy(dtype=float))


def _query(table: Any, columns: Columns) -> Any:
    """Return the group-by as an expression; nothing is computed here."""
    import ibis

    reward, missing, unreadable = _as_numbers(table[columns.reward])
    weight, no_weight, no_number = ibis.literal(1.0), ibis.literal(False), ibis.literal(False)
    if columns.weight is not None:
        weight, no_weight, no_number = _as_numbers(table[columns.weight])
    share, chance = weight, ibis.literal(1.0)
    if columns.probability is not None:
        chance, unknown, no_chance = _as_numbers(table[columns.probability])
        chance = ibis.ifelse(unknown | no_chance, -1.0, chance)
        weight = weight / ibis.ifelse(chance > 0.0, ibis.least(chance, 1.0), 1.0)
    infinite = reward.isinf().fill_null(False)
    bad_weight = no_weight | no_number | (weight < 0.0) | weight.isinf()
    weightless = (weight == 0.0).fill_null(False)
    names = key_names(columns)
    # Only where text can occur, since converting numbers to text is slow.
    text = table[columns.reward].type().is_string() or not table[columns.reward].type().is_numeric()
    rows = table.select(
        **{name: table[old] for name, old in zip(names, columns.keys, strict=True)},
        reward=reward,
        text=table[columns.reward].cast("string") if text else ibis.literal(None, type="string"),
        own_weight=weight,
        share=share,
        chance=chance,
        missing=missing,
        unreadable=unreadable,
        infinite=infinite,
        bad_weight=bad_weight.fill_null(True),
        weightless=weightless,
    )
    usable = ~(rows.missing | rows.unreadable | rows.infinite | rows.bad_weight | rows.weightless)
    rows = rows.mutate(usable=usable)
    cells = _cells(rows, names)
    if columns.weight is None and columns.probability is None:
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
        bad_probabilities=rows.count(
            where=good & ((rows.chance < 0.0) | (rows.chance > 1.0 + ROUNDING))
        ),
        impossible=rows.count(where=good & (rows.chance == 0.0)),
        random=rows.count(where=good & (rows.chance > 0.0) & (rows.chance < 1.0)),
        fractional=rows.count(where=good & (rows.reward % 1.0 != 0.0)),
        weight=weight,
        share=rows.share.sum(where=good),
        squared_weight=(rows.own_weight * rows.own_weight).sum(where=good),
        mean=weighted.sum(where=good) / weight,
        # Databases compute an unweighted variance without losing digits (Welford's algorithm).
        # With weights, `_with_deviations` reads the rows a second time.
        deviations=rows.reward.var(how="pop", where=good) * count,
        low=rows.reward.min(where=good),
        high=rows.reward.max(where=good),
        example=rows.text.max(where=rows.unreadable),
    )


def _with_deviations(rows: Any, cells: Any, names: Sequence[str]) -> Any:
    """Put Σ w (r − mean)² into the cells, with the mean of each cell."""
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
    """Return a column as floats, where it is missing, and where it is not a number."""
    import ibis

    if column.type().is_string():
        written = column.strip().lower()
        value = column.try_cast("float64")
        for text, number in TRUTHS.items():
            value = ibis.ifelse(written == text, number, value)
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
    """Run a query, and report its progress where the database supports it."""
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
    """Run a DuckDB query in a thread; this thread polls its progress and can be interrupted."""
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised to the caller below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    reported = 0
    try:
        while thread.is_alive():
            thread.join(_SECONDS_BETWEEN_CHECKS)
            done = int(min(max(float(connection.query_progress()), 0.0), _PERCENT))
            if done > reported:
                reporter.advance(done - reported)
                reported = done
    except KeyboardInterrupt:
        connection.interrupt()
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:300]
