"""The background thread that runs the jobs: deadlines, retention, unfinished deletions, key use.

Every replica runs it; a job finds done what another replica has done.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

from structuredbandits.service.errors import kind_of
from structuredbandits.service.jobs.deadlines import expire_decisions
from structuredbandits.service.jobs.retention import apply_retention, finish_deletions
from structuredbandits.service.security.key_use import store_key_use

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_log = logging.getLogger(__name__)


class Scheduler:
    """A thread that runs all jobs every ``sweep_seconds``."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the transaction that is running."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(2.0)

    def _run(self) -> None:
        while not self._end.wait(self._service.settings.sweep_seconds):
            try:
                asyncio.run(self.round())
            except Exception as error:  # the thread must live; the next round may succeed
                _log.warning("a background job failed: %s", kind_of(error))

    async def round(self) -> int:
        """Run each job once, and return how much was done."""
        done = 0
        for job in (finish_deletions, expire_decisions, apply_retention, store_key_use):
            try:
                done += await job(self._service, self._end)
            except Exception as error:  # the database may be unavailable; other jobs may succeed
                _log.warning("a background job failed: %s", kind_of(error))
        return done
