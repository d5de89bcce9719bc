"""The two baseline handlers: one durable insert, and none.

The insert is as fast as a handler can be without group commit: prepared connections, no
object-relational mapper, and for SQLite one connection behind a lock, since its own lock makes
threads poll.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import uuid
from collections.abc import Callable
from contextlib import closing

from fastapi import FastAPI
from pydantic import BaseModel

_TABLE = "CREATE TABLE IF NOT EXISTS inserted (id VARCHAR(32) PRIMARY KEY, subject TEXT NOT NULL)"

#: One per client, so that no request waits for a connection.
CONNECTIONS = 32


class Asked(BaseModel):
    """The same body as for the service."""

    subject: str


class Inserted(BaseModel):
    """The response after the commit."""

    id: str
    subject: str


def into_sqlite(path: str) -> Callable[[str, str], None]:
    """A function that inserts a row and returns after the durable commit."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(_TABLE)
    lock = threading.Lock()

    def insert(id: str, subject: str) -> None:
        with lock:
            connection.execute("INSERT INTO inserted VALUES (?, ?)", (id, subject))

    return insert


def into_postgresql(url: str) -> Callable[[str, str], None]:
    """The same for PostgreSQL; inserts of different requests run concurrently."""
    import psycopg

    with closing(psycopg.connect(url, autocommit=True)) as first:
        first.execute(_TABLE)
    free: queue.SimpleQueue[psycopg.Connection] = queue.SimpleQueue()
    for _ in range(CONNECTIONS):
        free.put(psycopg.connect(url, autocommit=True, prepare_threshold=1))

    def insert(id: str, subject: str) -> None:
        connection = free.get()
        try:
            connection.execute("INSERT INTO inserted VALUES (%s, %s)", (id, subject))
        finally:
            free.put(connection)

    return insert


def insert_app(database: str) -> FastAPI:
    """One durable insert per request. A plain `def`, so FastAPI runs it in its threads."""
    if database.startswith("postgresql"):
        insert = into_postgresql(database)
    else:
        insert = into_sqlite(database)
    app = FastAPI()

    @app.post("/decisions", status_code=201)
    def decide(asked: Asked) -> Inserted:
        id = uuid.uuid4().hex
        insert(id, asked.subject)
        return Inserted(id=id, subject=asked.subject)

    return app


def hello_app() -> FastAPI:
    """The smallest handler of the framework."""
    app = FastAPI()

    @app.get("/")
    async def hello() -> dict[str, str]:
        return {"hello": "world"}

    return app
