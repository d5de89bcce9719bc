"""Files and folders that appear under their name only when they are complete.

Every function lets an `OSError` through, so that the caller can say which file is meant and what to
do about it. Whatever goes wrong, nothing half-written stays behind and an older file is unchanged.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def atomic_file(
    target: Path, *, folder: Path | None = None, durable: bool = True, private: bool = False
) -> Iterator[BinaryIO]:
    """A file to write to, which replaces ``target`` at the end of the block.

    Parameters
    ----------
    target
        The final name.
    folder
        Where the file is until it is complete: a folder of the same file system. By default the
        folder of ``target``.
    durable
        Whether to wait until the content is on the disk; a cache does not need that.
    private
        Whether only its owner may read it.
    """
    temporary = (folder or target.parent) / f".{secrets.token_hex(12)}"
    try:
        with open(temporary, "xb", opener=_private_opener if private else None) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def write_atomically(
    target: Path, data: bytes, *, folder: Path | None = None, durable: bool = True
) -> None:
    """Write a whole file; the parameters are those of `atomic_file`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "a.txt", b"all of it")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    with atomic_file(target, folder=folder, durable=durable) as file:
        file.write(data)


@contextlib.contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """A hidden folder to write into; its files move to ``target`` if the block succeeds.

    ``target`` is created at once, so that a place without write permission is found before hours of
    work. If the block fails, the folders that were created are removed, and older files in
    ``target`` stay unchanged.
    """
    created = [path for path in (target, *target.parents) if not path.exists()]
    target.mkdir(parents=True, exist_ok=True)
    hidden = target / f".unfinished-{secrets.token_hex(6)}"
    try:
        hidden.mkdir()
        yield hidden
        for path in sorted(hidden.iterdir()):
            path.replace(target / path.name)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        with contextlib.suppress(OSError):  # the first folder that is not empty ends the clean-up
            for folder in created:
                folder.rmdir()
