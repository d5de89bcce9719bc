"""Experiments: a structure, a policy and settings; made, changed and read again.

This module knows what an experiment is and how it is kept. It must not know HTTP.
"""

from __future__ import annotations

import logging
import math
import re
import secrets
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from sqlalchemy import Connection, RowMapping, insert, select, update

from structuredbandits.errors import InvalidInput, StructuredBanditsError, UnknownArm, suggestion
from structuredbandits.problems import load_structure
from structuredbandits.service.choosing import Chooser
from structuredbandits.service.refusals import Refusal, unknown_experiment
from structuredbandits.service.settings import Limits
from structuredbandits.service.storage import tables
from structuredbandits.structure import Structure

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# What a request can name, also as a part of a path; there "." and ".." are taken for folders.
_ARM = re.compile(r"(?!\.{1,2}\Z)[^\x00-\x1f\x7f]{1,200}")
UNUSABLE = "experiment_unusable"
_log = logging.getLogger(__name__)


def now() -> int:
    """The time: microseconds since 1970, UTC."""
    return time.time_ns() // 1000


@dataclass(frozen=True)
class ExperimentSettings:
    """What can be set of an experiment.

    Examples
    --------
    >>> ExperimentSettings(floor=2)
    Traceback (most recent call last):
    structuredbandits.errors.InvalidInput: floor is 2; give a probability from 0 to 1.
    """

    horizon: int | None = None
    floor: float = 0.0
    reward_deadline_seconds: float | None = None
    default_reward: float | None = None
    retention_days: float | None = None
    on_database_failure: Literal["refuse", "prior"] = "refuse"

    def __post_init__(self) -> None:
        if self.horizon is not None and not 1 <= self.horizon <= 10**9:
            raise InvalidInput(f"horizon is {self.horizon!r}; give 1 to 1,000,000,000 rounds.")
        if not 0.0 <= self.floor <= 1.0:
            raise InvalidInput(f"floor is {self.floor!r}; give a probability from 0 to 1.")
        for name, largest in (("reward_deadline_seconds", 1e9), ("retention_days", 36_500.0)):
            value = getattr(self, name)
            if value is not None and not 0.0 < value <= largest:
                raise InvalidInput(f"{name} is {value!r}; give above 0, at most {largest:,.0f}.")
        if self.default_reward is not None:
            if not math.isfinite(self.default_reward):
                raise InvalidInput(
                    f"default_reward is {self.default_reward!r}; give a finite number."
                )
            if self.reward_deadline_seconds is None:
                raise InvalidInput(
                    "default_reward needs reward_deadline_seconds, after which it counts."
                )
        if self.on_database_failure not in ("refuse", "prior"):
            raise InvalidInput(
                f"on_database_failure is {self.on_database_failure!r}; give 'refuse' or 'prior'."
            )


@dataclass(frozen=True)
class Version:
    """One version of an experiment's structure, with the policy on it."""

    number: int
    structure: Structure
    chooser: Chooser
    everything: np.ndarray  # positions of all arms


@dataclass(frozen=True)
class Experiment:
    """An experiment as it is at one revision."""

    id: str
    state: str
    policy: str
    settings: ExperimentSettings
    seed: bytes
    retired: frozenset[str]
    version: int
    revision: int
    created: int

    @classmethod
    def from_row(cls, row: RowMapping) -> Experiment:
        """The experiment in a row of its table."""
        try:
            settings = ExperimentSettings(**orjson.loads(row["settings"]))
        except (TypeError, ValueError) as error:
            raise unusable(row["id"], "its settings cannot be read.") from error
        return cls(
            id=row["id"],
            state=row["state"],
            policy=row["policy"],
            settings=settings,
            seed=bytes.fromhex(row["seed"]),
            retired=frozenset(orjson.loads(row["retired"])),
            version=row["version"],
            revision=row["revision"],
            created=row["created"],
        )

    def deadline(self, created: int) -> int | None:
        """When a decision of that time stops waiting for its reward."""
        seconds = self.settings.reward_deadline_seconds
        return None if seconds is None else created + round(seconds * 1e6)


def unusable(name: str, reason: str) -> Refusal:
    """An experiment that is stored, but that this version of the library cannot serve."""
    return Refusal(
        409,
        UNUSABLE,
        f"experiment {name!r} cannot be served: {reason}",
        "Serve it with the version of the library that made it.",
    )


def structure_from_bytes(content: bytes, limits: Limits | None = None) -> Structure:
    """The structure in the bytes of a structure file."""
    with tempfile.TemporaryDirectory(prefix="structuredbandits-") as folder:
        path = Path(folder) / "uploaded.structure"
        path.write_bytes(content)
        structure = load_structure(path)
    bound = limits or Limits()
    if structure.n_arms > bound.arms or structure.n_arms * structure.n_parameters > bound.means:
        raise InvalidInput(
            f"the structure has {structure.n_arms:,} arms and {structure.n_parameters:,} "
            f"parameters; serve at most {bound.arms:,} arms and {bound.means:,} means."
        )
    return structure


def structure_to_bytes(structure: Structure) -> bytes:
    """The bytes of a structure file."""
    with tempfile.TemporaryDirectory(prefix="structuredbandits-") as folder:
        path = Path(folder) / "stored.structure"
        structure.save(path)
        return path.read_bytes()


def prepare(
    number: int, structure: Structure, policy: str, settings: ExperimentSettings
) -> Version:
    """A structure with its policy, or an error that says why they do not fit."""
    chooser = Chooser(structure, policy, horizon=settings.horizon, floor=settings.floor)
    unit = chooser.algorithm.needs_unit_rewards
    default = settings.default_reward
    if unit and default is not None and not 0.0 <= default <= 1.0:
        raise InvalidInput(
            f"default_reward is {default:g}, but {policy} needs rewards between 0 and 1."
        )
    return Version(number, structure, chooser, np.arange(structure.n_arms))


def note(
    connection: Connection,
    action: str,
    detail: dict[str, Any],
    *,
    experiment: str | None = None,
    subject: int | None = None,
    key: str | None = None,
) -> None:
    """Write a line of the audit."""
    connection.execute(
        insert(tables.audit),
        {
            "experiment": experiment,
            "subject": subject,
            "action": action,
            "detail": orjson.dumps(detail).decode(),
            "key": key,
            "created": now(),
        },
    )


def create_experiment(
    connection: Connection,
    name: str | None,
    version: Version,
    settings: ExperimentSettings,
    key: str | None = None,
) -> Experiment:
    """Store a new experiment that runs at once; ``version`` is what `prepare` made."""
    chosen = name if name is not None else f"experiment-{secrets.token_hex(4)}"
    if not _NAME.fullmatch(chosen):
        raise InvalidInput(
            f"the experiment's id is {chosen[:80]!r}; give up to 64 letters, digits, '.', '_' or "
            "'-', beginning with a letter or digit."
        )
    if find_experiment(connection, chosen) is not None:
        raise Refusal(
            409,
            "experiment_exists",
            f"there is an experiment {chosen!r} already.",
            "Choose another id, or give it a new version with POST .../structures.",
        )
    moment = now()
    policy = version.chooser.label
    row = {
        "id": chosen,
        "state": "running",
        "policy": policy,
        "settings": orjson.dumps(asdict(settings)).decode(),
        "seed": secrets.token_hex(32),
        "retired": "[]",
        "version": 1,
        "revision": 1,
        "created": moment,
    }
    connection.execute(insert(tables.experiments), row)
    _store_structure(connection, chosen, 1, version.structure, moment)
    note(connection, "create", {"policy": policy}, experiment=chosen, key=key)
    created = find_experiment(connection, chosen)
    assert created is not None
    return created


def _store_structure(
    connection: Connection, name: str, version: int, structure: Structure, moment: int
) -> None:
    for arm in structure.arms:
        if not _ARM.fullmatch(arm):
            raise InvalidInput(
                f"an arm is called {arm[:80]!r}, by which no request could name it; give it up to "
                "200 visible characters, and neither '.' nor '..'."
            )
    row = {
        "experiment": name,
        "version": version,
        "digest": structure.digest,
        "content": structure_to_bytes(structure),
        "created": moment,
    }
    connection.execute(insert(tables.structures), row)


def find_experiment(connection: Connection, name: str, *, alone: bool = False) -> Experiment | None:
    """The experiment of that id; ``alone`` keeps others from changing it meanwhile."""
    statement = select(tables.experiments).where(tables.experiments.c.id == name)
    found = connection.execute(statement.with_for_update() if alone else statement)
    row = found.mappings().first()
    return None if row is None else Experiment.from_row(row)


def readable(rows: Iterable[RowMapping]) -> list[Experiment]:
    """The experiments in rows of their table, without those that cannot be read."""
    found = []
    for row in rows:
        try:
            found.append(Experiment.from_row(row))
        except Refusal as refusal:
            _log.warning("%s", refusal)
    return found


def require_experiment(connection: Connection, name: str, *, alone: bool = False) -> Experiment:
    """The experiment of that id, or a refusal."""
    found = find_experiment(connection, name, alone=alone)
    if found is None:
        raise unknown_experiment(name)
    return found


def load_version(connection: Connection, experiment: Experiment, number: int) -> Version:
    """A version of the structure, ready to choose."""
    structure = stored_structure(connection, experiment, number)
    try:
        return prepare(number, structure, experiment.policy, experiment.settings)
    except StructuredBanditsError as error:
        raise unusable(experiment.id, str(error)) from error


def stored_structure(connection: Connection, experiment: Experiment, number: int) -> Structure:
    """A version of the structure."""
    stored = tables.structures
    statement = select(stored.c.content).where(
        stored.c.experiment == experiment.id, stored.c.version == number
    )
    content = connection.execute(statement).scalar()
    if content is None:
        raise Refusal(
            404,
            "unknown_version",
            f"experiment {experiment.id!r} has no version {number} of its structure.",
            f"Give a number from 1 to {experiment.version}.",
        )
    try:
        return structure_from_bytes(bytes(content))
    except StructuredBanditsError as error:
        raise unusable(experiment.id, str(error)) from error


def change_state(connection: Connection, name: str, state: str, key: str | None) -> Experiment:
    """Pause or resume an experiment."""
    experiment = require_experiment(connection, name, alone=True)
    if experiment.state != state:
        _change(connection, name, state=state)
        note(connection, state, {}, experiment=name, key=key)
    return require_experiment(connection, name)


def retire_arm(
    connection: Connection, name: str, arm: str, retired: bool, key: str | None
) -> Experiment:
    """Show an arm to nobody any more, or again; also one that only older versions have."""
    experiment = require_experiment(connection, name, alone=True)
    arms = stored_structure(connection, experiment, experiment.version).arms
    if arm not in experiment.retired:
        _require_arm(connection, experiment, arm, set(arms))
    after = experiment.retired | {arm} if retired else experiment.retired - {arm}
    if not set(arms) - after:
        raise Refusal(
            409,
            "last_arm",
            f"{arm!r} is the last arm that is shown.",
            "Pause the experiment, or restore another arm first.",
        )
    if after != experiment.retired:
        _change(connection, name, retired=orjson.dumps(sorted(after)).decode())
        action = "retire" if retired else "restore"
        note(connection, action, {"arm": arm}, experiment=name, key=key)
    return require_experiment(connection, name)


def _require_arm(connection: Connection, experiment: Experiment, arm: str, known: set[str]) -> None:
    """Refuse an arm that no version of the structure has; ``known`` are those of the newest."""
    for number in range(experiment.version - 1, 0, -1):
        if arm in known:
            return
        known |= set(stored_structure(connection, experiment, number).arms)
    if arm not in known:
        arms = sorted(known)
        raise UnknownArm(f"the experiment has no arm {arm[:80]!r}; {suggestion(arm, arms)}.")


def add_structure(
    connection: Connection, name: str, structure: Structure, key: str | None
) -> Experiment:
    """Give new subjects a new version; those who are there go on with theirs.

    The caller has seen to it that the policy can be put on it, with `prepare`.
    """
    experiment = require_experiment(connection, name, alone=True)
    number = experiment.version + 1
    if not set(structure.arms) - experiment.retired:
        raise Refusal(
            409,
            "no_arm_left",
            "all arms of the new structure are retired.",
            "Restore one of them first.",
        )
    _store_structure(connection, name, number, structure, now())
    _change(connection, name, version=number)
    note(connection, "structure", {"version": number}, experiment=name, key=key)
    return replace(experiment, version=number, revision=experiment.revision + 1)


def _change(connection: Connection, name: str, **values: Any) -> None:
    table = tables.experiments
    connection.execute(
        update(table).where(table.c.id == name).values(revision=table.c.revision + 1, **values)
    )
