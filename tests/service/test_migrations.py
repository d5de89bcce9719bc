"""Tables are made from nothing, once, and are what the code describes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from structuredbandits.errors import InvalidInput, WrongVersion
from structuredbandits.service.storage import migrate, open_database, schema_version
from structuredbandits.service.storage.database import database_url
from structuredbandits.service.storage.migrate import newest_version
from structuredbandits.service.storage.tables import metadata


def test_an_empty_database_gets_the_tables_that_the_code_describes(database_url: str) -> None:
    database = open_database(database_url)
    assert migrate(database.url) == migrate(database.url) == newest_version()
    with database.read() as connection:
        assert schema_version(connection) == newest_version()
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert set(metadata.tables) < set(inspect(connection).get_table_names())
    database.close()


def test_several_processes_may_start_together(database_url: str) -> None:
    database = open_database(database_url)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(migrate, [database.url] * 4)) == {newest_version()}
    database.close()


def test_tables_of_a_newer_library_are_left_alone(database_url: str) -> None:
    database = open_database(database_url)
    migrate(database.url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(WrongVersion, match="'9999'"):
        migrate(database.url)
    database.close()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("", "give a path"),
        ("mysql://db/x", "'mysql'"),
        ("://", "URL cannot be read"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite://", "in memory"),
    ],
)
def test_what_is_no_database_is_refused(given: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        database_url(given)


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(InvalidInput, match="no folder"):
        open_database("/nowhere/at/all/x.db")
