"""A launcher and a PostgreSQL for all tests of this folder, and a database for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from structuredbandits.client import Client, Experiment, Retries
from structuredbandits.errors import Conflict, Unavailable
from tests.service_guarantees.postgres import Postgres
from tests.service_guarantees.servers import Launcher, Server, launcher

EXPERIMENT = "trial"


@pytest.fixture(scope="session")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    with launcher(tmp_path_factory.mktemp("servers")) as made:
        yield made


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    made = Postgres()
    yield made
    made.close()


@pytest.fixture
def new_database(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """An empty database of a kind; PostgreSQL is started only if it is asked for."""
    made = 0

    def make(kind: str) -> str:
        nonlocal made
        made += 1
        if kind == "sqlite":
            return str(tmp_path / f"bandits-{made}.db")
        server: Postgres = request.getfixturevalue("postgres")
        return server.new_database()

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, new_database: Callable[[str], str]) -> str:
    return new_database(request.param)


def create(server: Server, **settings: object) -> Experiment:
    """The experiment that the tests use: 18 films, 106 segments of users.

    With a short time limit of the service, a busy machine may be too slow even for this.
    """
    with Client(server.url, retries=Retries(attempts=1), timeout_seconds=120) as client:
        end = time.monotonic() + 120
        while True:
            try:
                return client.create_experiment(
                    "movielens", "hierarchical", id=EXPERIMENT, settings=settings
                )
            except Conflict:  # it was stored, although nobody waited for that
                return client.experiment(EXPERIMENT)
            except Unavailable:
                if time.monotonic() > end:
                    raise
