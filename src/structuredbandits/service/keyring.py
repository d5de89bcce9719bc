"""The keys that a running service has seen: looked up once, looked up again after some seconds.

This module knows how old an answer about a key may be. It must not know what keys open.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from structuredbandits.service.keys import Grant, find_key, fits, key_id
from structuredbandits.service.refusals import Refusal

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_KEPT = 1_000


class _Seen(NamedTuple):
    grant: Grant
    verified: float  # when the database last said so
    asked: float  # when it was last asked, whether it answered or not


class Keyring:
    """Answers what a key opens.

    Parameters
    ----------
    service
        Who reads the database.
    seconds
        How long a key that was seen is believed without asking.
    outage_seconds
        How long it is believed while the database does not answer, so that a service can answer
        from the prior without one; a key may have been revoked meanwhile.
    """

    def __init__(self, service: Service, seconds: float, outage_seconds: float) -> None:
        self._service = service
        self._seconds = seconds
        self._outage_seconds = outage_seconds
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    async def grant(self, text: str) -> Grant | None:
        """What a key opens; None if it is no key, or revoked.

        Raises
        ------
        Refusal
            If the database does not answer, and has not for too long to believe the key.
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
        except Refusal:
            if held is None:
                raise
            self._seen[text] = held._replace(asked=time.monotonic())
            return held.grant
        if found is None or found[1].revoked is not None or not fits(text, found[0]):
            self._seen.pop(text, None)
            return None
        moment = time.monotonic()
        self._seen[text] = _Seen(found[1], moment, moment)
        while len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return found[1]
