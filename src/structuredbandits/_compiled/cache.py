"""The compile cache: machine code of the kernels, kept between processes.

Numba's own cache looks only at the file of the function that it compiled. Our kernels call
functions of other files (a policy's index, an environment's draw), so an edit there would go
unnoticed and the old machine code would run. The key here is a digest of all files of the packages
that hold compiled code, so that any edit recompiles; code that is compiled in another package is
refused when it is imported.

Numba also keeps one index file per function, which two processes that compile at the same time
overwrite, so that one may load the machine code of the other. Here each signature has its own file
and nothing is shared. The cache only saves time: if it cannot be read or written, code is compiled
and the work continues.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import pickle
import shutil
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from structuredbandits._atomic_write import write_atomically

#: The environment variable that moves the cache to another folder.
CACHE_VARIABLE = "STRUCTUREDBANDITS_CACHE_DIR"
#: The packages that hold compiled code.
KERNEL_PACKAGES = ("_compiled", "confidence", "holdout", "identification", "policies", "simulation")
_GENERATIONS_KEPT = 4
_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def kernel_digest() -> str:
    """Digest of the names and contents of all files that compiled code may come from."""
    digest = hashlib.blake2b(digest_size=10)
    for package in KERNEL_PACKAGES:
        for path in sorted((_PACKAGE / package).rglob("*.py")):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode())
            digest.update(hashlib.blake2b(path.read_bytes()).digest())
    return digest.hexdigest()


def require_kernel_package(function: Callable[..., Any]) -> None:
    """Refuse to compile library code whose edits the cache would not notice."""
    package, _, rest = (function.__module__ or "").partition(".")
    if package == _PACKAGE.name and rest.partition(".")[0] not in KERNEL_PACKAGES:
        raise ImportError(
            f"{function.__module__} compiles code; add its package to KERNEL_PACKAGES."
        )


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
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("structuredbandits", appauthor=False)
    except RuntimeError:  # a user without a home directory, as in some containers
        return _temporary_root()
    # Older versions of platformdirs leave the "~" in the path instead.
    return folder if folder.is_absolute() else _temporary_root()


@cache
def _temporary_root() -> Path:
    """A private folder of this user among the temporary files, which other users share.

    Its content is executed, so a folder that another user may have created is not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    root = Path(tempfile.gettempdir()) / f"structuredbandits-{user}"
    with contextlib.suppress(OSError):
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()  # of the folder itself, not of the target of a link
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022
        if private and found.st_uid == user:
            return root
    own = Path(tempfile.mkdtemp(prefix="structuredbandits-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


def _forget_old_generations(root: Path) -> None:
    """Keep the newest few folders: each edit of the sources creates a new one."""
    with contextlib.suppress(OSError):
        generations = [p for p in root.iterdir() if p.is_dir() and p.name.startswith("kernels-")]
        generations.sort(key=lambda p: p.stat().st_mtime, reverse=True)
        for old in generations[_GENERATIONS_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)


@cache
def cache_folder() -> Path:
    """Folder of this version's compiled kernels; a temporary one if it is not writable."""
    root = _cache_root()
    folder = root / f"kernels-{kernel_digest()}"
    if not _writable(folder):
        root = _temporary_root()
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


class _Overloads:
    """One file for each signature of a function; the name is a digest of the signature.

    The signature is in the file, too, so that nothing but its own machine code is ever returned.
    """

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self._base = folder, base

    def _path(self, key: object) -> Path:
        text = f"{numba.__version__}|{key!r}"
        digest = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        return self._folder / f"{self._base}.{digest}.nbc"

    def load(self, key: object) -> Any:
        """What was saved under the key; None if it is missing or cannot be read."""
        try:
            stored, data = pickle.loads(self._path(key).read_bytes())
        # A missing file is the usual case; a damaged one can raise almost anything.
        except Exception:
            return None
        return data if stored == key else None

    def save(self, key: object, data: object) -> None:
        """Save something under the key."""
        write_atomically(self._path(key), dumps((key, data)), durable=False)

    def flush(self) -> None:
        """Remove all files."""
        for path in self._folder.glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)


class KernelCache(FunctionCache):  # type: ignore[misc]  # Numba is untyped
    """Numba's function cache with our folder, our stamp and our files."""

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Overloads(cache_folder(), self._impl.filename_base)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function; a full or missing disk does not stop the work."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)
