"""The log of a service: JSON lines on standard error, with limits of equal lines."""

from __future__ import annotations

import logging
import sys
import threading
import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from cachetools import LRUCache
from pythonjsonlogger import core, json

from structuredbandits.service.errors import kind_of, place_of
from structuredbandits.service.request_context import current_request

_log = logging.getLogger("structuredbandits.service")
_WINDOW_SECONDS = 10.0
_LINES_PER_WINDOW = 20
_KINDS_KEPT = 1_000
_SUBJECT_FIELDS = ("route", "status", "database_code")


class JsonFormatter(json.JsonFormatter):
    """One JSON object per line: time, level, logger, message, and the fields of ``extra``.

    Of an exception only its type and place are logged: its text may quote private data.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "started", "port": 8000, "created": 0.0})
    >>> JsonFormatter().format(record)
    '{"time": "1970-01-01T00:00:00.000Z", "level": "info", "logger": "root", "message": "started",
    "port": 8000}'
    """

    def __init__(self) -> None:
        reserved = [*core.RESERVED_ATTRS, "color_message"]
        super().__init__(json_default=str, json_ensure_ascii=True, reserved_attrs=reserved)

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        """Add the fields of a record to its line."""
        moment = datetime.fromtimestamp(record.created, UTC)
        log_data["time"] = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        log_data["level"] = record.levelname.lower() if record.levelno else "info"
        log_data["logger"] = record.name or "root"
        super().add_fields(log_data, record, {})
        if record.exc_info and record.exc_info[1] is not None:
            log_data["exception"] = kind_of(record.exc_info[1])
            log_data |= place_of(record.exc_info[1])


class RepeatedLines(logging.Filter):
    """Lets some equal warnings and errors through per ten seconds, and counts the others.

    So a database that is down does not fill a disk. The first line of the next ten seconds has the
    number of those left out, as ``left_out``.

    Examples
    --------
    >>> repeated = RepeatedLines()
    >>> made = {"msg": "it failed", "levelno": logging.WARNING}
    >>> sum(repeated.filter(logging.makeLogRecord(made)) for _ in range(1000))
    20
    """

    def __init__(self) -> None:
        super().__init__()
        # Begin of the window, lines, and lines left out, of each kind of line.
        self._seen: LRUCache[Any, list[float]] = LRUCache(_KINDS_KEPT)
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        if record.levelno < logging.WARNING:
            return True
        fields = tuple(getattr(record, name, None) for name in _SUBJECT_FIELDS)
        kind = (record.name, record.levelno, record.getMessage(), fields)
        with self._lock:  # reading moves an entry to the end
            return self._counts(kind, record)

    def _counts(self, kind: tuple[Any, ...], record: logging.LogRecord) -> bool:
        moment = time.monotonic()
        held = self._seen.get(kind)
        if held is None or moment - held[0] >= _WINDOW_SECONDS:
            if held is not None and held[2]:
                record.left_out = int(held[2])
            held = self._seen[kind] = [moment, 0, 0]
        held[1] += 1
        if held[1] <= _LINES_PER_WINDOW:
            return True
        held[2] += 1
        return False


class RequestFields(logging.Filter):
    """Adds the request to every line of the log that is written for one."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields; every line passes."""
        context = current_request.get()
        if context is not None:
            record.request_id = context.id
            if context.key is not None:
                record.key_id = context.key
            if context.experiment is not None and not hasattr(record, "experiment"):
                record.experiment = context.experiment
        return True


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    _log.critical("the process ended", exc_info=(kind, error, trace))


def log_as_json() -> None:
    """Log everything of this process as JSON lines on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RepeatedLines())
    handler.addFilter(RequestFields())
    # Warnings and exceptions that nobody catches are lines like all others.
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda failed: _log.critical(
        "a thread ended", extra={"exception": failed.exc_type.__name__}
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("structuredbandits").setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
