"""A process of its own for long computations, with a small queue.

It has a lower priority than the service, is started with the first computation, and is ended and
started again if one takes too long.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.errors import RequestError, kind_of
from structuredbandits.service.json_log import log_as_json

_Value = TypeVar("_Value")
# Importing the library takes some seconds, and longer on a busy machine.
_START_SECONDS = 300.0
_PRIORITY = 10
_ERROR_FIELDS = ("status", "code", "message", "remedy", "retry_after")


class WorkerProcess:
    """One process that calls functions for a service, one after another.

    Parameters
    ----------
    waiting
        Calls that may wait for the running one; further ones are rejected with 429.
    seconds
        How long a call may take; then the process is ended.
    """

    def __init__(self, waiting: int, seconds: float) -> None:
        self.waiting = waiting
        self.seconds = seconds
        self._calls = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="worker-process")
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._open = True

    async def call(self, function: Callable[..., _Value], *given: Any) -> _Value:
        """Call a function of a module in the process.

        Raises
        ------
        RequestError
            429 if too many calls wait, 503 if it took too long or the process ended; the function's
            own error if it is one of this library.
        """
        if self._calls > self.waiting:
            raise RequestError(
                429, "busy", "the lab is computing other runs.", "Try again in a second.", 1
            )
        self._calls += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._exchange, function, given)
        finally:
            self._calls -= 1

    def close(self) -> None:
        """End the process, with what it is doing."""
        with self._lock:
            self._open = False
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._end()

    def _exchange(self, function: Callable[..., _Value], given: tuple[Any, ...]) -> _Value:
        try:
            pipe = self._started()
            pipe.send((function, given))
            if not pipe.poll(self.seconds):
                raise TimeoutError
            good, content = pipe.recv()
        except TimeoutError:
            self._end()
            raise _failed(f"it took longer than {self.seconds:g} s") from None
        except (EOFError, OSError):
            self._end()
            raise _failed("its process ended") from None
        if good:
            value: _Value = content
            return value
        raise RequestError(*content)

    def _started(self) -> Connection:
        """The connection to the process, which is started unless it runs."""
        with self._lock:
            if not self._open:
                raise EOFError
            if self._pipe is not None and self._process is not None and self._process.is_alive():
                return self._pipe
            context = multiprocessing.get_context("spawn")  # a fork would copy locks of threads
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_work, args=(theirs,), daemon=True, name="lab")
            self._process.start()
            theirs.close()  # so that the end of the process ends the connection
            pipe = self._pipe
        if not pipe.poll(_START_SECONDS):
            raise EOFError
        pipe.recv()
        return pipe

    def _end(self) -> None:
        with self._lock:
            process, pipe = self._process, self._pipe
            self._process = self._pipe = None
        if process is not None:
            process.kill()
            process.join()
        if pipe is not None:
            pipe.close()


def _failed(why: str) -> RequestError:
    return RequestError(
        503, "lab_failed", f"the lab did not complete the request: {why}.", "Ask for less.", 1
    )


def _work(pipe: Connection) -> None:
    """Call functions until the connection ends: with the service, however it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal interrupts the service, which ends us
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_PRIORITY)
    log_as_json()
    pipe.send("started")
    while True:
        try:
            asked = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        pipe.send(_outcome(asked))


def _outcome(asked: bytes) -> tuple[bool, Any]:
    """Whether a call succeeded, and its value or the fields of the error."""
    from structuredbandits.service.api.responses import to_request_error

    try:
        function, given = pickle.loads(asked)  # from the service itself
        return True, function(*given)
    except StructuredBanditsError as error:
        found = to_request_error(error)
        return False, tuple(getattr(found, name) for name in _ERROR_FIELDS)
    except Exception as error:
        return False, (500, "internal", f"the lab failed: {kind_of(error)}; see the log.", None)
