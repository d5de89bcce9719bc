"""Clients that keep asking, remember every answer that they got, and never give up.

What a worker does next follows from its number and its step alone, and so does the reward of a
decision: two runs that lose nothing end with the same counts, however they were disturbed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from structuredbandits.client import Client, Decision, Retries
from structuredbandits.errors import Overloaded, Unavailable, Unreachable
from tests.service_guarantees.servers import wait_until

#: Each attempt that fails is taken up by the worker itself, at the next address.
ONCE = Retries(attempts=1)


def reward_of(subject: str, round: int, arm: str) -> float:
    """A reward that depends on nothing but its arguments, in steps of 1/16 from 0 to 6."""
    text = f"{subject}/{round}/{arm}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest()) % 97 / 16


@dataclass
class Acknowledged:
    """What the service has said was done."""

    decisions: dict[str, Decision] = field(default_factory=dict)  # by key
    rewards: dict[str, float] = field(default_factory=dict)  # by decision

    def add(self, other: Acknowledged) -> None:
        self.decisions.update(other.decisions)
        self.rewards.update(other.rewards)


class Worker(threading.Thread):
    """Decides and rewards for its own subjects until it is stopped.

    It leaves every fifth decision without a reward, and it finishes what it has begun.
    """

    def __init__(
        self,
        urls: Sequence[str],
        key: str | None,
        experiment: str,
        number: int,
        steps: int | None,
        last_step: threading.Event,
    ) -> None:
        super().__init__(daemon=True)
        self.acknowledged = Acknowledged()
        self.failure: BaseException | None = None
        self.stopping = threading.Event()
        self.rejections = 0
        self._clients = [Client(url, key, retries=ONCE, timeout_seconds=60.0) for url in urls]
        self._experiment = experiment
        self._number = number
        self._steps = steps
        self._last_step = last_step
        self._turn = number

    def run(self) -> None:
        try:
            step = 0
            while not self.stopping.is_set() and step != self._steps:
                if step + 1 == self._steps:
                    self._last_step.wait()
                self._step(step)
                step += 1
        except BaseException as failure:
            self.failure = failure
        finally:
            for client in self._clients:
                client.close()

    def _step(self, step: int) -> None:
        subject = f"w{self._number}-s{step % 3}"
        key = f"w{self._number}-k{step}"
        decision = self._insist("decide", self._experiment, subject, key=key)
        self.acknowledged.decisions[key] = decision
        if step % 5 != 4:
            value = reward_of(subject, decision.round, decision.arm)
            self._insist("reward", decision.id, value)
            self.acknowledged.rewards[decision.id] = value

    def _insist(self, name: str, *args: object, **options: object) -> Decision:
        """Make a call until it succeeds, each time at the next address."""
        while True:
            client = self._clients[self._turn % len(self._clients)]
            try:
                made: Decision = getattr(client, name)(*args, **options)
                return made
            except (Unreachable, Unavailable, Overloaded):
                self.rejections += 1
                self._turn += 1
                self.stopping.wait(0.01)


class Load:
    """Some workers at once; with `held`, their last step waits until `last_step` is set."""

    def __init__(
        self,
        urls: Sequence[str],
        key: str | None,
        experiment: str,
        workers: int,
        steps: int | None = None,
        held: bool = False,
    ) -> None:
        self.last_step = threading.Event()
        if not held:
            self.last_step.set()
        self.workers = [
            Worker(urls, key, experiment, n, steps, self.last_step) for n in range(workers)
        ]
        for worker in self.workers:
            worker.start()

    def decided(self) -> int:
        """How many decisions have been acknowledged so far."""
        return sum(len(worker.acknowledged.decisions) for worker in self.workers)

    def wait_for_more(self, seconds: float = 300.0) -> None:
        """Wait until another decision has been acknowledged."""
        before = self.decided()
        wait_until(lambda: self.decided() > before, seconds, "another decision")

    def finish(self, stop: bool = True) -> Acknowledged:
        """Wait for all of them; raises what went wrong in one."""
        every = Acknowledged()
        for worker in self.workers:
            if stop:
                worker.stopping.set()
        for worker in self.workers:
            worker.join(timeout=600)
            assert not worker.is_alive(), "a worker got no answer for ten minutes"
            if worker.failure is not None:
                raise worker.failure
            every.add(worker.acknowledged)
        return every
