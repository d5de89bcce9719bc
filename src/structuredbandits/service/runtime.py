"""A running service: its database, its writers and readers, and what it does by the clock.

This module joins the parts and bounds how long they may take. It must not know HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection, select, text
from sqlalchemy.exc import SQLAlchemyError

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.batching import GroupCommit
from structuredbandits.service.catalogue import Catalogue
from structuredbandits.service.decisions import Desk
from structuredbandits.service.experiments import Experiment, Version, require_experiment
from structuredbandits.service.keyring import Keyring
from structuredbandits.service.measures import Measures
from structuredbandits.service.mishaps import kind_of
from structuredbandits.service.orders import Order, Task
from structuredbandits.service.refusals import Refusal, overloaded, unavailable
from structuredbandits.service.settings import ServiceSettings
from structuredbandits.service.storage import migrate, open_database, tables
from structuredbandits.service.tallies import Tallies
from structuredbandits.service.upkeep import Upkeep

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")
# Readers that may wait for a connection before more are refused.
_READS_WAITING = 64
_PRELOADED = 16
# How long a structure may take to be read and compiled; who asks for it is refused earlier.
_LOADING_SECONDS = 60.0
# After a write that was done, so long no other is tried only to see whether it would be.
_READY_SECONDS = 1.0


class Service:
    """Everything behind the API.

    Parameters
    ----------
    settings
        How it is run.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.database = open_database(settings.database, settings)
        migrate(self.database.url)
        self.catalogue = Catalogue()
        self.desk = Desk(self.database, self.catalogue)
        self.measures = Measures()
        self.commits = GroupCommit(
            self.desk.commit,
            writers=self.database.writers,
            queue_length=settings.queue_length,
            group_size=settings.group_size,
            observe=self.measures.group,
        )
        self._pool = ThreadPoolExecutor(settings.readers, thread_name_prefix="reader")
        self._background = ThreadPoolExecutor(1, thread_name_prefix="preparing")
        self._reads = 0
        self._reading: dict[object, float] = {}  # when each read that is under way began
        self.tallies = Tallies()
        self.comparisons: dict[str, tuple[float, dict[str, Any]]] = {}
        self.keyring = Keyring(self, settings.key_seconds, settings.key_outage_seconds)
        self.upkeep = Upkeep(self)
        self.closing = threading.Event()
        self._shared: dict[Hashable, asyncio.Future[Any]] = {}
        self._ready_at = -_READY_SECONDS

    def start(self) -> None:
        """Read the experiments, so that the first decision is as quick as the next."""
        with self.database.read() as connection:
            names = connection.execute(
                select(tables.experiments.c.id)
                .order_by(tables.experiments.c.created.desc())
                .limit(_PRELOADED)
            ).scalars()
            for name in names.all():
                try:
                    experiment = self.catalogue.experiment(connection, name)
                    if experiment is not None:
                        self.catalogue.version(connection, experiment, experiment.version)
                except StructuredBanditsError as refusal:  # the others can be served
                    _log.error("%s", refusal, extra={"experiment": name})
        self.upkeep.start()

    def close(self) -> None:
        """Finish what was begun, then let go of the database."""
        self.closing.set()
        self.upkeep.stop()
        self.commits.close(self.settings.request_seconds)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._background.shutdown(wait=False, cancel_futures=True)
        self.database.close()

    # -- writing -----------------------------------------------------------------------------------

    async def write(self, orders: Sequence[Order], seconds: float | None = None) -> list[Any]:
        """Results of orders, each an answer or an exception, after they are durable."""
        return await self.commits.do(orders, seconds or self.settings.request_seconds)

    async def change(
        self, work: Callable[[Connection], _Value], seconds: float | None = None
    ) -> _Value:
        """Something rare that writes, alone in its transaction."""
        results = await self.write([Task(work)], seconds)
        value: _Value = results[0]
        return value

    # -- reading -----------------------------------------------------------------------------------

    async def read(
        self, work: Callable[[Connection], _Value], seconds: float | None = None
    ) -> _Value:
        """What a reading transaction returns, within bounded time."""
        limit = seconds or self.settings.request_seconds

        def job() -> _Value:
            mark = object()
            self._reading[mark] = time.monotonic()
            try:
                with self.database.read(limit) as connection:
                    return work(connection)
            except SQLAlchemyError as error:
                _log.warning("a read failed: %s", kind_of(error))
                raise unavailable(kind_of(error)) from error
            finally:
                del self._reading[mark]

        self._refuse_if_stuck()
        if limit > self.settings.request_seconds:
            # Computing may take long; a database that answers nothing may not.
            await self.read(lambda connection: connection.execute(text("SELECT 1")).close())
        return await self._bounded(self._pool, job, limit)

    def _refuse_if_stuck(self) -> None:
        """If no reader has come back for long, more would only pile up behind them."""
        begun = list(self._reading.values())
        patience = 2.0 * self.settings.request_seconds
        if len(begun) >= self.settings.readers and time.monotonic() - max(begun) > patience:
            raise unavailable("it has not answered any reader for a while")

    async def prepare(self, work: Callable[[], _Value]) -> _Value:
        """Something that may compile for a while, off the loop."""
        return await self._bounded(self._background, work, 120.0)

    async def _bounded(
        self, pool: ThreadPoolExecutor, work: Callable[[], _Value], seconds: float
    ) -> _Value:
        if self._reads >= _READS_WAITING:
            raise overloaded("too many reads are waiting")
        self._reads += 1
        try:
            running = asyncio.get_running_loop().run_in_executor(pool, work)
            async with asyncio.timeout(seconds):
                return await running
        except TimeoutError:
            raise unavailable(f"it took longer than {seconds:g} s") from None
        finally:
            self._reads -= 1

    # -- what requests need ------------------------------------------------------------------------

    async def experiment(self, name: str) -> Experiment:
        """The experiment as it was last seen; read if it never was."""
        held = self.catalogue.known(name)
        if held is not None and self.catalogue.known_version(name, held.version) is not None:
            return held

        def load(connection: Connection) -> Experiment:
            found = self.catalogue.experiment(connection, name)
            if found is None:
                return require_experiment(connection, name)
            self.catalogue.version(connection, found, found.version)
            return found

        return await self._load(name, load)

    async def version(self, experiment: Experiment, number: int) -> Version:
        """A version of an experiment's structure."""
        held = self.catalogue.known_version(experiment.id, number)
        if held is not None:
            return held
        return await self._load(
            (experiment.id, number),
            lambda connection: self.catalogue.version(connection, experiment, number),
        )

    async def _load(self, name: Hashable, work: Callable[[Connection], _Value]) -> _Value:
        """Read something into memory, once for all who ask for it.

        Compiling may take longer than anybody waits; later requests find it done.
        """
        return await self.together(name, lambda: self.read(work, _LOADING_SECONDS))

    async def together(
        self,
        name: Hashable,
        start: Callable[[], Coroutine[Any, Any, _Value]],
        seconds: float | None = None,
    ) -> _Value:
        """What a task returns that is under way already, or begins now, within bounded time.

        Who waits too long is refused, and the task goes on.
        """
        limit = seconds or self.settings.request_seconds
        running = self._shared.get(name)
        if running is None:
            running = self._shared[name] = asyncio.ensure_future(start())

            def done(ended: asyncio.Future[_Value]) -> None:
                del self._shared[name]
                if not ended.cancelled():
                    ended.exception()  # perhaps nobody waits for it any more

            running.add_done_callback(done)
        try:
            async with asyncio.timeout(limit):
                value: _Value = await asyncio.shield(running)
                return value
        except TimeoutError:
            raise unavailable(f"it took longer than {limit:g} s") from None

    async def is_ready(self) -> bool:
        """Whether a write would be done now; one is tried unless one was done just now."""
        if self.closing.is_set():
            return False
        if time.monotonic() - self._ready_at < _READY_SECONDS:
            return True
        seconds = min(2.0, self.settings.request_seconds)
        try:
            await self.together(
                "probe", lambda: self.change(self.database.probe, seconds), 2.0 * seconds
            )
        except Refusal:
            return False
        self._ready_at = time.monotonic()
        return True

    def uptime(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.measures.started
