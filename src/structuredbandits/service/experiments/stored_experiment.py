"""Experiments as they are stored: a structure, a policy and settings."""

from __future__ import annotations

import logging
import re
import secrets
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Connection, RowMapping, insert, select, update

from structuredbandits.errors import InvalidInput, StructuredBanditsError, UnknownArm, suggestion
from structuredbandits.service.audit import write_audit
from structuredbandits.service.decisions.chooser import Chooser
from structuredbandits.service.errors import RequestError, kind_of, unknown_experiment
from structuredbandits.service.experiments.experiment_settings import (
    ExperimentSettings,
    check_payloads,
)
from structuredbandits.service.settings import Limits
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import now
from structuredbandits.structure import Structure
from structuredbandits.structure import structure_from_bytes as read_bytes

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# What a request can name, also as a part of a path; there "." and ".." are taken for folders.
_ARM = re.compile(r"(?!\.{1,2}\Z)[^\x00-\x1f\x7f]{1,200}")
UNUSABLE = "experiment_unusable"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Version:
    """One version of an experiment's structure, with the policy on it."""

    number: int
    structure: Structure
    chooser: Chooser
    all_arms: np.ndarray  # positions
    n_parameters: int


@dataclass(frozen=True)
class StoredExperiment:
    """An experiment at one revision."""

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
    def from_row(cls, row: RowMapping) -> StoredExperiment:
        """The experiment in a row of its table."""
        try:
            settings = ExperimentSettings(**orjson.loads(row["settings"]))
        except (TypeError, ValueError) as error:
            raise unusable(row["id"], "its settings cannot be read.") from error
        try:
            seed, retired = bytes.fromhex(row["seed"]), frozenset(orjson.loads(row["retired"]))
        except (TypeError, ValueError) as error:
            raise unusable(row["id"], "its row in the database is damaged.") from error
        return cls(
            id=row["id"],
            state=row["state"],
            policy=row["policy"],
            settings=settings,
            seed=seed,
            retired=retired,
            version=row["version"],
            revision=row["revision"],
            created=row["created"],
        )


def unusable(name: str, reason: str) -> RequestError:
    """An experiment that is stored, but that this version of the library cannot serve."""
    return RequestError(
        409,
        UNUSABLE,
        f"experiment {name!r} cannot be served: {reason}",
        "Use the version of the library that created it.",
    )


def structure_from_bytes(content: bytes, limits: Limits | None = None) -> Structure:
    """The structure in the bytes of a structure file."""
    structure = read_bytes(content)
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
    chooser = Chooser(
        structure,
        policy,
        horizon=settings.horizon,
        floor=settings.floor,
        length=settings.length,
    )
    unit = chooser.algorithm.refuses_other_rewards(structure)
    default = settings.default_reward
    if default is not None:
        for arm in range(structure.n_arms):
            structure.rewards.check(structure.arms, arm, default)
    if unit and default is not None and not 0.0 <= default <= 1.0:
        raise InvalidInput(
            f"default_reward is {default:g}, but {policy} needs rewards between 0 and 1."
        )
    return Version(number, structure, chooser, np.arange(structure.n_arms), structure.n_parameters)


def create_experiment(
    connection: Connection,
    name: str | None,
    version: Version,
    settings: ExperimentSettings,
    key: str | None = None,
) -> StoredExperiment:
    """Store a new, running experiment; ``version`` is made by `prepare`."""
    check_payloads(settings.payloads, version.structure.arms)
    chosen = name if name is not None else f"experiment-{secrets.token_hex(4)}"
    if not _NAME.fullmatch(chosen):
        raise InvalidInput(
            f"the experiment's id is {chosen[:80]!r}; give up to 64 letters, digits, '.', '_' or "
            "'-', beginning with a letter or digit."
        )
    if find_experiment(connection, chosen) is not None:
        raise RequestError(
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
        "settings": settings.to_json(),
        "seed": secrets.token_hex(32),
        "retired": "[]",
        "version": 1,
        "revision": 1,
        "created": moment,
    }
    connection.execute(insert(tables.experiments), row)
    _store_structure(connection, chosen, 1, version.structure, moment)
    write_audit(connection, "create", {"policy": policy}, experiment=chosen, key=key)
    created = find_experiment(connection, chosen)
    assert created is not None
    return created


def _store_structure(
    connection: Connection, name: str, version: int, structure: Structure, moment: int
) -> None:
    for arm in structure.arms:
        if not _ARM.fullmatch(arm):
            raise InvalidInput(
                f"the arm name {arm[:80]!r} cannot be used in a request; give up to 200 visible "
                "characters, and not '.' or '..'."
            )
    row = {
        "experiment": name,
        "version": version,
        "digest": structure.digest,
        "content": structure_to_bytes(structure),
        "created": moment,
    }
    connection.execute(insert(tables.structures), row)


def find_experiment(
    connection: Connection, name: str, *, alone: bool = False
) -> StoredExperiment | None:
    """The experiment of that id; ``alone`` locks its row."""
    statement = select(tables.experiments).where(tables.experiments.c.id == name)
    found = connection.execute(statement.with_for_update() if alone else statement)
    row = found.mappings().first()
    return None if row is None else StoredExperiment.from_row(row)


def readable(rows: Iterable[RowMapping]) -> list[StoredExperiment]:
    """The experiments in rows of their table, without those that cannot be read."""
    found = []
    for row in rows:
        try:
            found.append(StoredExperiment.from_row(row))
        except RequestError as error:
            _log.warning("%s", error)
    return found


def require_experiment(
    connection: Connection, name: str, *, alone: bool = False
) -> StoredExperiment:
    """The experiment of that id, or raise an error."""
    found = find_experiment(connection, name, alone=alone)
    if found is None:
        raise unknown_experiment(name)
    return found


def load_version(connection: Connection, experiment: StoredExperiment, number: int) -> Version:
    """A version of the structure, ready to choose."""
    structure = stored_structure(connection, experiment, number)
    try:
        return prepare(number, structure, experiment.policy, experiment.settings)
    except StructuredBanditsError as error:
        raise unusable(experiment.id, str(error)) from error
    except Exception as error:
        raise _damaged_structure(experiment, number, error) from error


def stored_structure(
    connection: Connection, experiment: StoredExperiment, number: int
) -> Structure:
    """A version of the structure."""
    stored = tables.structures
    statement = select(stored.c.content).where(
        stored.c.experiment == experiment.id, stored.c.version == number
    )
    content = connection.execute(statement).scalar()
    if content is None:
        raise RequestError(
            404,
            "unknown_version",
            f"experiment {experiment.id!r} has no version {number} of its structure.",
            f"Give a number from 1 to {experiment.version}.",
        )
    try:
        return structure_from_bytes(bytes(content))
    except StructuredBanditsError as error:
        raise unusable(experiment.id, str(error)) from error
    except Exception as error:
        raise _damaged_structure(experiment, number, error) from error


def _damaged_structure(experiment: StoredExperiment, number: int, error: Exception) -> RequestError:
    """The error of a stored structure that cannot be read; only its experiment is affected."""
    reason = f"version {number} of its structure cannot be used ({kind_of(error)})."
    return unusable(experiment.id, reason)


def change_state(
    connection: Connection, name: str, state: str, key: str | None
) -> StoredExperiment:
    """Pause or resume an experiment."""
    experiment = require_experiment(connection, name, alone=True)
    if experiment.state != state:
        _change(connection, name, state=state)
        write_audit(connection, state, {}, experiment=name, key=key)
    return require_experiment(connection, name)


def change_payloads(
    connection: Connection, name: str, payloads: dict[str, Any] | None, key: str | None
) -> StoredExperiment:
    """Replace the payloads of an experiment's arms."""
    experiment = require_experiment(connection, name, alone=True)
    settings = replace(experiment.settings, payloads=payloads)
    if settings != experiment.settings:
        arms = stored_structure(connection, experiment, experiment.version).arms
        for arm in payloads or ():
            _require_arm(connection, experiment, arm, set(arms))
        _change(connection, name, settings=settings.to_json())
        write_audit(connection, "payloads", {}, experiment=name, key=key)
    return require_experiment(connection, name)


def retire_arm(
    connection: Connection, name: str, arm: str, retired: bool, key: str | None
) -> StoredExperiment:
    """Retire or restore an arm; also one that only older versions have."""
    experiment = require_experiment(connection, name, alone=True)
    arms = stored_structure(connection, experiment, experiment.version).arms
    if arm not in experiment.retired:
        _require_arm(connection, experiment, arm, set(arms))
    after = experiment.retired | {arm} if retired else experiment.retired - {arm}
    if not set(arms) - after:
        raise RequestError(
            409,
            "last_arm",
            f"{arm!r} is the last active arm.",
            "Pause the experiment, or restore another arm first.",
        )
    if after != experiment.retired:
        _change(connection, name, retired=orjson.dumps(sorted(after)).decode())
        action = "retire" if retired else "restore"
        write_audit(connection, action, {"arm": arm}, experiment=name, key=key)
    return require_experiment(connection, name)


def _require_arm(
    connection: Connection, experiment: StoredExperiment, arm: str, known: set[str]
) -> None:
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
) -> StoredExperiment:
    """Add a structure version for new subjects; existing subjects keep theirs.

    The caller has checked with `prepare` that the policy can use it.
    """
    experiment = require_experiment(connection, name, alone=True)
    number = experiment.version + 1
    if not set(structure.arms) - experiment.retired:
        raise RequestError(
            409,
            "no_arm_left",
            "all arms of the new structure are retired.",
            "Restore one of them first.",
        )
    _store_structure(connection, name, number, structure, now())
    _change(connection, name, version=number)
    write_audit(connection, "structure", {"version": number}, experiment=name, key=key)
    return replace(experiment, version=number, revision=experiment.revision + 1)


def _change(connection: Connection, name: str, **values: Any) -> None:
    table = tables.experiments
    connection.execute(
        update(table).where(table.c.id == name).values(revision=table.c.revision + 1, **values)
    )
