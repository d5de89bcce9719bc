"""Limits equal warnings in the log: a database that is down must not fill a disk."""

from __future__ import annotations

import logging
import time
from typing import Any

_WINDOW_SECONDS = 10.0
_LINES_PER_WINDOW = 20
_KINDS_KEPT = 1_000
_SUBJECT_FIELDS = ("route", "status", "database_code")


class RepeatedLines(logging.Filter):
    """Lets some equal warnings and errors through per ten seconds, and counts the others.

    The first line of the next ten seconds has the number of those left out, as ``left_out``.

    Examples
    --------
    >>> repeated = RepeatedLines()
    >>> made = {"msg": "it failed", "levelno": logging.WARNING}
    >>> sum(repeated.filter(logging.makeLogRecord(made)) for _ in range(1000))
    20
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[Any, list[float]] = {}  # begin of the window, lines, left out

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        if record.levelno < logging.WARNING:
            return True
        fields = tuple(getattr(record, name, None) for name in _SUBJECT_FIELDS)
        kind = (record.name, record.levelno, record.getMessage(), fields)
        moment = time.monotonic()
        held = self._seen.get(kind)
        if held is None or moment - held[0] >= _WINDOW_SECONDS:
            if held is not None and held[2]:
                record.left_out = int(held[2])
            if len(self._seen) >= _KINDS_KEPT:
                self._seen.clear()
            held = self._seen[kind] = [moment, 0, 0]
        held[1] += 1
        if held[1] <= _LINES_PER_WINDOW:
            return True
        held[2] += 1
        return False
