"""A service on a socket, until it is told to end.

This module knows uvicorn, signals and logs. It must not know routes.
"""

from __future__ import annotations

import gc
import json
import logging
import signal
import sys
import time
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import uvicorn
from sqlalchemy import func, select
from sqlalchemy.exc import InterfaceError, OperationalError

from structuredbandits.errors import FileError
from structuredbandits.service.api import create_app
from structuredbandits.service.mishaps import kind_of, place_of
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import migrate, tables
from structuredbandits.service.storage.database import database_url

_log = logging.getLogger("structuredbandits.service")
_PLAIN = frozenset(vars(logging.makeLogRecord({})))
# Requests that are still under way when the service ends get this long.
_GRACE_SECONDS = 10
# Between two attempts to reach a database at the start.
_LONGEST_PAUSE = 3.0


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and what was given as ``extra``.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "started", "port": 8000, "created": 0.0})
    >>> JsonLines().format(record)
    '{"time": "1970-01-01T00:00:00.000Z", "level": "info", "logger": "root", "message": "started",
    "port": 8000}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z",
            "level": record.levelname.lower() if record.levelno else "info",
            "logger": record.name or "root",
            "message": record.getMessage(),
        }
        line |= {
            key: value
            for key, value in vars(record).items()
            if key not in _PLAIN and key not in ("message", "asctime", "color_message")
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= {"exception": kind_of(record.exc_info[1])} | place_of(record.exc_info[1])
        return json.dumps(line, default=str, ensure_ascii=False)


def log_as_json() -> None:
    """Let everything of this process be logged as JSON lines on the error stream."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("structuredbandits").setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets=sockets)
        # What is loaded now stays for good. Looking through it for garbage takes a tenth of a
        # second each time, in which nobody gets an answer.
        gc.collect()
        gc.freeze()
        if self.started and self.servers:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            _log.info("listening", extra={"url": f"http://{host}:{port}", "port": port})


def wait_for_database(given: str, seconds: float) -> None:
    """Make the tables; while a PostgreSQL does not answer, say so and try again for so long.

    Raises
    ------
    FileError
        If it has not answered by then.
    """
    log_as_json()
    url = database_url(given)
    end: float | None = None  # counted from the first refusal: what is loaded before takes its time
    pause = 0.2
    while True:
        try:
            migrate(url)
            return
        except FileError as error:
            # Only what a database says while it is away: a file that cannot be opened stays so.
            passing = isinstance(error.__cause__, OperationalError | InterfaceError)
            end = end or time.monotonic() + seconds
            left = end - time.monotonic()
            if url.get_backend_name() == "sqlite" or not passing or left <= 0:
                raise
            _log.warning(
                "the database does not answer yet; trying again",
                extra={
                    "database": url.render_as_string(hide_password=True),
                    "seconds_left": round(left, 1),
                },
            )
            time.sleep(min(pause, left))
            pause = min(2.0 * pause, _LONGEST_PAUSE)


def run(service: Service, host: str, port: int) -> None:
    """Serve until a signal ends it; requests that have begun are finished."""
    log_as_json()
    started = time.monotonic()
    app = create_app(service.settings, service)
    _say_what_is_odd(service)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=65_536,
    )
    # When all is done the server sends itself the signal that ended it, which would end the process
    # without a word.
    signal.signal(signal.SIGTERM, _leave)
    try:
        _Server(config).run()
    finally:
        _log.info("ended", extra={"seconds": round(time.monotonic() - started, 1)})


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _say_what_is_odd(service: Service) -> None:
    if service.settings.insecure:
        _log.warning("insecure: requests need no API key")
        return
    with service.database.read() as connection:
        keys = connection.execute(select(func.count()).select_from(tables.keys)).scalar_one()
    if not keys:
        _log.warning(
            "there is no API key yet, so nobody can ask; make one with "
            "'structuredbandits keys create --scopes admin'"
        )
