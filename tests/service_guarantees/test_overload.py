"""Ten times as many requests as may wait: 429 with Retry-After for the rest, and flat memory."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.servers import Launcher, Server

QUEUE = 32
CONNECTIONS = 10 * QUEUE
ROUNDS = 4


async def one_connection(server: Server, number: int, rounds: int, seen: Counter[str]) -> None:
    """Repeat a request on one connection, ignoring Retry-After, until it is served.

    The number of served requests depends on the speed of the disk.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        turn, served = 0, False
        while turn < rounds or not served:
            body = json.dumps({"subject": f"c{number}-{turn % 2}"}).encode()
            head = (
                f"POST /v1/experiments/{EXPERIMENT}/decisions HTTP/1.1\r\n"
                f"Host: 127.0.0.1:{server.port}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            status = lines[0].split()[1]
            headers = dict(line.split(": ", 1) for line in lines[1:] if line)
            await reader.readexactly(int(headers["content-length"]))
            seen[status] += 1
            turn, served = turn + 1, served or status == "201"
            if status == "429":
                assert int(headers["retry-after"]) >= 1
    finally:
        writer.close()


async def flood(server: Server, rounds: int) -> Counter[str]:
    """All connections at once."""
    seen: Counter[str] = Counter()
    await asyncio.gather(*(one_connection(server, n, rounds, seen) for n in range(CONNECTIONS)))
    return seen


def test_ten_times_too_much_is_refused_with_a_time_and_takes_no_memory(
    launch: Launcher, database: str
) -> None:
    patience = ("--request-seconds", "60")  # only the length of the queue is to matter
    server = launch.start("--db", database, "--insecure", "--queue", str(QUEUE), *patience)
    create(server)
    asyncio.run(flood(server, ROUNDS))  # brings memory to its level: buffers, caches, connections
    before = server.memory_megabytes()
    seen = asyncio.run(flood(server, 3 * ROUNDS))
    after = server.memory_megabytes()
    assert set(seen) == {"201", "429"}
    assert sum(seen.values()) >= CONNECTIONS * 3 * ROUNDS
    assert seen["429"] >= CONNECTIONS
    assert seen["201"] >= CONNECTIONS
    # If each of the 3,840 requests left 4 kB behind, it would be 15 MB.
    assert after - before < 8.0, f"{before:.0f} MB grew to {after:.0f} MB"
    assert server.status("/readyz") == 200
    server.stop()
