"""The results of a sweep: all files as one table, and a summary per configuration."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structuredbandits.errors import DamagedFile
from structuredbandits.simulation.sweeps._parquet_schema import KEYS
from structuredbandits.simulation.sweeps._sweep_folder import Folder

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class SweepResults:
    """The results of a sweep, in its folder.

    Attributes
    ----------
    folder
        Where the files are; `pandas.read_parquet(folder / "results")` reads them as well.
    manifest
        Settings, versions, machine and state, as stored.
    """

    folder: Path
    manifest: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Whether every piece is complete."""
        return bool(self.manifest["state"] == "complete")

    @property
    def failed(self) -> dict[str, str]:
        """The pieces that failed in the last call, and why."""
        return dict(self.manifest.get("failed", {}))

    @property
    def has_files(self) -> bool:
        """Whether any piece is complete."""
        return bool(Folder(self.folder).files())

    def to_frame(self) -> pd.DataFrame:
        """All results as flat rows: cell, problem, policy, theta, horizon, seed, run, round, ...

        `cell` is the number of the configuration. `regret` and `reward` are sums up to the round;
        `pulls` (one number per arm) and `empty_rounds` are given at the horizon only. θ is text,
        since problems have θ of different types.
        """
        return _read(Folder(self.folder).files()).to_pandas()  # type: ignore[no-any-return]  # Arrow's

    def summary(self) -> pd.DataFrame:
        """One row per configuration: runs, mean regret at the horizon, standard error, and more."""
        columns = [*KEYS, "round", "regret", "reward", "empty_rounds"]
        frame = _read(Folder(self.folder).files(), columns).to_pandas()
        final = frame[frame["round"] == frame["horizon"]]
        groups = final.groupby(KEYS, sort=True)
        table: pd.DataFrame = groups["regret"].agg(
            runs="count", regret="mean", standard_error="sem", median="median", worst="max"
        )
        table["reward"] = groups["reward"].mean()
        table["empty_rounds"] = groups["empty_rounds"].mean()
        return table.reset_index()

    def arms(self, cell: int) -> tuple[str, ...]:
        """The names of the arms of configuration number ``cell``, in the order of `pulls`."""
        import pyarrow.parquet as pq

        name = self.manifest["plan"]["cells"][cell]["folder"]
        for path in Folder(self.folder).files():
            if path.parent.name == name:
                (about,) = pq.read_schema(path).metadata.values()
                return tuple(json.loads(about)["arms"])
        return ()

    def __repr__(self) -> str:
        files = Folder(self.folder).files()
        runs = sum(int(end) - int(first) for first, end in (p.stem.split("-") for p in files))
        configurations = len(self.manifest["plan"]["cells"])
        state = self.manifest["state"]
        return f"<SweepResults: {configurations} configurations, {runs:,} runs, {state}>"


def load_sweep(folder: str | PathLike[str]) -> SweepResults:
    """The results in the folder of a sweep, which may be incomplete."""
    place = Folder(Path(folder))
    return SweepResults(place.path, place.read_manifest())


def final_regrets(folder: Path, total: int) -> list[float]:
    """The regrets at the horizon of the first ``total`` runs of a configuration, in order."""
    import pyarrow.compute as pc

    paths = [p for p in sorted(folder.glob("*.parquet")) if int(p.stem.split("-")[1]) <= total]
    table = _read(paths, ["round", "horizon", "regret"])
    final = table.filter(pc.equal(table["round"], table["horizon"]))
    return [float(value) for value in final["regret"].to_pylist()]


def _read(paths: list[Path], columns: list[str] | None = None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not paths:
        raise DamagedFile("there are no results yet; run the sweep again.")
    tables = []
    for path in paths:
        try:
            # One file at a time: read as a dataset, a folder's name could become a column.
            table = pq.ParquetFile(path).read(columns)
        except (OSError, ValueError, pa.ArrowException):
            raise DamagedFile(
                f"{path} is damaged; remove it and run the sweep again, which recomputes it."
            ) from None
        tables.append(table.replace_schema_metadata(None))
    return pa.concat_tables(tables)
