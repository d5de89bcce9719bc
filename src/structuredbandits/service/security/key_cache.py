"""The API keys that a running service has verified lately, and those it has found to be unknown."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache, TTLCache
from sqlalchemy.exc import SQLAlchemyError

from structuredbandits.service.errors import RequestError, kind_of, unavailable
from structuredbandits.service.security.api_keys import Grant, find_keys, fits, key_id
from structuredbandits.service.security.key_lookups import FoundKey, KeyLookups
from structuredbandits.service.storage.database import now

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_KEPT = 1_000
_UNKNOWN_KEPT = 10_000
_LOOKUP_SECONDS = 2.0


class _CachedGrant(NamedTuple):
    grant: Grant
    verified: float  # when the database last said so
    asked: float  # when it was last asked, whether it answered or not


class KeyCache:
    """Returns the grants of keys.

    Parameters
    ----------
    service
        The service whose database has the keys.
    seconds
        How long a verified key is accepted without asking again, and an unknown one refused.
    outage_seconds
        How long it is accepted while the database does not answer, so that a service can answer
        from the prior without one; it may have been revoked since.
    """

    def __init__(self, service: Service, seconds: float, outage_seconds: float) -> None:
        self._service = service
        self._seconds = seconds
        self._outage_seconds = outage_seconds
        self._seen: LRUCache[str, _CachedGrant] = LRUCache(_KEPT)
        self._unknown: TTLCache[str, None] = TTLCache(
            _UNKNOWN_KEPT, seconds, timer=lambda: time.monotonic()
        )
        self._lookups = KeyLookups(self._read, _LOOKUP_SECONDS)

    async def grant(self, text: str) -> Grant | None:
        """Return the grant of a key; None if it is unknown or revoked, or has expired.

        Raises
        ------
        RequestError
            If the database does not answer, and the key was verified too long ago.
        """
        grant = await self._verified(text)
        if grant is None or (grant.expires is not None and grant.expires <= now()):
            return None
        return grant

    async def _verified(self, text: str) -> Grant | None:
        """Return the grant of a key that is not revoked."""
        held = self._seen.get(text)
        moment = time.monotonic()
        if held is not None and moment - held.verified >= self._outage_seconds:
            held = None
        if held is not None and moment - held.asked < self._seconds:
            return held.grant
        number = key_id(text)
        if number is None or text in self._unknown:
            return None
        try:
            found = await self._lookups.find(number, known=held is not None)
        except RequestError as error:
            # Only a database that does not answer is an outage, not too many requests.
            if held is None or error.status != 503:
                raise
            self._seen[text] = held._replace(asked=time.monotonic())
            return held.grant
        if found is None or found[1].revoked is not None or not fits(text, found[0]):
            self._seen.pop(text, None)
            self._unknown[text] = None
            return None
        moment = time.monotonic()
        self._seen[text] = _CachedGrant(found[1], moment, moment)
        return found[1]

    def close(self) -> None:
        """Start no more look-ups."""
        self._lookups.close()

    def _read(self, numbers: Sequence[str]) -> dict[str, FoundKey]:
        """Read keys, in the thread of look-ups."""
        try:
            with self._service.database.read(_LOOKUP_SECONDS) as connection:
                return find_keys(connection, numbers)
        except SQLAlchemyError as error:
            self._service.read_failed("a look-up of keys failed", error)
            raise unavailable(kind_of(error)) from error
