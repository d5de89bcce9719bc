"""What a log may tell of an exception: its kind and its place in the code, never its message.

Messages of databases quote what was sent to them, so subjects and keys. This module must not know
where they are logged.
"""

from __future__ import annotations

import traceback
from pathlib import Path

_FRAMES = 8


def kind_of(error: BaseException) -> str:
    """What went wrong, in one word.

    Examples
    --------
    >>> kind_of(ValueError("a subject's name"))
    'ValueError'
    """
    return type(getattr(error, "orig", None) or error).__name__


def place_of(error: BaseException) -> dict[str, str]:
    """Where it was raised, as a field of a line of the log."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return {"at": " > ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames)}
