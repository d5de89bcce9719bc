"""Records which files of the package run while something is done, to count a journey's files."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import structuredbandits
from structuredbandits._compiled.decorators import Kernel

PACKAGE = Path(structuredbandits.__file__).resolve().parent
_kernels: set[tuple[str, str]] = set()  # file and name
_recording: dict[str, None] | None = None  # paths in order of entry


def follow_new_threads() -> None:
    """Let `files_entered` see threads that are started from now on, for example a service's."""
    threading.setprofile(_on_call)


def files_entered(work: Callable[[], Any]) -> list[str]:
    """Return the package files whose Python functions run while ``work`` does, in order of entry.

    Paths are relative to the package. What a module does when it is imported is not counted, nor
    are compiled kernels, for which Numba reports calls too: the list holds the Python that a reader
    follows through the source.
    """
    global _recording
    entered: dict[str, None] = {}
    for one in gc.get_objects():
        if type(one) is Kernel:  # what isinstance asks of a dead proxy raises
            code = one.__wrapped__.__code__
            _kernels.add((code.co_filename, code.co_name))
    _recording = entered
    sys.setprofile(_on_call)
    try:
        work()
    finally:
        sys.setprofile(None)
        _recording = None
    return list(entered)


def _on_call(frame: FrameType, event: str, _argument: Any) -> None:
    recording = _recording
    if recording is None or event != "call" or frame.f_code.co_name == "<module>":
        return
    if (frame.f_code.co_filename, frame.f_code.co_name) in _kernels:
        return
    name = frame.f_code.co_filename
    if name.startswith(str(PACKAGE)):
        recording.setdefault(Path(name).relative_to(PACKAGE).as_posix())
