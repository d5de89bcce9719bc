"""The folder of ``--out``: all files of a command appear together, or none does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structuredbandits._atomic_write import atomic_folder
from structuredbandits.errors import FileError


@contextmanager
def output_folder(target: Path) -> Iterator[Path]:
    """A folder to write into; its files move to ``target`` if the command succeeds.

    Raises
    ------
    FileError
        If ``target`` cannot be written.
    """
    try:
        with atomic_folder(target) as folder:
            yield folder
    except OSError as error:
        raise _cannot_write(target, error) from error
    except FileError as error:
        if isinstance(error.__cause__, OSError):  # its message names the hidden folder
            raise _cannot_write(target, error.__cause__) from error
        raise


def _cannot_write(target: Path, error: OSError) -> FileError:
    reason = error.strerror or str(error).splitlines()[0]
    return FileError(
        f"nothing can be written to {str(target)!r} ({reason}); choose another folder with --out."
    )
