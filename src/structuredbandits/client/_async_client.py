"""The asynchronous client of the service.

The synchronous client, ``_sync_client.py``, is generated from this file by ``make generated``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from structuredbandits.client import _requests as calls
from structuredbandits.client._records import (
    Correction,
    Decision,
    Experiment,
    Page,
    Reward,
    Subject,
)
from structuredbandits.client._retry import Retries
from structuredbandits.client._sleep import async_sleep
from structuredbandits.client._transport import Attempts, ServerAddress, options_of, result_of
from structuredbandits.errors import ServiceError

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")


class AsyncClient:
    """Asks a service for decisions and reports rewards to it.

    A call that fails for a temporary reason (no connection, 429, 503) is retried with growing,
    random waits. Each decision carries its own idempotency key, so a retry returns the same
    decision. Use one client per event loop, of asyncio or trio.

    Parameters
    ----------
    url
        The address of the service.
    key
        The API key. It is sent in a header and never shown.
    timeout_seconds
        Time limit of one attempt.
    connections
        Maximum number of concurrent calls; further calls wait. A small number is usually faster,
        since most of the time is spent in this process; more help only if the service is far away.
    retries
        How often and how long to retry.
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
        self._target = ServerAddress(url.rstrip("/"), key, timeout_seconds, connections)
        self._retries = retries or Retries()
        import httpx

        self._http = httpx.AsyncClient(**self._target.options(), transport=transport)
        self._temporary = httpx.TransportError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._target!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        await self._http.aclose()

    async def send(self, call: calls.Call[Result]) -> Result:
        """Send a call, and retry it where that is safe and can help."""
        attempts = Attempts(call, self._retries, self._target.url)
        options = options_of(call)
        while True:
            try:
                response = await self._http.request(**options)
            except self._temporary as error:
                wait = attempts.failed(error)
            else:
                if attempts.is_done(response):
                    return result_of(call, response)
                wait = attempts.answered(response)
            await async_sleep(wait)

    # --- experiments -----------------------------------------------------------------------------

    async def create_experiment(
        self,
        structure: calls.StructureGiven,
        policy: str = "default",
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
            The name of a policy, as on the command line.
        id
            The experiment's ID; by default the service generates one.
        settings
            For example ``{"floor": 0.02, "reward_deadline_seconds": 3600}``.
        """
        return await self.send(calls.create_experiment(structure, policy, id, settings))

    async def experiments(self) -> list[Experiment]:
        """List the experiments that the key gives access to."""
        return await self.send(calls.experiments())

    async def experiment(self, id: str) -> Experiment:
        """Get one experiment."""
        return await self.send(calls.experiment(id))

    async def pause(self, id: str) -> Experiment:
        """Pause an experiment: it makes no decisions, but still accepts rewards."""
        return await self.send(calls.set_state(id, "paused"))

    async def resume(self, id: str) -> Experiment:
        """Resume a paused experiment."""
        return await self.send(calls.set_state(id, "running"))

    async def retire_arm(self, id: str, arm: str) -> Experiment:
        """Retire an arm: it is not chosen any more."""
        return await self.send(calls.retire_arm(id, arm))

    async def restore_arm(self, id: str, arm: str) -> Experiment:
        """Restore a retired arm, so that it can be chosen again."""
        return await self.send(calls.restore_arm(id, arm))

    async def add_structure(self, id: str, structure: calls.StructureGiven) -> Experiment:
        """Add a version of the structure for new subjects; existing subjects keep theirs."""
        return await self.send(calls.add_structure(id, structure))

    async def structure(self, id: str, version: int) -> Any:
        """Get a version of the structure: arms, parameters, means."""
        return await self.send(calls.structure(id, version))

    async def summary(self, id: str) -> Any:
        """Get the summary of an experiment, as shown in the console."""
        return await self.send(calls.summary(id))

    async def events(
        self,
        experiment: str,
        *,
        limit: int = 1000,
        after: str | None = None,
        structure_version: int | None = None,
    ) -> Page[dict[str, Any]]:
        """Get a page of settled decisions after the cursor ``after``, as ``evaluate`` reads them.

        With ``structure_version``, only decisions made with that version of the structure.
        """
        return await self.send(calls.events(experiment, limit, after, structure_version))

    # --- subjects --------------------------------------------------------------------------------

    async def create_subject(self, experiment: str, subject: str | None = None) -> Subject:
        """Create a subject; without an ID, the service generates one.

        A decision for an unknown subject creates it as well.
        """
        return await self.send(calls.create_subject(experiment, subject))

    async def subject(self, experiment: str, subject: str) -> Subject:
        """Get a subject: its pulls and rewards, and which parameters are still plausible."""
        return await self.send(calls.subject(experiment, subject))

    async def subjects(
        self, experiment: str, *, limit: int = 100, after: str | None = None
    ) -> Page[Subject]:
        """Get a page of subjects after the cursor ``after``."""
        return await self.send(calls.subjects(experiment, limit, after))

    async def steps(self, experiment: str, subject: str) -> Any:
        """Get the pulls of a subject one by one."""
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
            The IDs of the experiment and of the subject.
        arms
            The arms allowed for this decision; by default all arms that are not retired.
        key
            Idempotency key: the same key gives the same decision, also from another process. By
            default each call has a new key, which all its attempts share.
        """
        return await self.send(calls.decide(experiment, subject, arms, key))

    async def decide_many(
        self, experiment: str, subjects: Iterable[str], *, arms: Iterable[str] | None = None
    ) -> list[Decision | ServiceError]:
        """Get an arm for each of many subjects, in their order.

        Returns
        -------
        list
            For each subject its decision, or the error that prevented it. One request carries up
            to 500 subjects; an error is raised only if all requests fail.
        """
        results = calls.BatchResults[Decision]()
        for call, count in calls.decide_many(experiment, subjects, arms):
            try:
                results.add(await self.send(call))
            except ServiceError as error:
                results.add_failed(error, count)
        return results.all()

    async def reward(self, decision: Decision | str, value: float) -> Reward:
        """Report the reward of a decision; repeated reports are counted once."""
        return await self.send(calls.reward(decision, value))

    async def reward_many(
        self, rewards: Iterable[tuple[Decision | str, float]]
    ) -> list[Reward | ServiceError]:
        """Report the rewards of many decisions, given as pairs of decision and reward.

        Returns
        -------
        list
            For each pair the recorded reward, or the error that prevented it.
        """
        results = calls.BatchResults[Reward]()
        for call, count in calls.reward_many(rewards):
            try:
                results.add(await self.send(call))
            except ServiceError as error:
                results.add_failed(error, count)
        return results.all()

    async def correct(self, decision: Decision | str, value: float, *, reason: str) -> Correction:
        """Replace a wrong reward; needs the admin scope and is written to the audit log."""
        return await self.send(calls.correct(decision, value, reason))
