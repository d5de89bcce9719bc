"""One transaction with many commands: what each changes in subjects and in the log.

Commands of one subject are done in the order of arrival; commands of different subjects are done
together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from sqlalchemy import Connection

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.decisions.chooser import Chooser, chance, draw
from structuredbandits.service.decisions.commands import (
    AddReward,
    AddSubject,
    Command,
    Decide,
    Expire,
)
from structuredbandits.service.decisions.explanation import decision_answer, read_decision_id
from structuredbandits.service.decisions.rewards import expire, take_reward
from structuredbandits.service.errors import (
    RequestError,
    damaged_subject,
    unknown_decision,
    unknown_experiment,
)
from structuredbandits.service.experiments.stored_experiment import StoredExperiment, Version
from structuredbandits.service.storage.database import now
from structuredbandits.service.storage.statements import Row
from structuredbandits.service.storage.tables import PENDING
from structuredbandits.service.storage.transaction_rows import (
    LockedSubject,
    TransactionRows,
    Welcome,
)

if TYPE_CHECKING:
    from structuredbandits.service.decisions.group_commit import Executor

# For how long a transaction, for which others wait, computes costly decisions.
_COMPUTED_SECONDS = 0.02


class NotPrepared(StructuredBanditsError):
    """A costly decision has to be prepared before its transaction."""


class Transaction:
    """The commands of one transaction."""

    def __init__(
        self, executor: Executor, connection: Connection, commands: Sequence[Command]
    ) -> None:
        self.executor = executor
        self.connection = connection
        self.commands = commands
        self.moment = now()
        self.rows = TransactionRows(executor.database, connection, executor.numbers, self.moment)
        self.results: list[Any] = [None] * len(commands)
        self.experiments: dict[str, StoredExperiment] = {}
        self.unusable: dict[str, StructuredBanditsError] = {}
        self.claims: dict[
            tuple[str, str], str
        ] = {}  # the first request of each key in this transaction
        self.computed = 0.0  # seconds of costly decisions
        self.made: dict[int, Row] = {}  # the last decision of each subject in this transaction

    def run(self) -> list[Any]:
        """Execute all commands, up to the commit: each result is an answer or an exception."""
        self._read_experiments()
        self._read_keys()
        places = self._admit()
        self._read_rows(places)
        for wave in self._waves(places):
            self._do(wave)
        self.rows.write()
        return self.results

    # -- what is needed ----------------------------------------------------------------------------

    def _read_experiments(self) -> None:
        names = {o.experiment for o in self.commands if isinstance(o, Decide | AddSubject)}
        for name, revision in self.rows.revisions(names).items():
            try:
                found = self.executor.experiment_cache.experiment(self.connection, name, revision)
            except StructuredBanditsError as error:
                self.unusable[name] = error
                continue
            if found is not None:
                self.experiments[name] = found

    def _read_keys(self) -> None:
        """Read which keys were used before.

        This happens before any lock: if two transactions use a key at once, the table rejects the
        second, which finds the row of the first when it is repeated.
        """
        keys: dict[str, set[str]] = defaultdict(set)
        for command in self.commands:
            if isinstance(command, Decide) and command.key is not None:
                keys[command.experiment].add(command.key)
                self.claims.setdefault((command.experiment, command.key), command.digest)
        self.rows.read_keys(keys)

    def _admit(self) -> dict[int, int]:
        """Find or create the subjects and lock them; return the subject's number per command."""
        wanted: dict[int, tuple[str, str]] = {}
        numbers: dict[int, int] = {}
        for place, command in enumerate(self.commands):
            if isinstance(command, Decide | AddSubject):
                if command.experiment in self.experiments:
                    wanted[place] = (command.experiment, command.subject)
                else:
                    missing = self.unusable.get(command.experiment)
                    self.results[place] = missing or unknown_experiment(command.experiment)
            elif isinstance(command, AddReward):
                parsed = read_decision_id(command.decision)
                if parsed is None:
                    self.results[place] = _no_decision(command)
                else:
                    numbers[place] = parsed[0]
            elif isinstance(command, Expire):
                numbers[place] = command.subject
        fresh: dict[str, tuple[int, int]] = {}
        found = self.rows.resolve(set(wanted.values()), fresh, self._new_subjects(wanted, fresh))
        numbers |= {place: found[who] for place, who in wanted.items() if who in found}
        self.rows.lock(
            set(numbers.values()), {found[who] for who in wanted.values() & found.keys()}
        )
        return numbers

    def _new_subjects(
        self, wanted: dict[int, tuple[str, str]], fresh: dict[str, tuple[int, int]]
    ) -> Welcome:
        """Return the function that selects new subjects: none for a command that is rejected.

        It stores in ``fresh`` the version and the number of arms of new subjects.
        """

        def select(missing: Set[tuple[str, str]]) -> Set[tuple[str, str]]:
            selected = set()
            for place, who in wanted.items():
                if who not in missing:
                    continue
                command = self.commands[place]
                experiment = self.experiments[who[0]]
                try:
                    if isinstance(command, Decide) and self._repeated(command) is None:
                        self._eligible(command, experiment.version)
                    version = self._version(experiment, experiment.version)
                except StructuredBanditsError as error:
                    self.results[place] = error
                    continue
                fresh[experiment.id] = (version.number, version.structure.n_arms)
                selected.add(who)
            return selected

        return select

    def _read_rows(self, numbers: dict[int, int]) -> None:
        rows = set()
        for place in numbers:
            command = self.commands[place]
            if isinstance(command, AddReward):
                parsed = read_decision_id(command.decision)
                assert parsed is not None
                rows.add(parsed[:2])
            elif isinstance(command, Expire):
                rows.add((command.subject, command.round))
            elif isinstance(command, Decide) and command.sticky:
                member = self.rows.members.get(numbers[place])
                if member is not None and member.state.decided:
                    rows.add((member.number, member.state.decided))
        self.rows.read_decisions(rows)

    def _waves(self, numbers: dict[int, int]) -> list[list[tuple[int, int]]]:
        """Group commands so that each group holds a subject once: (place, subject's number)."""
        waves: list[list[tuple[int, int]]] = []
        depth: dict[int, int] = defaultdict(int)
        for place, number in sorted(numbers.items()):
            level = depth[number]
            depth[number] += 1
            if level == len(waves):
                waves.append([])
            waves[level].append((place, number))
        return waves

    # -- what is done ------------------------------------------------------------------------------

    def _do(self, wave: list[tuple[int, int]]) -> None:
        groups: dict[Any, list[tuple[int, LockedSubject]]] = defaultdict(list)
        for place, number in wave:
            command = self.commands[place]
            member = self.rows.members.get(number)
            if number in self.rows.damaged:
                self.results[place] = damaged_subject()
                continue
            try:
                if isinstance(command, Decide):
                    assert member is not None
                    again = self._repeated(command)
                    if again is not None:
                        self.results[place] = (False, again)
                        continue
                    version, allowed = self._eligible(command, member.version)
                    recent = self._recent(command, member, allowed) if command.sticky else None
                    if recent is not None:
                        experiment = self.experiments[command.experiment]
                        again = decision_answer(experiment, version, member.name, recent)
                        self.results[place] = (False, again)
                        continue
                    key = (command.experiment, version.number, allowed)
                    groups[key].append((place, member))
                elif isinstance(command, AddSubject):
                    self.results[place] = member
                else:
                    self.results[place] = self._settle(command, member)
            except StructuredBanditsError as error:
                self.results[place] = error
        for (name, number, allowed), members in groups.items():
            experiment = self.experiments[name]
            self._choose(experiment, self._version(experiment, number), allowed, members)

    def _version(self, experiment: StoredExperiment, number: int) -> Version:
        return self.executor.experiment_cache.version(self.connection, experiment, number)

    def _repeated(self, command: Decide) -> dict[str, Any] | None:
        """Return the earlier answer of the same key."""
        if command.key is None:
            return None
        row = self.rows.by_key(command.experiment, command.key)
        used_for = self.claims[command.experiment, command.key] if row is None else row["request"]
        if used_for != command.digest:
            raise _key_reused(command)
        if row is None:
            return None
        experiment = self.experiments[command.experiment]
        version = self._version(experiment, row["version"])
        return decision_answer(experiment, version, command.subject, row)

    def _eligible(self, command: Decide, number: int) -> tuple[Version, tuple[int, ...] | None]:
        """A version of the structure, and the arms that may be shown on it (None: all)."""
        experiment = self.experiments[command.experiment]
        version = self._version(experiment, number)
        return version, allowed_arms(experiment, version, command.arms)

    def _recent(
        self, command: Decide, member: LockedSubject, allowed: tuple[int, ...] | None
    ) -> Row | None:
        """Return the subject's last decision, if it may be shown once more."""
        row = self.made.get(member.number)
        row = row or self.rows.decision(member.number, member.state.decided)
        if row is None or row["state"] != PENDING:
            return None
        if row["expires"] is not None and row["expires"] <= self.moment:
            return None
        age = (self.moment - row["created"]) / 1e6
        if age >= self.experiments[command.experiment].settings.sticky_seconds:
            return None
        return row if allowed is None or row["arm"] in allowed else None

    def _choose(
        self,
        experiment: StoredExperiment,
        version: Version,
        allowed: tuple[int, ...] | None,
        members: list[tuple[int, LockedSubject]],
    ) -> None:
        positions = version.all_arms if allowed is None else np.array(allowed, dtype=np.int64)
        wait = experiment.settings.reward_deadline_seconds
        if version.chooser.is_costly:
            members = self._affordable(version.chooser, positions, members)
            if not members:
                return
        choices = version.chooser.choices([member.state for _, member in members], positions)
        for row, (place, member) in enumerate(members):
            shares = choices.probabilities[row]
            listed, places = shares.tolist(), np.flatnonzero(choices.competitive[row]).tolist()
            number = chance(experiment.seed, member.name, member.state.decided + 1)
            arm = draw(shares, number)
            command = self.commands[place]
            assert isinstance(command, Decide)
            stored = {
                "subject": member.number,
                "round": member.state.decide(arm),
                "experiment": experiment.id,
                "version": version.number,
                "arm": arm,
                "probability": listed[arm],
                "probabilities": orjson.dumps(listed).decode(),
                "competitive": orjson.dumps(places).decode(),
                "plausible": int(choices.plausible[row]),
                "received": member.state.received,
                "allowed": None if allowed is None else orjson.dumps(allowed).decode(),
                "key": command.key,
                "request": None if command.key is None else command.digest,
                "created": self.moment,
                "expires": None if wait is None else self.moment + round(wait * 1e6),
                "state": PENDING,
            }
            self.rows.add_decision(stored)
            self.made[member.number] = stored
            self.rows.touch(member)
            answer = decision_answer(experiment, version, member.name, stored, listed, places)
            self.results[place] = (True, answer)

    def _affordable(
        self, chooser: Chooser, positions: np.ndarray, members: list[tuple[int, LockedSubject]]
    ) -> list[tuple[int, LockedSubject]]:
        """Leave out costly decisions that are not prepared, beyond a time for all of them.

        Their result is `NotPrepared`: they are prepared outside the transaction, and repeated.
        """
        left_out = set()
        for row in chooser.unprepared([member.state for _, member in members], positions):
            if self.computed > _COMPUTED_SECONDS:
                left_out.add(row)
                self.results[members[row][0]] = NotPrepared()
            self.computed += chooser.seconds
        return [one for row, one in enumerate(members) if row not in left_out]

    def _settle(self, command: Command, member: LockedSubject | None) -> dict[str, Any] | None:
        """Add a reward, or expire a decision."""
        if isinstance(command, Expire):
            row = self.rows.decision(command.subject, command.round)
            if member is not None and row is not None:
                expire(self.rows, self._experiment_of(member), member, row)
            return None
        assert isinstance(command, AddReward)
        parsed = read_decision_id(command.decision)
        if member is None or parsed is None:
            raise _no_decision(command)
        if command.experiment is not None and member.experiment != command.experiment:
            raise _no_decision(command)
        if command.subject is not None and member.name != command.subject:
            raise _no_decision(command)
        experiment = self._experiment_of(member)
        row = self.rows.decision(parsed[0], parsed[1])
        version = self._version(experiment, member.version)
        return take_reward(self.rows, experiment, version, member, row, parsed[2], command)

    def _experiment_of(self, member: LockedSubject) -> StoredExperiment:
        name = member.experiment
        if name not in self.experiments:
            revision = self.rows.revisions({name}).get(name)
            found = self.executor.experiment_cache.experiment(self.connection, name, revision)
            if found is None:
                raise unknown_experiment(name)
            self.experiments[name] = found
        return self.experiments[name]


def _key_reused(command: Decide) -> RequestError:
    return RequestError(
        409,
        "key_reused",
        f"the Idempotency-Key {command.key!r} was used for another subject or other arms.",
        "Use a new key for a new decision.",
    )


def _no_decision(command: AddReward) -> RequestError:
    return unknown_decision(command.decision[:80])


def allowed_arms(
    experiment: StoredExperiment, version: Version, asked: tuple[str, ...] | None
) -> tuple[int, ...] | None:
    """Positions of the arms that a decision may show; None for all of them.

    Raises
    ------
    RequestError
        If the experiment is paused, or nothing is left to show.
    UnknownArm
        If an arm was asked for that the structure does not have.
    """
    if experiment.state == "paused":
        raise RequestError(
            409,
            "paused",
            f"experiment {experiment.id!r} is paused and makes no decisions.",
            'Resume it with PATCH {"state": "running"}; rewards are still accepted.',
        )
    if asked is None and not experiment.retired:
        return None
    structure = version.structure
    places = {structure.arm_index(arm) for arm in (structure.arms if asked is None else asked)}
    left = tuple(sorted(p for p in places if structure.arms[p] not in experiment.retired))
    if not left:
        raise RequestError(
            409,
            "no_arm_left",
            "all the arms that this decision allows are retired.",
            "Allow other arms, or restore one.",
        )
    return None if len(left) == structure.n_arms else left
