"""A running service: its database, writers, readers and background jobs."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from cachetools import TTLCache
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import SQLAlchemyError

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.decisions.commands import Command, WriteTask
from structuredbandits.service.decisions.group_commit import Executor, GroupCommit
from structuredbandits.service.errors import (
    RequestError,
    database_code,
    kind_of,
    overloaded,
    place_of,
    unavailable,
)
from structuredbandits.service.experiments.experiment_cache import ExperimentCache
from structuredbandits.service.experiments.stored_experiment import (
    StoredExperiment,
    Version,
    require_experiment,
)
from structuredbandits.service.jobs.scheduler import Scheduler
from structuredbandits.service.metrics import Metrics
from structuredbandits.service.reporting.aggregates import AggregateCache
from structuredbandits.service.request_context import current_request
from structuredbandits.service.security.key_cache import KeyCache
from structuredbandits.service.security.key_use import KeyUse
from structuredbandits.service.security.token_buckets import TokenBuckets
from structuredbandits.service.settings import ServiceSettings
from structuredbandits.service.storage import migrate, open_database, tables
from structuredbandits.service.worker_process import WorkerProcess

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")
# Readers that may wait for a connection before more are rejected.
_READS_WAITING = 64
_PRELOADED = 16
# How long the comparison in a summary (baseline and health) is kept.
_COMPARED_SECONDS = 30.0
# How long a structure may take to be read and compiled; requests for it are rejected earlier.
_LOADING_SECONDS = 60.0
# Retention that needs a confirmation is not counted again for this time.
_REFUSED_SECONDS = 60.0
# Commands of a part of a batch.
_PART = 16
# Requests of the lab that may wait, and how long one may take; a first run compiles.
_LAB_WAITING = 4
_LAB_SECONDS = 120.0
# After a successful write, readiness is not tested again for this time.
_READY_SECONDS = 1.0


def _give_way_to_others() -> None:
    """Lower the priority of this thread, where the system has priorities of threads."""
    with contextlib.suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


class Service:
    """Everything behind the API.

    Parameters
    ----------
    settings
        Database, limits and timeouts.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.database = open_database(settings.database, settings)
        migrate(self.database.url)
        self.experiment_cache = ExperimentCache()
        self.executor = Executor(self.database, self.experiment_cache)
        self.metrics = Metrics()
        self.commits = GroupCommit(
            self.executor.commit,
            writers=self.database.writers,
            queue_length=settings.queue_length,
            group_size=settings.group_size,
            observe=self.metrics.group,
            failed=self._transaction_failed,
        )
        self._pool = ThreadPoolExecutor(settings.readers, thread_name_prefix="reader")
        self._background = ThreadPoolExecutor(1, thread_name_prefix="preparing")
        self._costly = ThreadPoolExecutor(
            1, thread_name_prefix="costly", initializer=_give_way_to_others
        )
        self._reads = 0
        self._reading: dict[object, float] = {}  # start times of the running reads
        self.exporting = asyncio.Semaphore(1)  # parts of exports are read one at a time
        self.aggregates = AggregateCache()
        self.refused_retention: TTLCache[str, Any] = TTLCache(1_024, _REFUSED_SECONDS)
        self.draining = threading.Event()
        self.comparisons: TTLCache[str, dict[str, Any]] = TTLCache(64, _COMPARED_SECONDS)
        self.key_cache = KeyCache(self, settings.key_seconds, settings.key_outage_seconds)
        self.key_use = KeyUse()
        self.lab = WorkerProcess(_LAB_WAITING, _LAB_SECONDS)
        self.public_rates = TokenBuckets()  # of publishable keys, in this process
        self.scheduler = Scheduler(self)
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
            found = names.all()
            for number, name in enumerate(found, 1):
                detail = {"experiment": name, "number": number, "of": len(found)}
                _log.info("loading an experiment; its policy is compiled if new", extra=detail)
                try:
                    experiment = self.experiment_cache.experiment(connection, name)
                    if experiment is not None:
                        self.experiment_cache.version(connection, experiment, experiment.version)
                except StructuredBanditsError as error:  # the others can be served
                    _log.error("%s", error, extra={"experiment": name})
                except Exception as error:  # a damaged row can raise anything
                    detail = {"experiment": name} | place_of(error)
                    _log.error("cannot be loaded: %s", kind_of(error), extra=detail)
        self.scheduler.start()

    def close(self) -> None:
        """Finish running work, then close the database."""
        self.closing.set()
        self.scheduler.stop()
        self.commits.close(self.settings.request_seconds)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._background.shutdown(wait=False, cancel_futures=True)
        self._costly.shutdown(wait=False, cancel_futures=True)
        self.key_cache.close()
        self.lab.close()
        self.database.close()

    # -- writing -----------------------------------------------------------------------------------

    async def write(
        self,
        commands: Sequence[Command],
        seconds: float | None = None,
        tenant: Hashable = None,
    ) -> list[Any]:
        """Return the results of commands, each an answer or an exception, once they are durable.

        ``tenant`` is who takes turns with others: an experiment with a key.
        """
        return await self.commits.do(commands, seconds or self.settings.request_seconds, tenant)

    async def write_many(
        self, commands: Sequence[Command], tenant: Hashable, *, in_order: bool
    ) -> list[Any]:
        """As `write`, in parts, so that a large batch does not delay other tenants.

        Parameters
        ----------
        commands, tenant
            As in `write`.
        in_order
            Whether the order matters: then a part waits for the one before it.

        Raises
        ------
        RequestError
            If all parts fail. If some do, their commands have the error as their results.
        """
        if len(commands) <= _PART:
            return await self.write(commands, None, tenant)
        parts = [commands[place : place + _PART] for place in range(0, len(commands), _PART)]
        seconds = self.settings.request_seconds
        outcomes: list[Any] = []
        if in_order:
            end = time.monotonic() + seconds
            for part in parts:
                left = max(0.001, end - time.monotonic())
                outcomes += await self.commits.do_parts([part], left, tenant)
        else:
            outcomes = await self.commits.do_parts(parts, seconds, tenant)
        failed = [one for one in outcomes if isinstance(one, BaseException)]
        if len(failed) == len(parts):
            raise failed[0]
        results: list[Any] = []
        for part, outcome in zip(parts, outcomes, strict=True):
            results += outcome if isinstance(outcome, list) else [outcome] * len(part)
        return results

    async def compute(self, work: Callable[[], _Value], seconds: float) -> _Value:
        """Run a function that computes for long, in a thread that gives way to all others."""
        running = asyncio.get_running_loop().run_in_executor(self._costly, work)
        try:
            async with asyncio.timeout(seconds):
                return await running
        except TimeoutError:
            raise overloaded("too many costly decisions are waiting") from None

    async def change(
        self, work: Callable[[Connection], _Value], seconds: float | None = None
    ) -> _Value:
        """Run a function that writes, alone in its transaction."""
        results = await self.write([WriteTask(work)], seconds)
        value: _Value = results[0]
        return value

    # -- reading -----------------------------------------------------------------------------------

    async def read(
        self, work: Callable[[Connection], _Value], seconds: float | None = None
    ) -> _Value:
        """Run a function in a reading transaction, within bounded time."""
        limit = seconds or self.settings.request_seconds

        def job() -> _Value:
            mark = object()
            self._reading[mark] = time.monotonic()
            try:
                with self.database.read(limit) as connection:
                    return work(connection)
            except SQLAlchemyError as error:
                self.read_failed("a read failed", error)
                raise unavailable(kind_of(error)) from error
            finally:
                del self._reading[mark]

        self._reject_if_stuck()
        if limit > self.settings.request_seconds:
            # Computing may take long; waiting for an unresponsive database may not.
            await self.read(lambda connection: connection.execute(text("SELECT 1")).close())
        return await self._bounded(self._pool, job, limit)

    def read_failed(self, what: str, error: SQLAlchemyError) -> None:
        """Count and log an error of the database."""
        code = database_code(error)
        self.metrics.database_errors.labels(code or "none").inc()
        _log.warning("%s: %s", what, kind_of(error), extra={"database_code": code})

    def _reject_if_stuck(self) -> None:
        """Reject reads while all readers are stuck, instead of queueing behind them."""
        begun = list(self._reading.values())
        patience = 2.0 * self.settings.request_seconds
        if len(begun) >= self.settings.readers and time.monotonic() - max(begun) > patience:
            raise unavailable("it has not answered any reader for a while")

    async def prepare(self, work: Callable[[], _Value]) -> _Value:
        """Run a function that may compile for a while, outside the event loop."""
        return await self._bounded(self._background, work, 120.0)

    async def _bounded(
        self, pool: ThreadPoolExecutor, work: Callable[[], _Value], seconds: float
    ) -> _Value:
        if self._reads >= _READS_WAITING:
            raise overloaded("too many reads are waiting")
        self._reads += 1
        try:
            # The log of the thread names the request.
            within = partial(contextvars.copy_context().run, work)
            running = asyncio.get_running_loop().run_in_executor(pool, within)
            async with asyncio.timeout(seconds):
                return await running
        except TimeoutError:
            raise unavailable(f"it took longer than {seconds:g} s") from None
        finally:
            self._reads -= 1

    # -- what requests need ------------------------------------------------------------------------

    async def experiment(self, name: str) -> StoredExperiment:
        """Return an experiment from memory, or read it."""
        held = self.experiment_cache.known(name)
        if held is not None and self.experiment_cache.known_version(name, held.version) is not None:
            return held

        def load(connection: Connection) -> StoredExperiment:
            found = self.experiment_cache.experiment(connection, name)
            if found is None:
                return require_experiment(connection, name)
            self.experiment_cache.version(connection, found, found.version)
            return found

        found = await self._load(name, load)
        context = current_request.get()
        if context is not None:
            context.experiment = name
        return found

    async def version(self, experiment: StoredExperiment, number: int) -> Version:
        """A version of an experiment's structure."""
        held = self.experiment_cache.known_version(experiment.id, number)
        if held is not None:
            return held
        return await self._load(
            (experiment.id, number),
            lambda connection: self.experiment_cache.version(connection, experiment, number),
        )

    async def _load(self, name: Hashable, work: Callable[[Connection], _Value]) -> _Value:
        """Read something into memory, once for all concurrent requests.

        Compiling may take longer than a request; later requests find it done.
        """
        return await self.together(name, lambda: self.read(work, _LOADING_SECONDS))

    async def together(
        self,
        name: Hashable,
        start: Callable[[], Coroutine[Any, Any, _Value]],
        seconds: float | None = None,
    ) -> _Value:
        """Return the result of a task that is already running, or is started now.

        A request that waits too long is rejected, and the task continues.
        """
        limit = seconds or self.settings.request_seconds
        running = self._shared.get(name)
        if running is None:
            running = self._shared[name] = asyncio.ensure_future(start())

            def done(ended: asyncio.Future[_Value]) -> None:
                del self._shared[name]
                if not ended.cancelled():
                    ended.exception()  # perhaps nothing awaits it any more

            running.add_done_callback(done)
        try:
            async with asyncio.timeout(limit):
                value: _Value = await asyncio.shield(running)
                return value
        except TimeoutError:
            raise unavailable(f"it took longer than {limit:g} s") from None

    def _transaction_failed(self, code: str | None) -> None:
        """Count it, and test readiness again at the next question."""
        self.metrics.transaction_failed(code)
        self._ready_at = -_READY_SECONDS

    async def metrics_text(self) -> bytes:
        """All metrics, with the readiness and the queues of this moment."""
        self.metrics.ready.set(await self.is_ready())
        self.metrics.reads_waiting.set(self._reads)
        return self.metrics.text(self.commits.waiting)

    async def is_ready(self) -> bool:
        """Whether a write succeeds now; one is tried unless one has just succeeded."""
        if self.closing.is_set() or self.draining.is_set():
            return False
        if time.monotonic() - self._ready_at < _READY_SECONDS:
            return True
        seconds = min(2.0, self.settings.request_seconds)
        try:
            await self.together(
                "probe", lambda: self.change(self.database.probe, seconds), 2.0 * seconds
            )
        except RequestError:
            return False
        self._ready_at = time.monotonic()
        return True

    def uptime(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.metrics.started
