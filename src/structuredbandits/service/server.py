"""Runs a service on a socket until a signal ends it."""

from __future__ import annotations

import gc
import logging
import signal
import time
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from sqlalchemy import func, select
from sqlalchemy.exc import InterfaceError, OperationalError

from structuredbandits.errors import FileError
from structuredbandits.service.api import create_app
from structuredbandits.service.connections import (
    BACKLOG,
    Connections,
    allowed_files,
    limited_protocol,
)
from structuredbandits.service.json_log import log_as_json
from structuredbandits.service.runtime import Service
from structuredbandits.service.settings import ServiceSettings
from structuredbandits.service.storage import migrate, tables
from structuredbandits.service.storage.database import database_url

_log = logging.getLogger("structuredbandits.service")
# Requests that are still under way when the service ends get this long.
_GRACE_SECONDS = 10
# Between two attempts to reach a database at the start.
_LONGEST_PAUSE = 3.0


class _Server(uvicorn.Server):
    """A server that logs its address when it listens, and is not ready before it ends."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._drained: float | None = None  # when the port is closed

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Answer for a while after SIGTERM, so that no new requests are sent here."""
        seconds = self._service.settings.drain_seconds
        if sig != signal.SIGTERM or self._drained is not None or not seconds:
            super().handle_exit(sig, frame)
            return
        self._service.draining.set()
        self._drained = time.monotonic() + seconds

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; called ten times per second."""
        if self._drained is not None and time.monotonic() >= self._drained:
            self.should_exit = True
        return await super().on_tick(counter)

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets=sockets)
        # What is loaded now stays. Garbage collection of it takes a tenth of a second each time,
        # in which no request is answered.
        gc.collect()
        gc.freeze()
        if self.started and self.servers:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            _log.info("listening", extra={"url": f"http://{host}:{port}", "port": port})


def wait_for_database(given: str, seconds: float) -> None:
    """Create the tables; while PostgreSQL does not answer, log it and retry for ``seconds``.

    Raises
    ------
    FileError
        If it has not answered by then.
    """
    log_as_json()
    url = database_url(given)
    where = {"database": url.render_as_string(hide_password=True)}
    _log.info("starting: opening the database and migrating its tables", extra=where)
    end: float | None = None  # counted from the first failure, because loading takes time
    pause = 0.2
    while True:
        try:
            migrate(url)
            return
        except FileError as error:
            # Only failures that may pass: a file that cannot be opened will not change.
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


def server_config(
    app: FastAPI, settings: ServiceSettings, host: str, port: int
) -> tuple[uvicorn.Config, Connections]:
    """How Uvicorn serves the app, and the connections that it will have."""
    limits = settings.connections.within(allowed_files())
    protocol, connections = limited_protocol(limits, settings.limits.body_bytes)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=30,
        http=protocol,
        ws="none",
        backlog=BACKLOG,
    )
    return config, connections


def run(service: Service, host: str, port: int) -> None:
    """Serve until a signal ends it; requests that have begun are finished."""
    log_as_json()
    started = time.monotonic()
    app = create_app(service.settings, service)
    _warn_about_keys(service)
    config, _ = server_config(app, service.settings, host, port)
    # At the end the server sends itself the signal that stopped it, which would end the process
    # without the last log line.
    signal.signal(signal.SIGTERM, _leave)
    try:
        _Server(config, service).run()
    finally:
        _log.info("ended", extra={"seconds": round(time.monotonic() - started, 1)})


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _warn_about_keys(service: Service) -> None:
    if service.settings.insecure:
        _log.warning("insecure: requests need no API key")
        return
    with service.database.read() as connection:
        keys = connection.execute(select(func.count()).select_from(tables.keys)).scalar_one()
    if not keys:
        _log.warning(
            "there is no API key yet, so every request is rejected; create one with "
            "'structuredbandits keys create --scopes admin'"
        )
