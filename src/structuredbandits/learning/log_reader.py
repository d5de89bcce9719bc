"""Read logs from files, folders, DataFrames and Arrow tables, in pieces that fit into memory.

With DuckDB, `_ibis_grouping` reads the rows of files itself; the rest is found and checked here.
"""

from __future__ import annotations

import csv
import glob
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from structuredbandits.errors import FileError, InvalidInput, suggestion
from structuredbandits.learning._json_lines import field_names, read_pieces
from structuredbandits.structure import FloatArray

if TYPE_CHECKING:
    import pandas as pd

_PARQUET = (".parquet", ".parq", ".pq")
_TEXT = (".csv", ".tsv", ".txt")
_LINES = (".jsonl", ".ndjson")
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
_DELIMITERS = ",;\t|"
_BATCH_ROWS = 1 << 20
#: Text that stands for a missing number; elsewhere it is NULL or NaN.
MISSING_TEXTS = ("", "na", "n/a", "nan", "null", "none", "<na>")
#: Text that stands for a truth value, with its number.
TRUTHS = {"true": 1.0, "false": 0.0}

Kind = Literal["parquet", "csv", "jsonl"]
_BY_ENDING: dict[Kind, tuple[str, ...]] = {"parquet": _PARQUET, "csv": _TEXT, "jsonl": _LINES}
_NAMES: dict[Kind, str] = {"parquet": "Parquet", "csv": "CSV", "jsonl": "JSON lines"}


class Files(NamedTuple):
    """The files of one log, all in one format."""

    paths: tuple[str, ...]
    kind: Kind
    delimiter: str
    """The delimiter of CSV files; empty for others."""


def is_path(log: object) -> bool:
    """Return whether a log is given as a path, a pattern, or several paths."""
    several = isinstance(log, list | tuple) and len(log) > 0
    parts = log if several and isinstance(log, list | tuple) else [log]
    return all(isinstance(part, str | PathLike) for part in parts)


def find_files(log: object) -> Files:
    """Return the files of a path, a pattern such as "logs/*.parquet", or a folder."""
    parts = log if isinstance(log, list | tuple) else [log]
    paths = [path for part in parts for path in _expand(str(part))]
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        names = " and ".join(name for kind, name in _NAMES.items() if kind in kinds)
        raise FileError(
            f"{_name(log)} holds {names} files; give files of one format, for instance "
            "with a pattern such as 'folder/*.parquet'."
        )
    (kind,) = kinds
    return Files(tuple(paths), kind, _delimiter(paths[0]) if kind == "csv" else "")


def _expand(text: str) -> list[str]:
    path = Path(text)
    if path.is_dir():
        found = [
            str(inner)
            for inner in sorted(path.rglob("*"))
            if inner.is_file()
            and _has_log_extension(inner)
            and not any(part[0] in "._" for part in inner.relative_to(path).parts)
        ]
        if not found:
            raise FileError(
                f"the folder {text} holds no Parquet, CSV or JSON-lines file; give another."
            )
        return found
    if path.is_file():
        return [text]
    found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # a pattern may be absolute
    if not found:
        raise FileError(f"there is no file {text!r}; give a file, a folder or a pattern.")
    return [inner for item in found for inner in _expand(item)]


def _endings(path: Path) -> str:
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name


def _has_log_extension(path: Path) -> bool:
    return _endings(path).endswith(_PARQUET + _TEXT + _LINES)


def _kind(path: str) -> Kind:
    for kind, endings in _BY_ENDING.items():
        if _endings(Path(path)).endswith(endings):
            return kind
    start = _start(path, 1 << 10)
    if start.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else "csv"


def _start(path: str, size: int) -> bytes:
    import pyarrow as pa

    try:
        with pa.input_stream(path) as stream:  # decompresses by the file name extension
            return bytes(stream.read(size))
    except (OSError, pa.ArrowException) as error:
        raise FileError(f"{path} cannot be read: {_one_line(error)}.") from error


def _first_line(path: str) -> str:
    start = _start(path, 1 << 16)
    if not start.strip():
        raise FileError(f"{path} is empty; give a file with a line of column names and rows.")
    try:
        text = start.decode("utf-8-sig", errors="strict" if len(start) < 1 << 16 else "ignore")
    except UnicodeDecodeError:
        raise FileError(
            f"{path} is neither Parquet nor text in UTF-8; convert it to one of them."
        ) from None
    return text.splitlines()[0]


def _delimiter(path: str) -> str:
    """Return the separator that is most frequent in the line of column names."""
    line = _first_line(path)
    return max(_DELIMITERS, key=line.count)


def _header(path: str, delimiter: str) -> list[str]:
    return next(csv.reader([_first_line(path)], delimiter=delimiter))


def file_columns(files: Files) -> list[str]:
    """Return the names of the columns of a log in files."""
    if files.kind == "csv":
        return _header(files.paths[0], files.delimiter)
    if files.kind == "jsonl":
        return field_names(files.paths[0])
    return list(_dataset(files).schema.names)


def check_columns(wanted: Iterable[str], present: Sequence[str]) -> None:
    """Raise if the log lacks a column."""
    for name in wanted:
        if name not in present:
            raise InvalidInput(
                f"the log has no column {name!r}; {suggestion(name, present, limit=12)}"
            )


def _dataset(files: Files, columns: Sequence[str] = ()) -> Any:
    """Return an Arrow dataset; CSV is read as text throughout, so that "007" stays unchanged."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import dataset

    kind: Any = files.kind
    if files.kind == "csv":
        kind = dataset.CsvFileFormat(
            parse_options=arrow_csv.ParseOptions(
                delimiter=files.delimiter, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in columns},
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    try:
        found = dataset.dataset(list(files.paths), format=kind, partitioning="hive")
        texts = [
            name
            for name in columns
            if found.schema.field(name).type in (pa.string(), pa.large_string())
        ]
        if files.kind == "csv" or not texts:
            return found
        # Reading text dictionary-encoded, as Parquet stores it, is faster.
        read = dataset.ParquetReadOptions(dictionary_columns=texts)
        kind = dataset.ParquetFileFormat(read_options=read)
        return dataset.dataset(list(files.paths), format=kind, partitioning="hive")
    except (OSError, pa.ArrowException) as error:
        raise FileError(f"{_name(files.paths)} cannot be read: {_one_line(error)}.") from error


class LogStream(NamedTuple):
    """A log in pieces."""

    frames: Iterator[pd.DataFrame]
    """The wanted columns, some rows at a time."""
    total: int
    """The number of rows; 0 if it is known only after reading."""


def stream(log: Any, columns: Sequence[str]) -> LogStream:
    """Return the wanted columns of a log as DataFrames of at most about a million rows."""
    import pandas as pd

    if is_path(log):
        files = find_files(log)
        check_columns(columns, file_columns(files))
        if files.kind == "jsonl":
            return LogStream(read_pieces(files.paths, columns), 0)
        source = _dataset(files, columns)
        total = source.count_rows() if files.kind == "parquet" else 0
        return LogStream(_batches(source, columns, _name(log)), total)
    if isinstance(log, pd.DataFrame):
        check_columns(columns, [str(name) for name in log.columns])
        _check_repeated(log, columns)
        return LogStream(iter([log[list(columns)]]), len(log))
    table = as_arrow(log)
    if table is None:
        raise InvalidInput(
            f"a log of type {type(log).__name__} cannot be read; give a path, a DataFrame, an "
            "Arrow table or an Ibis table."
        )
    check_columns(columns, table.column_names)
    return LogStream(_table_batches(table, columns), table.num_rows)


def _check_repeated(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    for name in columns:
        if list(frame.columns).count(name) > 1:
            raise InvalidInput(f"the log has two columns {name!r}; rename one of them.")


def as_arrow(log: Any) -> Any:
    """Return an Arrow table or record batch as a table, anything else as None."""
    import pyarrow as pa

    if isinstance(log, pa.RecordBatch):
        return pa.Table.from_batches([log])
    if isinstance(log, pa.RecordBatchReader):
        return log.read_all()
    return log if isinstance(log, pa.Table) else None


def _table_batches(table: Any, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    for batch in table.select(list(columns)).to_batches(max_chunksize=_BATCH_ROWS):
        yield _frame(batch)


def _batches(source: Any, columns: Sequence[str], name: str) -> Iterator[pd.DataFrame]:
    import pyarrow as pa

    try:
        # Little is read ahead, to save memory.
        for batch in source.to_batches(
            columns=list(columns), batch_size=_BATCH_ROWS, batch_readahead=1, fragment_readahead=1
        ):
            if batch.num_rows:
                yield _frame(batch)
    except (OSError, pa.ArrowException) as error:
        raise FileError(f"{name} cannot be read: {_one_line(error)}.") from error


def _frame(batch: Any) -> pd.DataFrame:
    # Integers stay integers beside missing values: a label must not turn from 25 into 25.0.
    frame: pd.DataFrame = batch.to_pandas(integer_object_nulls=True)
    return frame


def read_frame(log: Any, columns: Sequence[str], optional: Sequence[str] = ()) -> pd.DataFrame:
    """Return the wanted columns of a whole log, and the optional columns that it has."""
    import pandas as pd

    present = column_names(log)
    wanted = [*columns, *(name for name in optional if name in present)]
    check_columns(columns, present)
    if not is_path(log) and not isinstance(log, pd.DataFrame) and as_arrow(log) is None:
        log = log.select(*wanted).to_pyarrow()  # an Ibis table
    frames = list(stream(log, wanted).frames)
    if not frames:
        return pd.DataFrame({name: [] for name in wanted})
    return pd.concat(frames, ignore_index=True)


def column_names(log: Any) -> list[str]:
    """Return the names of the columns of any log."""
    if is_path(log):
        return file_columns(find_files(log))
    for attribute in ("column_names", "columns"):
        names = getattr(log, attribute, None)
        if names is not None and not callable(names):
            return [str(name) for name in names]
    if hasattr(log, "schema"):
        return [str(name) for name in log.schema.names]
    raise InvalidInput(
        f"a log of type {type(log).__name__} cannot be read; give a path, a DataFrame, an Arrow "
        "table or an Ibis table."
    )


class Numbers(NamedTuple):
    """A column read as numbers."""

    values: FloatArray
    """(rows,): NaN where there is no number."""
    missing: np.ndarray
    """(rows,) bool: where the value is missing or NaN."""
    unreadable: np.ndarray
    """(rows,) bool: where the value is not a number."""


def read_numbers(column: pd.Series[Any]) -> Numbers:
    """Read a column as numbers; text is converted, and "True" and "False" are 1 and 0.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers = read_numbers(pd.Series(["4", " 2.5", "NA", "good", None]))
    >>> numbers.values[:2], numbers.missing.tolist(), numbers.unreadable.tolist()
    (array([4. , 2.5]), [False, False, True, False, True], [False, False, False, True, False])
    """
    import pandas as pd

    absent = column.isna().to_numpy(dtype=bool)
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        return Numbers(values, np.isnan(values), np.zeros(len(column), dtype=bool))
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return Numbers(np.full(len(column), np.nan), absent, ~absent)
    values = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=float)
    text = column.astype(str).str.strip().str.lower()
    missing = absent | text.isin(MISSING_TEXTS).to_numpy(dtype=bool)
    truths = text.isin(TRUTHS).to_numpy(dtype=bool)
    values = np.where(truths, (text == "true").to_numpy(dtype=float), values)
    return Numbers(values, missing, np.isnan(values) & ~missing)


def _name(log: object) -> str:
    parts = list(log) if isinstance(log, list | tuple) else [log]
    return str(parts[0]) + (f" and {len(parts) - 1} more" if len(parts) > 1 else "")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:300]
