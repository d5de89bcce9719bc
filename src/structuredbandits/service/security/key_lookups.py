"""Reads keys from the database: in a thread of their own, and many with one statement.

Strangers may send any number of invented keys. Their look-ups wait for each other and not for the
reads of requests, and all that arrive during a look-up share the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from structuredbandits.service.errors import overloaded, unavailable
from structuredbandits.service.security.api_keys import Grant

FoundKey = tuple[str, Grant]  # a key's hash, and what it allows
# Keys never seen before that may wait for the next look-up.
STRANGERS_WAITING = 1_000


class KeyLookups:
    """Look-ups of keys by their IDs.

    Parameters
    ----------
    read
        Reads keys; called in a thread with at most `STRANGERS_WAITING` new IDs and the known ones.
    seconds
        How long a look-up may take.
    """

    def __init__(
        self, read: Callable[[Sequence[str]], dict[str, FoundKey]], seconds: float
    ) -> None:
        self._read = read
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="keys")
        self._waiting: dict[str, asyncio.Future[FoundKey | None]] = {}
        self._running: asyncio.Task[None] | None = None

    async def find(self, number: str, *, known: bool) -> FoundKey | None:
        """Return a key; None if there is none with this ID.

        Parameters
        ----------
        number
            The key's ID.
        known
            Whether it was found before: then it is looked up however many strangers wait.

        Raises
        ------
        RequestError
            If the database does not answer, or too many unknown keys wait.
        """
        future = self._waiting.get(number)
        if future is None:
            if not known and len(self._waiting) >= STRANGERS_WAITING:
                raise overloaded("too many unknown keys are waiting")
            future = self._waiting[number] = asyncio.get_running_loop().create_future()
            future.add_done_callback(_retrieved)
        if self._running is None:
            self._running = asyncio.ensure_future(self._look_up())
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(future)
        except TimeoutError:
            raise unavailable(f"it took longer than {self._seconds:g} s") from None

    async def _look_up(self) -> None:
        """Look up what waits, until nothing does."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, {}
                try:
                    found = await loop.run_in_executor(self._pool, self._read, list(batch))
                except Exception as error:
                    for future in batch.values():
                        future.set_exception(error)
                else:
                    for number, future in batch.items():
                        future.set_result(found.get(number))
        finally:
            self._running = None

    def close(self) -> None:
        """Start no more look-ups."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _retrieved(future: asyncio.Future[FoundKey | None]) -> None:
    """Perhaps nothing awaits it any more."""
    if not future.cancelled():
        future.exception()
