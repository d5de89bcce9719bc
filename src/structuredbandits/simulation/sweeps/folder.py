"""The folder of a sweep: one Parquet file a piece, a manifest, and nothing half-written.

::

    out/
      manifest.json                              settings, versions, machine, what failed
      results/00003_three-arms_ucb-c_0.5/        one folder a cell
        00000000-00000400.parquet                one file a piece: the runs from 0 to before 400
      .unfinished/                               files that are being written

A file appears under its name only when it is whole, so a name that is there is work that is done.
This module knows files. It must not know who does the work.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from structuredbandits._version import __version__
from structuredbandits.errors import DamagedFile, FileError, InvalidInput, WrongVersion
from structuredbandits.simulation.files import write_whole
from structuredbandits.simulation.sweeps.plan import Piece, Plan

FORMAT = "structuredbandits.sweep"
VERSION = 1
_MANIFEST, _RESULTS, _UNFINISHED, _LOCK = "manifest.json", "results", ".unfinished", ".lock"
_PACKAGES = ("numpy", "numba", "scipy", "joblib", "pyarrow", "dask", "ray")


class Folder:
    """A folder that holds one sweep."""

    def __init__(self, path: Path) -> None:
        # Absolute, since workers may have another working directory.
        self.path = path.resolve()
        self.results = self.path / _RESULTS

    def prepare(self, plan: Plan) -> dict[str, Any]:
        """Make the folder, or find that it holds this very sweep; return its manifest."""
        stored = self._check(plan)
        manifest = stored or {
            "format": FORMAT,
            "version": VERSION,
            "structuredbandits": __version__,
            "digest": plan.digest,
            "plan": plan.describe(),
            "started": _now(),
        }
        manifest |= {"versions": _versions(), "machine": _machine(), "state": "running"}
        try:
            shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)
            (self.path / _UNFINISHED).mkdir(exist_ok=True)
            # The manifest comes first: a folder of results without one would be a stranger's.
            self.write_manifest(manifest)
            for cell in plan.cells:
                (self.results / cell.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        return manifest

    def _check(self, plan: Plan) -> dict[str, Any] | None:
        """The manifest that is there, if it is of this plan; None if the folder is new."""
        if not (self.path / _MANIFEST).exists():
            with contextlib.suppress(FileNotFoundError):
                others = [p.name for p in self.path.iterdir() if not p.name.startswith(".")]
                if others:
                    raise InvalidInput(
                        f"{str(self.path)!r} holds other things ({others[0]!r}); give a new folder."
                    )
            return None
        manifest = self.read_manifest()
        if manifest["structuredbandits"] != __version__:
            raise WrongVersion(
                f"{str(self.path)!r} was begun by version {manifest['structuredbandits']} and this "
                f"is {__version__}; finish it with the old one, or give a new folder."
            )
        if manifest["digest"] != plan.digest:
            raise InvalidInput(
                f"{str(self.path)!r} holds a sweep with other settings; give a new folder, or the "
                "settings that it was begun with."
            )
        return manifest

    def read_manifest(self) -> dict[str, Any]:
        """The manifest as it is stored."""
        path = self.path / _MANIFEST
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT:
                raise ValueError
            found = manifest["version"]
            complete = {"digest", "plan", "state", "structuredbandits"} <= manifest.keys()
        except FileNotFoundError:
            raise FileError(f"{str(self.path)!r} holds no sweep; check the name.") from None
        except (ValueError, KeyError, TypeError, OSError):
            raise DamagedFile(
                f"{path} is not the manifest of a sweep; give a new folder."
            ) from None
        if found != VERSION:
            raise WrongVersion(f"{path} is of version {found!r}, this library reads {VERSION}.")
        if not complete:
            raise DamagedFile(f"{path} is not a whole manifest; give a new folder.")
        return dict(manifest)

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest, whole."""
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        try:
            write_whole(self.path / _MANIFEST, text.encode(), self.path / _UNFINISHED)
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def close(self, manifest: dict[str, Any], state: str) -> None:
        """Note how the work ended and remove what only the work needed."""
        self.write_manifest(manifest | {"state": state, "ended": _now()})
        shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)

    def has(self, piece: Piece) -> bool:
        """Whether a piece is done."""
        return (self.results / piece.name).exists()

    def write_piece(self, piece: Piece, data: bytes) -> None:
        """Keep the results of a piece; a second time changes nothing."""
        unfinished = self.path / _UNFINISHED
        if not unfinished.is_dir():
            raise FileError(
                f"{str(unfinished)!r} is not there on {platform.node()}: give a folder that all "
                "workers share."
            )
        write_whole(self.results / piece.name, data, unfinished)

    def files(self) -> list[Path]:
        """All files of results, in the order of cells and runs."""
        return sorted(self.results.glob("*/*.parquet"))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second sweep in the same folder while one is at work.

        The lock is the operating system's: it ends with the process, however that ends.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        try:
            _lock(handle, self.path)
            yield
        finally:
            os.close(handle)


def _lock(handle: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; two sweeps at once waste work there
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidInput(
            f"another process is at work on {str(path)!r}; wait for it, or give a new folder."
        ) from None
    except OSError:  # a file system without locks: the same
        return


def _cannot_write(path: Path, error: OSError) -> FileError:
    reason = error.strerror or str(error)
    return FileError(f"nothing can be written to {str(path)!r} ({reason}); choose another folder.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _machine() -> dict[str, Any]:
    return {
        "node": platform.node(),
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }
