"""The folder of a sweep: one Parquet file per piece, and a manifest.

::

    out/
      manifest.json                              settings, versions, machine, failures
      results/00003_three-arms_ucb-c_0.5/        one folder per configuration
        00000000-00000400.parquet                one file per piece: runs 0 to 399
      .unfinished/                               files that are being written

A file appears under its name only when it is complete, so an existing name means finished work.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from structuredbandits._atomic_write import write_atomically
from structuredbandits._version import __version__
from structuredbandits.errors import DamagedFile, FileError, InvalidInput, WrongVersion
from structuredbandits.simulation.sweeps.plan import Piece, Plan

FORMAT = "structuredbandits.sweep"
VERSION = 1
_MANIFEST, _RESULTS, _UNFINISHED, _LOCK = "manifest.json", "results", ".unfinished", ".lock"
# What a file system without locks reports.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
_PACKAGES = ("numpy", "numba", "scipy", "joblib", "pyarrow", "dask", "ray")


class Folder:
    """A folder that holds one sweep."""

    def __init__(self, path: Path) -> None:
        # Absolute, since workers may have another working directory.
        self.path = path.resolve()
        self.results = self.path / _RESULTS

    def prepare(self, plan: Plan) -> dict[str, Any]:
        """Create the folder, or check that it holds this sweep; return its manifest."""
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
            # The manifest comes first: results without one would not be recognised as a sweep.
            self.write_manifest(manifest)
            for configuration in plan.configurations:
                (self.results / configuration.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        return manifest

    def _check(self, plan: Plan) -> dict[str, Any] | None:
        """The existing manifest, if it belongs to this plan; None if the folder is new."""
        if not (self.path / _MANIFEST).exists():
            with contextlib.suppress(FileNotFoundError):
                others = [p.name for p in self.path.iterdir() if not p.name.startswith(".")]
                if others:
                    raise InvalidInput(
                        f"{str(self.path)!r} contains other files ({others[0]!r}); give a new "
                        "folder."
                    )
            return None
        manifest = self.read_manifest()
        if manifest["structuredbandits"] != __version__:
            raise WrongVersion(
                f"{str(self.path)!r} was begun by version {manifest['structuredbandits']} and this "
                f"is {__version__}; finish it with the old version, or give a new folder."
            )
        if manifest["digest"] != plan.digest:
            raise InvalidInput(
                f"{str(self.path)!r} holds a sweep with other settings; give a new folder, or the "
                "settings of that sweep."
            )
        return manifest

    def read_manifest(self) -> dict[str, Any]:
        """The stored manifest."""
        path = self.path / _MANIFEST
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT:
                raise ValueError
            found = manifest["version"]
            complete = {"digest", "plan", "state", "structuredbandits"} <= manifest.keys()
        except FileNotFoundError:
            raise FileError(f"{str(self.path)!r} does not hold a sweep; check the name.") from None
        except (ValueError, KeyError, TypeError, OSError):
            raise DamagedFile(
                f"{path} is not the manifest of a sweep; give a new folder."
            ) from None
        if found != VERSION:
            raise WrongVersion(f"{path} has version {found!r}, this library reads {VERSION}.")
        if not complete:
            raise DamagedFile(f"{path} is not a complete manifest; give a new folder.")
        return dict(manifest)

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest."""
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        try:
            write_atomically(self.path / _MANIFEST, text.encode(), folder=self.path / _UNFINISHED)
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def close(self, manifest: dict[str, Any], state: str) -> None:
        """Store the final state and remove the folder of unfinished files."""
        self.write_manifest(manifest | {"state": state, "ended": _now()})
        shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)

    def has(self, piece: Piece) -> bool:
        """Whether a piece is complete."""
        return (self.results / piece.name).exists()

    def write_piece(self, piece: Piece, data: bytes) -> None:
        """Write the results of a piece; writing them twice changes nothing."""
        unfinished = self.path / _UNFINISHED
        if not unfinished.is_dir():
            raise FileError(
                f"{str(unfinished)!r} does not exist on {platform.node()}: give a folder that all "
                "workers share."
            )
        write_atomically(self.results / piece.name, data, folder=unfinished)

    def files(self) -> list[Path]:
        """All files of results, sorted by configuration and runs."""
        return sorted(self.results.glob("*/*.parquet"))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second sweep in the same folder while one is running.

        The operating system releases the lock when the process ends, even if it is killed. On a
        file system without locks the sweep runs unlocked; two at once would only waste work.
        """
        from filelock import FileLock, Timeout

        # A lock by the existence of a file is not used instead: it would outlive a killed process.
        lock = FileLock(self.path / _LOCK, blocking=False, mode=0o644, fallback_to_soft=False)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise InvalidInput(
                f"another process is running a sweep in {str(self.path)!r}; wait until it ends, or "
                "give a new folder."
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise _cannot_write(self.path, error) from error
        try:
            yield
        finally:
            lock.release()


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
