"""The API keys that a running service has verified lately."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from structuredbandits.service.errors import RequestError
from structuredbandits.service.security.api_keys import Grant, find_key, fits, key_id

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_KEPT = 1_000


class _CachedGrant(NamedTuple):
    grant: Grant
    verified: float  # when the database last said so
    asked: float  # when it was last asked, whether it answered or not


class KeyCache:
    """Returns the grants of keys.

    Parameters
    ----------
    service
        The service that reads the database.
    seconds
        How long a verified key is accepted without asking again.
    outage_seconds
        How long it is accepted while the database does not answer, so that a service can answer
        from the prior without one; it may have been revoked since.
    """

    def __init__(self, service: Service, seconds: float, outage_seconds: float) -> None:
        self._service = service
        self._seconds = seconds
        self._outage_seconds = outage_seconds
        self._seen: LRUCache[str, _CachedGrant] = LRUCache(_KEPT)

    async def grant(self, text: str) -> Grant | None:
        """Return the grant of a key; None if it is unknown or revoked.

        Raises
        ------
        RequestError
            If the database does not answer, and the key was verified too long ago.
        """
        held = self._seen.get(text)
        moment = time.monotonic()
        if held is not None and moment - held.verified >= self._outage_seconds:
            held = None
        if held is not None and moment - held.asked < self._seconds:
            return held.grant
        number = key_id(text)
        if number is None:
            return None
        try:
            found = await self._service.read(lambda connection: find_key(connection, number), 2.0)
        except RequestError:
            if held is None:
                raise
            self._seen[text] = held._replace(asked=time.monotonic())
            return held.grant
        if found is None or found[1].revoked is not None or not fits(text, found[0]):
            self._seen.pop(text, None)
            return None
        moment = time.monotonic()
        self._seen[text] = _CachedGrant(found[1], moment, moment)
        return found[1]
