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
    at: float


class Keyring:
    """Answers what a key opens.

    A key that was seen is believed for some seconds without asking; if the database then does not
    answer, it is believed further, so that a service can answer from the prior without one.
    """

    def __init__(self, service: Service, seconds: float) -> None:
        self._service = service
        self._seconds = seconds
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    async def grant(self, text: str) -> Grant | None:
        """What a key opens; None if it is no key, or revoked."""
        held = self._seen.get(text)
        if held is not None and time.monotonic() - held.at < self._seconds:
            return held.grant
        number = key_id(text)
        if number is None:
            return None
        try:
            found = await self._service.read(lambda connection: find_key(connection, number), 2.0)
        except Refusal:
            if held is None:
                raise
            self._seen[text] = _Seen(held.grant, time.monotonic())
            return held.grant
        if found is None or found[1].revoked is not None or not fits(text, found[0]):
            self._seen.pop(text, None)
            return None
        self._seen[text] = _Seen(found[1], time.monotonic())
        while len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return found[1]
