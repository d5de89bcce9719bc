"""A folder of results that appears whole or not at all.

This module knows files and what can go wrong with them. It must not know what they hold.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structuredbandits.errors import FileError


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A hidden folder to write into; what is in it moves to ``target`` if all went well.

    It is made at once, so that a place where nothing can be written is refused before hours of
    work. If the work fails, nothing stays behind; older files in ``target`` stay as they were.
    """
    created = _create(target)
    hidden = target / f".unfinished-{secrets.token_hex(6)}"
    try:
        hidden.mkdir()
        yield hidden
        for path in sorted(hidden.iterdir()):
            path.replace(target / path.name)
    except OSError as error:
        raise _cannot_write(target, error) from error
    except FileError as error:
        if isinstance(error.__cause__, OSError):  # it names the hidden folder, which means nothing
            raise _cannot_write(target, error.__cause__) from error
        raise
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        _remove_empty(created)


def _create(target: Path) -> list[Path]:
    """Make a folder; return those that had to be made, the innermost first."""
    try:
        missing = [path for path in (target, *target.parents) if not path.exists()]
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(target, error) from error
    return missing


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:  # it holds results, so it and all around it stay
            return


def _cannot_write(target: Path, error: OSError) -> FileError:
    reason = error.strerror or str(error).splitlines()[0]
    return FileError(f"nothing can be written to {str(target)!r} ({reason}); choose another --out.")
