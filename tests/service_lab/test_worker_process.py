"""The process of the lab: another one, ended if it takes too long, and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator

import psutil
import pytest

import structuredbandits as sb
from structuredbandits.service.errors import RequestError
from structuredbandits.service.security.api_keys import create_key
from structuredbandits.service.worker_process import WorkerProcess
from tests.service.conftest import running, settings_for
from tests.service.test_experiments import code
from tests.service_guarantees.servers import wait_until


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    made = WorkerProcess(waiting=1, seconds=600.0)
    yield made
    made.close()


def test_another_process_of_low_priority_calls_functions(worker: WorkerProcess) -> None:
    first = asyncio.run(worker.call(os.getpid))
    assert first != os.getpid()
    assert asyncio.run(worker.call(os.getpid)) == first
    assert psutil.Process(first).nice() == min(19, psutil.Process().nice() + 10)
    with pytest.raises(RequestError, match="neither a file nor") as refused:
        asyncio.run(worker.call(sb.load_structure, "four-arms"))
    assert (refused.value.status, refused.value.code) == (422, "invalid_structure")
    with pytest.raises(RequestError, match="the lab failed: ValueError") as failed:
        asyncio.run(worker.call(int, "a private value"))
    assert failed.value.status == 500
    assert "private" not in failed.value.message
    worker.close()
    assert not psutil.pid_exists(first)


def test_what_takes_too_long_is_ended_and_the_next_call_is_answered(worker: WorkerProcess) -> None:
    first = asyncio.run(worker.call(os.getpid))
    worker.seconds = 0.1
    with pytest.raises(RequestError, match="longer than") as late:
        asyncio.run(worker.call(time.sleep, 600.0))
    assert late.value.status == 503
    worker.seconds = 600.0
    second = asyncio.run(worker.call(os.getpid))
    assert second != first
    os.kill(second, signal.SIGKILL)
    wait_until(lambda: psutil.Process(second).status() == psutil.STATUS_ZOMBIE)
    assert asyncio.run(worker.call(os.getpid)) not in (first, second)


def test_calls_beyond_the_queue_are_refused(worker: WorkerProcess) -> None:
    async def ask() -> list[object]:
        calls = [worker.call(os.getpid) for _ in range(4)]
        return await asyncio.gather(*calls, return_exceptions=True)

    answers = asyncio.run(ask())
    assert [type(one) for one in answers] == [int, int, RequestError, RequestError]
    assert isinstance(answers[3], RequestError)
    assert (answers[3].status, answers[3].retry_after) == (429, 1)


def test_closing_ends_a_running_call(worker: WorkerProcess) -> None:
    asyncio.run(worker.call(os.getpid))
    errors = []

    def ask() -> None:
        try:
            asyncio.run(worker.call(time.sleep, 600.0))
        except RequestError as error:
            errors.append(error.status)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: worker._calls == 1)
    worker.close()
    asking.join()
    assert errors == [503]


def test_the_lab_needs_a_key_that_may_read(tmp_path: object) -> None:
    for api in running(settings_for(f"{tmp_path}/a.db", insecure=False)):
        statuses = []
        for scopes in (["decide", "reward"], ["read"], ["admin"]):
            with api.service.database.write() as connection:
                key, _ = create_key(connection, scopes)
            header = {"Authorization": f"Bearer {key}"}
            answer = api.client.get("/v1/lab/problems", headers=header)
            statuses.append(answer.status_code)
            if answer.status_code != 200:
                assert code(answer) == (403, "scope_missing")
        assert statuses == [403, 200, 200]
