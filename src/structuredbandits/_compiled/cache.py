"""Where compiled kernels are kept between processes, and under which key.

Numba's own cache looks only at the file of the function that it compiled. Our kernels call
functions of other files (a policy's index, an environment's draw), so an edit there would go
unnoticed and the old machine code would run. The key here is a digest of all files of the rooms
that hold compiled code, so that any edit there compiles anew; code compiled in another room is
refused when it is imported.

Numba also keeps an index file for each function, which two processes that compile at the same time
overwrite for one another, so that one may find the machine code of the other. Here each signature
has a file of its own and nothing is shared. The cache only saves time: if it cannot be read or
written, code is compiled and the work goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import pickle
import secrets
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
    package, _, rest = (function.__module__ or "").partition(".")
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
    try:
        return (Path(base) if base else Path.home() / ".cache") / "structuredbandits"
    except RuntimeError:  # a user without a home, as in some containers
        return _temporary_root()


@cache
def _temporary_root() -> Path:
    """A folder of this user alone among the temporary files, which others can write to.

    What is kept in it is executed, so a folder that somebody else may have made is not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    root = Path(tempfile.gettempdir()) / f"structuredbandits-{user}"
    with contextlib.suppress(OSError):
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()  # of the folder itself, not of what a link leads to
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022
        if private and found.st_uid == user:
            return root
    own = Path(tempfile.mkdtemp(prefix="structuredbandits-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


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
        """What was saved under the key; None if there is nothing, or nothing that can be read."""
        try:
            stored, data = pickle.loads(self._path(key).read_bytes())
        # A missing file is the usual case; what a damaged one raises cannot be listed.
        except Exception:
            return None
        return data if stored == key else None

    def save(self, key: object, data: object) -> None:
        """Keep something, if the disk lets us."""
        path = self._path(key)
        temporary = path.with_name(f".{secrets.token_hex(8)}")
        try:
            temporary.write_bytes(dumps((key, data)))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def flush(self) -> None:
        """Forget everything."""
        for path in self._folder.glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)


class KernelCache(FunctionCache):  # type: ignore[misc]  # Numba is untyped
    """Numba's function cache with our folder, our stamp and our files."""

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Overloads(cache_folder(), self._impl.filename_base)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; a full or vanished disk must not end the work."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)
