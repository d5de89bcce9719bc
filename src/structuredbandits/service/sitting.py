"""One transaction's worth of orders: what each does to subjects and to the log.

Orders of one subject are done in the order in which they came; orders of different subjects are
done together. This module must not know HTTP, nor who gathers the orders and commits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from sqlalchemy import Connection

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.answers import decision_answer
from structuredbandits.service.choosing import chance, draw
from structuredbandits.service.eligibility import allowed_arms
from structuredbandits.service.experiments import Experiment, Version, now
from structuredbandits.service.orders import (
    AddSubject,
    Decide,
    Expire,
    Order,
    Reward,
    read_decision_id,
)
from structuredbandits.service.refusals import Refusal, unknown_decision, unknown_experiment
from structuredbandits.service.rewarding import expire, take_reward
from structuredbandits.service.storage.ledger import Ledger, Member, Welcome
from structuredbandits.service.storage.tables import PENDING

if TYPE_CHECKING:
    from structuredbandits.service.decisions import Desk


class Sitting:
    """One transaction's worth of orders."""

    def __init__(self, desk: Desk, connection: Connection, orders: Sequence[Order]) -> None:
        self.desk = desk
        self.connection = connection
        self.orders = orders
        self.moment = now()
        self.ledger = Ledger(desk.database, connection, desk.numbers, self.moment)
        self.results: list[Any] = [None] * len(orders)
        self.experiments: dict[str, Experiment] = {}
        self.unusable: dict[str, StructuredBanditsError] = {}
        self.claims: dict[tuple[str, str], str] = {}  # what each key is first used for here

    def hold(self) -> list[Any]:
        """Do all orders, up to the commit: the result of each is its answer or an exception."""
        self._read_experiments()
        self._read_keys()
        places = self._admit()
        self._read_rows(places)
        for wave in self._waves(places):
            self._do(wave)
        self.ledger.write()
        return self.results

    # -- what is needed ----------------------------------------------------------------------------

    def _read_experiments(self) -> None:
        names = {o.experiment for o in self.orders if isinstance(o, Decide | AddSubject)}
        for name, revision in self.ledger.revisions(names).items():
            try:
                found = self.desk.catalogue.experiment(self.connection, name, revision)
            except StructuredBanditsError as refusal:
                self.unusable[name] = refusal
                continue
            if found is not None:
                self.experiments[name] = found

    def _read_keys(self) -> None:
        """Find out which keys were used before.

        That is before any lock: of two who use a key at once, the table refuses the second, who
        then finds the first one's row when it tries again.
        """
        keys: dict[str, set[str]] = defaultdict(set)
        for order in self.orders:
            if isinstance(order, Decide) and order.key is not None:
                keys[order.experiment].add(order.key)
                self.claims.setdefault((order.experiment, order.key), order.digest)
        self.ledger.read_keys(keys)

    def _admit(self) -> dict[int, int]:
        """Find or make the subjects and lock them: the subject's number of each order."""
        wanted: dict[int, tuple[str, str]] = {}
        numbers: dict[int, int] = {}
        for place, order in enumerate(self.orders):
            if isinstance(order, Decide | AddSubject):
                if order.experiment in self.experiments:
                    wanted[place] = (order.experiment, order.subject)
                else:
                    missing = self.unusable.get(order.experiment)
                    self.results[place] = missing or unknown_experiment(order.experiment)
            elif isinstance(order, Reward):
                told = read_decision_id(order.decision)
                if told is None:
                    self.results[place] = _no_decision(order)
                else:
                    numbers[place] = told[0]
            elif isinstance(order, Expire):
                numbers[place] = order.subject
        fresh: dict[str, tuple[int, int]] = {}
        found = self.ledger.resolve(set(wanted.values()), fresh, self._door(wanted, fresh))
        numbers |= {place: found[who] for place, who in wanted.items() if who in found}
        self.ledger.lock(
            set(numbers.values()), {found[who] for who in wanted.values() & found.keys()}
        )
        return numbers

    def _door(
        self, wanted: dict[int, tuple[str, str]], fresh: dict[str, tuple[int, int]]
    ) -> Welcome:
        """Whether somebody new is made: not for an order that would be refused anyway.

        ``fresh`` is told the version and the number of arms that somebody new gets.
        """

        def welcome(strangers: Set[tuple[str, str]]) -> Set[tuple[str, str]]:
            welcomed = set()
            for place, who in wanted.items():
                if who not in strangers:
                    continue
                order = self.orders[place]
                experiment = self.experiments[who[0]]
                try:
                    if isinstance(order, Decide) and self._repeated(order) is None:
                        self._eligible(order, experiment.version)
                    version = self._version(experiment, experiment.version)
                except StructuredBanditsError as refusal:
                    self.results[place] = refusal
                    continue
                fresh[experiment.id] = (version.number, version.structure.n_arms)
                welcomed.add(who)
            return welcomed

        return welcome

    def _read_rows(self, numbers: dict[int, int]) -> None:
        rows = set()
        for place in numbers:
            order = self.orders[place]
            if isinstance(order, Reward):
                told = read_decision_id(order.decision)
                assert told is not None
                rows.add(told[:2])
            elif isinstance(order, Expire):
                rows.add((order.subject, order.round))
        self.ledger.read_decisions(rows)

    def _waves(self, numbers: dict[int, int]) -> list[list[tuple[int, int]]]:
        """Orders in groups of which each holds a subject once: (place, subject's number)."""
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
        groups: dict[Any, list[tuple[int, Member]]] = defaultdict(list)
        for place, number in wave:
            order = self.orders[place]
            member = self.ledger.members.get(number)
            try:
                if isinstance(order, Decide):
                    assert member is not None
                    again = self._repeated(order)
                    if again is not None:
                        self.results[place] = (False, again)
                        continue
                    version, allowed = self._eligible(order, member.version)
                    key = (order.experiment, version.number, allowed)
                    groups[key].append((place, member))
                elif isinstance(order, AddSubject):
                    self.results[place] = member
                else:
                    self.results[place] = self._settle(order, member)
            except StructuredBanditsError as refusal:
                self.results[place] = refusal
        for (name, number, allowed), members in groups.items():
            experiment = self.experiments[name]
            self._choose(experiment, self._version(experiment, number), allowed, members)

    def _version(self, experiment: Experiment, number: int) -> Version:
        return self.desk.catalogue.version(self.connection, experiment, number)

    def _repeated(self, order: Decide) -> dict[str, Any] | None:
        """The answer that the same key got before."""
        if order.key is None:
            return None
        row = self.ledger.by_key(order.experiment, order.key)
        used_for = self.claims[order.experiment, order.key] if row is None else row["request"]
        if used_for != order.digest:
            raise _key_reused(order)
        if row is None:
            return None
        experiment = self.experiments[order.experiment]
        version = self._version(experiment, row["version"])
        return decision_answer(experiment, version, order.subject, row)

    def _eligible(self, order: Decide, number: int) -> tuple[Version, tuple[int, ...] | None]:
        """A version of the structure, and the arms that may be shown on it (None: all)."""
        experiment = self.experiments[order.experiment]
        version = self._version(experiment, number)
        return version, allowed_arms(experiment, version, order.arms)

    def _choose(
        self,
        experiment: Experiment,
        version: Version,
        allowed: tuple[int, ...] | None,
        members: list[tuple[int, Member]],
    ) -> None:
        positions = version.everything if allowed is None else np.array(allowed, dtype=np.int64)
        choices = version.chooser.choices([member.state for _, member in members], positions)
        for row, (place, member) in enumerate(members):
            shares = choices.probabilities[row]
            listed, places = shares.tolist(), np.flatnonzero(choices.competitive[row]).tolist()
            number = chance(experiment.seed, member.name, member.state.decided + 1)
            arm = draw(shares, number)
            order = self.orders[place]
            assert isinstance(order, Decide)
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
                "key": order.key,
                "request": None if order.key is None else order.digest,
                "created": self.moment,
                "expires": experiment.deadline(self.moment),
                "state": PENDING,
            }
            self.ledger.add_decision(stored)
            self.ledger.touch(member)
            answer = decision_answer(experiment, version, member.name, stored, listed, places)
            self.results[place] = (True, answer)

    def _settle(self, order: Order, member: Member | None) -> dict[str, Any] | None:
        """A reward, or the end of waiting for one."""
        if isinstance(order, Expire):
            row = self.ledger.decision(order.subject, order.round)
            if member is not None and row is not None:
                expire(self.ledger, self._experiment_of(member), member, row)
            return None
        assert isinstance(order, Reward)
        told = read_decision_id(order.decision)
        if member is None or told is None:
            raise _no_decision(order)
        if order.experiment is not None and member.experiment != order.experiment:
            raise _no_decision(order)
        experiment = self._experiment_of(member)
        row = self.ledger.decision(told[0], told[1])
        version = self._version(experiment, member.version)
        return take_reward(self.ledger, experiment, version, member, row, told[2], order)

    def _experiment_of(self, member: Member) -> Experiment:
        name = member.experiment
        if name not in self.experiments:
            revision = self.ledger.revisions({name}).get(name)
            found = self.desk.catalogue.experiment(self.connection, name, revision)
            if found is None:
                raise unknown_experiment(name)
            self.experiments[name] = found
        return self.experiments[name]


def _key_reused(order: Decide) -> Refusal:
    return Refusal(
        409,
        "key_reused",
        f"the Idempotency-Key {order.key!r} was used for another subject or other arms.",
        "Use a new key for a new decision.",
    )


def _no_decision(order: Reward) -> Refusal:
    return unknown_decision(order.decision[:80])
