"""The client for programs that do something else while they wait for an answer.

The same calls as the other client's, with ``await``; a test compares the two method by method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from structuredbandits.client import calls
from structuredbandits.client.records import (
    Correction,
    Decision,
    Experiment,
    Page,
    Reward,
    Subject,
)
from structuredbandits.client.retries import Retries
from structuredbandits.client.sending import Attempts, Target, options_of, result_of
from structuredbandits.errors import ServiceError

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")


class AsyncClient:
    """Asks a service for decisions and tells it the rewards, many at a time if wanted.

    A call that failed for a passing reason (no connection, 429, 503) is made again with growing,
    random waits; each decision carries a key of its own, so a repeated one is the same decision.
    It belongs to one event loop, of asyncio or trio.

    Parameters
    ----------
    url
        Where the service listens.
    key
        The API key. It is sent in a header and never shown.
    timeout_seconds
        How long one attempt may take.
    connections
        How many calls are under way at once; further ones wait. Few are faster, since the time
        goes into this program's own work: more help only if the service is far away.
    retries
        How often and how long to try again.
    transport
        An ``httpx`` transport, for tests and unusual networks.

    Examples
    --------
    >>> import asyncio
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:8000", key="sb_secret") as client:
    ...         print(client)
    >>> asyncio.run(main())
    AsyncClient('http://127.0.0.1:8000', key=...)
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout_seconds: float = 10.0,
        connections: int = 10,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._target = Target(url.rstrip("/"), key, timeout_seconds, connections)
        self._retries = retries or Retries()
        import httpx

        self._http = httpx.AsyncClient(**self._target.options(), transport=transport)
        self._passing = httpx.TransportError

    def __repr__(self) -> str:
        return f"AsyncClient({self._target!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the client is of no use after it."""
        await self._http.aclose()

    async def send(self, call: calls.Call[Result]) -> Result:
        """Make a call, again where that is safe and may help."""
        import anyio

        attempts = Attempts(call, self._retries, self._target.url)
        options = options_of(call)
        while True:
            try:
                response = await self._http.request(**options)
            except self._passing as error:
                wait = attempts.failed(error)
            else:
                if attempts.is_done(response):
                    return result_of(call, response)
                wait = attempts.answered(response)
            await anyio.sleep(wait)

    # --- experiments -----------------------------------------------------------------------------

    async def create_experiment(
        self,
        structure: calls.StructureGiven,
        policy: str = "hierarchical",
        *,
        id: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Experiment:
        """Create an experiment.

        Parameters
        ----------
        structure
            The name of an embedded problem, or the path of a structure file as a `Path`.
        policy
            A policy's name, as on the command line.
        id
            A name for it; without one the service gives one.
        settings
            Such as ``{"floor": 0.02, "reward_deadline_seconds": 3600}``.
        """
        return await self.send(calls.create_experiment(structure, policy, id, settings))

    async def experiments(self) -> list[Experiment]:
        """List the experiments that the key opens."""
        return await self.send(calls.experiments())

    async def experiment(self, id: str) -> Experiment:
        """Look at one experiment."""
        return await self.send(calls.experiment(id))

    async def pause(self, id: str) -> Experiment:
        """Make no more decisions in an experiment; rewards still come in."""
        return await self.send(calls.set_state(id, "paused"))

    async def resume(self, id: str) -> Experiment:
        """Make decisions again in a paused experiment."""
        return await self.send(calls.set_state(id, "running"))

    async def retire_arm(self, id: str, arm: str) -> Experiment:
        """Choose an arm no more."""
        return await self.send(calls.retire_arm(id, arm))

    async def restore_arm(self, id: str, arm: str) -> Experiment:
        """Choose a retired arm again."""
        return await self.send(calls.restore_arm(id, arm))

    async def add_structure(self, id: str, structure: calls.StructureGiven) -> Experiment:
        """Give new subjects a new version of the structure; the others keep theirs."""
        return await self.send(calls.add_structure(id, structure))

    async def structure(self, id: str, version: int) -> Any:
        """Look at a version of the structure: arms, parameters, means."""
        return await self.send(calls.structure(id, version))

    async def summary(self, id: str) -> Any:
        """Look at what the console shows of an experiment."""
        return await self.send(calls.summary(id))

    async def events(
        self,
        experiment: str,
        *,
        limit: int = 1000,
        after: str | None = None,
        structure_version: int | None = None,
    ) -> Page[dict[str, Any]]:
        """Get some settled decisions, those behind ``after``, as ``evaluate`` reads them.

        With ``structure_version`` only decisions on that version of the structure.
        """
        return await self.send(calls.events(experiment, limit, after, structure_version))

    # --- subjects --------------------------------------------------------------------------------

    async def create_subject(self, experiment: str, subject: str | None = None) -> Subject:
        """Make a subject, with an id of the service if none is given.

        A decision for an unknown subject makes it as well.
        """
        return await self.send(calls.create_subject(experiment, subject))

    async def subject(self, experiment: str, subject: str) -> Subject:
        """Look at what has been seen of a subject, and what is plausible after it."""
        return await self.send(calls.subject(experiment, subject))

    async def subjects(
        self, experiment: str, *, limit: int = 100, after: str | None = None
    ) -> Page[Subject]:
        """List some subjects, those behind ``after``."""
        return await self.send(calls.subjects(experiment, limit, after))

    async def steps(self, experiment: str, subject: str) -> Any:
        """Look at a subject's pulls one by one."""
        return await self.send(calls.steps(experiment, subject))

    async def delete_subject(self, experiment: str, subject: str) -> None:
        """Delete a subject and all its data."""
        await self.send(calls.delete_subject(experiment, subject))

    # --- decisions and rewards -------------------------------------------------------------------

    async def decide(
        self,
        experiment: str,
        subject: str,
        *,
        arms: Iterable[str] | None = None,
        key: str | None = None,
    ) -> Decision:
        """Get an arm for a subject.

        Parameters
        ----------
        experiment, subject
            For whom.
        arms
            Only these are allowed this time; all that are not retired by default.
        key
            Names this decision: the same key gives the same decision, also from another process.
            By default a new one for each call, and the same for all its attempts.
        """
        return await self.send(calls.decide(experiment, subject, arms, key))

    async def decide_many(
        self, experiment: str, subjects: Iterable[str], *, arms: Iterable[str] | None = None
    ) -> list[Decision | ServiceError]:
        """Get an arm for each of many subjects, in their order.

        Returns
        -------
        list
            For each subject its decision, or the error that kept it from having one. Up to 500
            subjects go into one request; an error is raised only if all requests failed.
        """
        outcomes = calls.Outcomes[Decision]()
        for call, count in calls.decide_many(experiment, subjects, arms):
            try:
                outcomes.add(await self.send(call))
            except ServiceError as error:
                outcomes.lose(error, count)
        return outcomes.all()

    async def reward(self, decision: Decision | str, value: float) -> Reward:
        """Tell the reward of a decision; it counts once however often it is told."""
        return await self.send(calls.reward(decision, value))

    async def reward_many(
        self, rewards: Iterable[tuple[Decision | str, float]]
    ) -> list[Reward | ServiceError]:
        """Tell the rewards of many decisions, given as pairs of decision and reward.

        Returns
        -------
        list
            For each pair what became of it, or the error that kept it from being counted.
        """
        outcomes = calls.Outcomes[Reward]()
        for call, count in calls.reward_many(rewards):
            try:
                outcomes.add(await self.send(call))
            except ServiceError as error:
                outcomes.lose(error, count)
        return outcomes.all()

    async def correct(self, decision: Decision | str, value: float, *, reason: str) -> Correction:
        """Replace a wrong reward; needs the admin scope, and who did it and why is kept."""
        return await self.send(calls.correct(decision, value, reason))
