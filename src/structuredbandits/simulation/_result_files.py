"""Files of results: Parquet or CSV, written atomically and checked when they are read."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from structuredbandits._atomic_write import write_atomically
from structuredbandits.errors import DamagedFile, FileError, InvalidInput, WrongVersion
from structuredbandits.structure.parameters import brief

if TYPE_CHECKING:
    import pyarrow as pa

    from structuredbandits.simulation._results import Results

FORMAT = "structuredbandits.results"
VERSION = 1
_COLUMNS = ("regret", "reward", "empty_rounds", "pulls")


def write_results(results: Results, path: str | PathLike[str]) -> None:
    """Write results to a .parquet or .csv file; an older file is replaced at the end.

    Raises
    ------
    InvalidInput
        If the name has another ending.
    FileError
        If the file cannot be written.
    """
    target = _path(path, "the name of a file; give one that ends in .parquet or .csv")
    if target.suffix == ".csv":
        data = results.to_frame().to_csv(index=False).encode()
    elif target.suffix == ".parquet":
        data = parquet_bytes(_table(results))
    else:
        raise InvalidInput(
            f"{target.name!r} is not the name of a results file; end it in .parquet or .csv."
        )
    try:
        write_atomically(target, data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{target} cannot be written: {reason}; choose another folder.") from error


def _path(path: object, wanted: str) -> Path:
    if not isinstance(path, str | PathLike) or "\0" in str(path) or not Path(path).name:
        raise InvalidInput(f"{brief(path)} is not {wanted}.")
    return Path(path)


def _table(results: Results) -> pa.Table:
    """One row per run and checkpoint; pulls and empty rounds are in the row of the horizon."""
    import pyarrow as pa

    n_rows, n_marks, n_arms = results.regret.size, results.rounds.size, len(results.arms)
    last = np.arange(n_rows) % n_marks == n_marks - 1
    empty = np.zeros(n_rows, dtype=np.int64)
    empty[last] = results.empty_rounds.ravel()
    ends = np.concatenate([[0], np.cumsum(last) * n_arms])
    pulls = pa.array(results.pulls.ravel())
    table = pa.Table.from_pandas(results.to_frame(), preserve_index=False)
    table = table.append_column("empty_rounds", pa.array(empty, mask=~last))
    table = table.append_column(
        "pulls", pa.LargeListArray.from_arrays(pa.array(ends), pulls, mask=pa.array(~last))
    )
    about = {
        "format": FORMAT,
        "version": VERSION,
        "policies": results.policies,
        "thetas": results.thetas,
        "arms": results.arms,
        "rounds": results.rounds.tolist(),
        "runs": results.runs,
        "seed": results.seed,
        "problem": results.problem,
    }
    return table.replace_schema_metadata({FORMAT: json.dumps(about)})


def read_results(path: str | PathLike[str]) -> dict[str, Any]:
    """The content of a .parquet file of results, by the names of `Results`.

    Raises
    ------
    FileError
        If the file does not exist or cannot be read.
    DamagedFile
        If it does not contain complete results.
    WrongVersion
        If another version of the library wrote it in a format that this one does not read.
    """
    source = _path(path, "the path of a file; give one that Results.save wrote")
    try:
        data = source.read_bytes()
    except OSError as error:
        raise FileError(f"{source} cannot be read: {error.strerror}.") from error
    try:
        return _contents(data, source)
    except FileError:
        raise
    # A damaged file can raise almost anything; all of it means the same.
    except Exception as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        _refuse(source, why or type(error).__name__, error)


def _contents(data: bytes, source: Path) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(data))
    about = json.loads((file.schema_arrow.metadata or {})[FORMAT.encode()])
    if about["version"] != VERSION:
        raise WrongVersion(
            f"{source} has version {about['version']!r}, this library reads {VERSION}; use the "
            "version that wrote it."
        )
    table = file.read(list(_COLUMNS))
    thetas = tuple(tuple(theta) if isinstance(theta, list) else theta for theta in about["thetas"])
    runs = (len(about["policies"]), len(thetas), about["runs"])
    marks, arms = len(about["rounds"]), len(about["arms"])
    pulls = table["pulls"].combine_chunks().drop_null().flatten()
    return {
        "policies": tuple(about["policies"]),
        "thetas": thetas,
        "arms": tuple(about["arms"]),
        "rounds": np.array(about["rounds"], dtype=np.int64),
        "regret": _numbers(table["regret"]).reshape(*runs, marks),
        "reward": _numbers(table["reward"]).reshape(*runs, marks),
        "pulls": _numbers(pulls).reshape(*runs, arms),
        "empty_rounds": _numbers(table["empty_rounds"].drop_null()).reshape(runs),
        "seed": int(about["seed"]),
        "problem": about["problem"],
    }


def _numbers(column: Any) -> np.ndarray:
    if column.null_count:
        raise ValueError("numbers are missing")
    # A copy, since arrays that Arrow returns are read-only.
    return np.array(column.to_numpy())


def _refuse(source: Path, why: str, error: Exception) -> NoReturn:
    reason = " ".join(why.split()).rstrip(".")
    raise DamagedFile(
        f"{source} does not contain complete results of a simulation ({reason}); save them again "
        "to a .parquet file."
    ) from error


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as the bytes of a Parquet file; equal tables give equal bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())
