"""The synchronous client of the service.

Generated from ``_async_client.py`` by ``make generated``: edit that file, not this one.
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
from structuredbandits.client._sleep import sync_sleep
from structuredbandits.client._transport import Attempts, ServerAddress, options_of, result_of
from structuredbandits.errors import ServiceError

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")


class Client:
    """Asks a service for decisions and reports rewards to it.

    A call that fails for a temporary reason (no connection, 429, 503) is retried with growing,
    random waits. Each decision carries its own idempotency key, so a retry returns the same
    decision. Many threads may share one client.

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
    >>> with Client("http://127.0.0.1:8000", key="sb_secret") as client:
    ...     print(client)
    Client('http://127.0.0.1:8000', key=...)
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout_seconds: float = 10.0,
        connections: int = 10,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._target = ServerAddress(url.rstrip("/"), key, timeout_seconds, connections)
        self._retries = retries or Retries()
        import httpx

        self._http = httpx.Client(**self._target.options(), transport=transport)
        self._temporary = httpx.TransportError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._target!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        self._http.close()

    def send(self, call: calls.Call[Result]) -> Result:
        """Send a call, and retry it where that is safe and can help."""
        attempts = Attempts(call, self._retries, self._target.url)
        options = options_of(call)
        while True:
            try:
                response = self._http.request(**options)
            except self._temporary as error:
                wait = attempts.failed(error)
            else:
                if attempts.is_done(response):
                    return result_of(call, response)
                wait = attempts.answered(response)
            sync_sleep(wait)

    # --- experiments -----------------------------------------------------------------------------

    def create_experiment(
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
        return self.send(calls.create_experiment(structure, policy, id, settings))

    def experiments(self) -> list[Experiment]:
        """List the experiments that the key gives access to."""
        return self.send(calls.experiments())

    def experiment(self, id: str) -> Experiment:
        """Get one experiment."""
        return self.send(calls.experiment(id))

    def pause(self, id: str) -> Experiment:
        """Pause an experiment: it makes no decisions, but still accepts rewards."""
        return self.send(calls.set_state(id, "paused"))

    def resume(self, id: str) -> Experiment:
        """Resume a paused experiment."""
        return self.send(calls.set_state(id, "running"))

    def retire_arm(self, id: str, arm: str) -> Experiment:
        """Retire an arm: it is not chosen any more."""
        return self.send(calls.retire_arm(id, arm))

    def restore_arm(self, id: str, arm: str) -> Experiment:
        """Restore a retired arm, so that it can be chosen again."""
        return self.send(calls.restore_arm(id, arm))

    def add_structure(self, id: str, structure: calls.StructureGiven) -> Experiment:
        """Add a version of the structure for new subjects; existing subjects keep theirs."""
        return self.send(calls.add_structure(id, structure))

    def structure(self, id: str, version: int) -> Any:
        """Get a version of the structure: arms, parameters, means."""
        return self.send(calls.structure(id, version))

    def summary(self, id: str) -> Any:
        """Get the summary of an experiment, as shown in the console."""
        return self.send(calls.summary(id))

    def events(
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
        return self.send(calls.events(experiment, limit, after, structure_version))

    # --- subjects --------------------------------------------------------------------------------

    def create_subject(self, experiment: str, subject: str | None = None) -> Subject:
        """Create a subject; without an ID, the service generates one.

        A decision for an unknown subject creates it as well.
        """
        return self.send(calls.create_subject(experiment, subject))

    def subject(self, experiment: str, subject: str) -> Subject:
        """Get a subject: its pulls and rewards, and which parameters are still plausible."""
        return self.send(calls.subject(experiment, subject))

    def subjects(
        self, experiment: str, *, limit: int = 100, after: str | None = None
    ) -> Page[Subject]:
        """Get a page of subjects after the cursor ``after``."""
        return self.send(calls.subjects(experiment, limit, after))

    def steps(self, experiment: str, subject: str) -> Any:
        """Get the pulls of a subject one by one."""
        return self.send(calls.steps(experiment, subject))

    def delete_subject(self, experiment: str, subject: str) -> None:
        """Delete a subject and all its data."""
        self.send(calls.delete_subject(experiment, subject))

    # --- decisions and rewards -------------------------------------------------------------------

    def decide(
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
        return self.send(calls.decide(experiment, subject, arms, key))

    def decide_many(
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
                results.add(self.send(call))
            except ServiceError as error:
                results.add_failed(error, count)
        return results.all()

    def reward(self, decision: Decision | str, value: float) -> Reward:
        """Report the reward of a decision; repeated reports are counted once."""
        return self.send(calls.reward(decision, value))

    def reward_many(
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
                results.add(self.send(call))
            except ServiceError as error:
                results.add_failed(error, count)
        return results.all()

    def correct(self, decision: Decision | str, value: float, *, reason: str) -> Correction:
        """Replace a wrong reward; needs the admin scope and is written to the audit log."""
        return self.send(calls.correct(decision, value, reason))
