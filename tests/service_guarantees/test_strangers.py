"""More half-open connections than the process may open files: everybody else is served."""

from __future__ import annotations

import contextlib
import resource
import socket

import httpx

from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.servers import Launcher

FILES = 1_024
HALF_OPEN = 1_100
BEGUN = (b"", b"POST /v1/experi", b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: ")


def test_half_open_connections_do_not_stop_others(launch: Launcher, tmp_path: object) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = launch.start("--db", f"{tmp_path}/b.db", "--insecure", files=FILES)
    create(server)
    path = f"/v1/experiments/{EXPERIMENT}/decisions"
    with contextlib.ExitStack() as stack:
        for number in range(HALF_OPEN):
            stranger = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            with contextlib.suppress(ConnectionError):  # others have replaced it already
                stranger.sendall(BEGUN[number % len(BEGUN)])
        for number in range(50):
            with httpx.Client(base_url=server.url, timeout=60.0) as client:
                for turn in range(2):
                    answer = client.post(path, json={"subject": f"visitor-{number}-{turn}"})
                    assert answer.status_code == 201
    server.stop()
