"""Where compiled kernels are kept between processes, and under which key.

Numba's own cache looks only at the file of the function that it compiled. Our kernels call
functions of other files (a policy's index, an environment's draw), so an edit there would go
unnoticed and the old machine code would run. The key here is a digest of all files of the rooms
that hold compiled code, so that any edit there compiles anew; code compiled in another room is
refused when it is imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

#: Set this variable to keep compiled kernels somewhere else.
CACHE_VARIABLE = "STRUCTUREDBANDITS_CACHE_DIR"
#: The rooms that hold compiled code.
KERNEL_ROOMS = ("_compiled", "confidence", "identification", "policies", "simulation")
_GENERATIONS_KEPT = 4
_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def kernel_digest() -> str:
    """Digest of the names and contents of all files that compiled code may come from."""
    digest = hashlib.blake2b(digest_size=10)
    for room in KERNEL_ROOMS:
        for path in sorted((_PACKAGE / room).rglob("*.py")):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode())
            digest.update(hashlib.blake2b(path.read_bytes()).digest())
    return digest.hexdigest()


def require_kernel_room(function: Callable[..., Any]) -> None:
    """Refuse to compile library code whose edits the cache would not notice."""
    package, _, rest = function.__module__.partition(".")
    if package == _PACKAGE.name and rest.partition(".")[0] not in KERNEL_ROOMS:
        raise ImportError(f"{function.__module__} compiles code; add its room to KERNEL_ROOMS.")


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _cache_root() -> Path:
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "structuredbandits"


def _forget_old_generations(root: Path) -> None:
    """Keep the newest few folders: each edit of the sources starts a new one."""
    with contextlib.suppress(OSError):
        generations = [p for p in root.iterdir() if p.is_dir() and p.name.startswith("kernels-")]
        generations.sort(key=lambda p: p.stat().st_mtime, reverse=True)
        for old in generations[_GENERATIONS_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)


@cache
def cache_folder() -> Path:
    """Folder of this version's compiled kernels; a temporary one if no other can be written."""
    root = _cache_root()
    folder = root / f"kernels-{kernel_digest()}"
    if not _writable(folder):
        root = Path(tempfile.gettempdir()) / f"structuredbandits-{os.getuid()}"
        folder = root / f"kernels-{kernel_digest()}"
        folder.mkdir(parents=True, exist_ok=True)
    _forget_old_generations(root)
    return folder


class _KernelLocator(_CacheLocator):  # type: ignore[misc]  # Numba is untyped
    """Tells Numba the folder and the stamp; the stamp is the digest, not a file's date."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._line = py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return kernel_digest()

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _KernelLocator:
        return cls(py_func, py_file)


class _KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]  # Numba is untyped
    _locator_classes = (_KernelLocator,)


class KernelCache(FunctionCache):  # type: ignore[misc]  # Numba is untyped
    """Numba's function cache with our folder and our stamp."""

    _impl_class = _KernelCacheImpl
