"""How often keys are used: their rates, and the time of the last use, which a job stores."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, or_, update

from structuredbandits.service.errors import RequestError
from structuredbandits.service.security.api_keys import Grant
from structuredbandits.service.security.token_buckets import TokenBuckets
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import now

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

# The times of last uses are stored this often.
_STORED_EVERY = 60.0


class KeyUse:
    """The use of keys in this process.

    Examples
    --------
    >>> use = KeyUse()
    >>> use.note(Grant("3f2a9c01d4e5", frozenset({"read"})))
    >>> list(use.taken())
    ['3f2a9c01d4e5']
    """

    def __init__(self) -> None:
        self._rates = TokenBuckets()
        self._used: dict[str, int] = {}  # microseconds since 1970, not stored yet
        self._lock = threading.Lock()  # the thread of jobs takes what requests note
        self._stored: float | None = None

    def note(self, grant: Grant) -> None:
        """Note that a key is used now."""
        if grant.id is not None:
            with self._lock:
                self._used[grant.id] = now()

    def take(self, grant: Grant, count: int = 1) -> None:
        """Count requests of a key, each item of a batch as one.

        Raises
        ------
        RequestError
            429 if the key has used up its rate.
        """
        if grant.per_minute is None or count < 1:
            return
        wait = self._rates.take(grant.id, grant.per_minute, count)
        if wait > 0.0:
            seconds = math.ceil(wait)
            raise RequestError(
                429,
                "rate_limit",
                f"the key allows {grant.per_minute:,} requests per minute; each item of a batch "
                "counts.",
                f"Try again after {seconds} s.",
                retry_after=seconds,
            )

    def taken(self) -> dict[str, int]:
        """Return and forget the uses since the last call."""
        with self._lock:
            used, self._used = self._used, {}
        return used

    def is_due(self) -> bool:
        """Whether uses have to be stored again."""
        moment = time.monotonic()
        if self._stored is not None and moment - self._stored < _STORED_EVERY:
            return False
        self._stored = moment
        return True


async def store_key_use(service: Service, _end: threading.Event) -> int:
    """Store when keys were last used, and return of how many."""
    if not service.key_use.is_due():
        return 0
    used = service.key_use.taken()
    if used:
        await service.change(lambda connection: write_uses(connection, used))
    return len(used)


def write_uses(connection: Connection, used: dict[str, int]) -> None:
    """Write the times of last uses; another replica may know of a later one."""
    table = tables.keys
    later = or_(table.c.used.is_(None), table.c.used < bindparam("moment"))
    statement = update(table).where(table.c.id == bindparam("key_id"), later)
    connection.execute(
        statement.values(used=bindparam("moment")),
        [{"key_id": number, "moment": moment} for number, moment in sorted(used.items())],
    )
