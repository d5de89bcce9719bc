"""Describes subjects: their state, their decisions step by step, and lists of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Connection, RowMapping, select

from structuredbandits.service.decisions.explanation import STATES, decision_id, timestamp
from structuredbandits.service.errors import unknown_subject
from structuredbandits.service.experiments.experiment_cache import ExperimentCache
from structuredbandits.service.experiments.stored_experiment import (
    StoredExperiment,
    Version,
    require_experiment,
)
from structuredbandits.service.experiments.structure_picture import runs_of
from structuredbandits.service.storage import tables
from structuredbandits.service.subjects.history import Row, read_changes, read_log, states
from structuredbandits.service.subjects.subject_state import SubjectState

_MOST_LABELS = 200


def find_subject(connection: Connection, experiment: str, name: str) -> RowMapping:
    """Return a subject's row, or raise an error."""
    table = tables.subjects
    statement = select(table).where(table.c.experiment == experiment, table.c.name == name)
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise unknown_subject(name[:80])
    return row


def describe_subject(
    connection: Connection, experiment_cache: ExperimentCache, name: str, subject: str
) -> dict[str, Any]:
    """A subject with its plausible θ, competitive arms, and how well the structure fits."""
    experiment = require_experiment(connection, name)
    row = find_subject(connection, name, subject)
    version = experiment_cache.version(connection, experiment, row["version"])
    state = SubjectState.from_json(row["state"])
    view = version.chooser.view(state, _shown(experiment, version))
    arms = version.structure.arms
    described = {
        arm: {
            "count": state.counts[k],
            "pending": state.pending[k],
            "mean": state.sums[k] / state.counts[k] if state.counts[k] else None,
            "low": view.low[k],
            "high": view.high[k],
            "retired": arm in experiment.retired,
        }
        for k, arm in enumerate(arms)
    }
    return {
        "experiment": name,
        "subject": subject,
        "structure_version": version.number,
        "created": timestamp(row["created"]),
        "decided": state.decided,
        "received": state.received,
        "arms": described,
        "probabilities": dict(zip(arms, view.probabilities, strict=True)),
        "competitive_arms": [arms[k] for k in view.competitive],
        "plausible": _plausible(version, view.plausible),
        "diagnostics": asdict(view.diagnostics) | {"verdict": view.diagnostics.verdict},
    }


def _shown(experiment: StoredExperiment, version: Version) -> np.ndarray:
    arms = version.structure.arms
    left = [k for k, arm in enumerate(arms) if arm not in experiment.retired]
    return np.array(left, dtype=np.int64) if left else version.all_arms


def _plausible(version: Version, mask: np.ndarray) -> dict[str, Any]:
    structure = version.structure
    places = np.flatnonzero(mask)
    return {
        "count": int(places.size),
        "of": structure.n_parameters,
        "runs": runs_of(mask),
        "labels": [structure.label(int(place)) for place in places[:_MOST_LABELS]],
    }


def subject_steps(
    connection: Connection,
    experiment_cache: ExperimentCache,
    name: str,
    subject: str,
    after: int,
    limit: int,
) -> dict[str, Any]:
    """A subject's decisions in order, each with what was plausible when it was made."""
    experiment = require_experiment(connection, name)
    row = find_subject(connection, name, subject)
    version = experiment_cache.version(connection, experiment, row["version"])
    log, changes = read_log(connection, row["number"]), read_changes(connection, row["number"])
    steps: list[dict[str, Any]] = []
    for decision, state in states(log, changes, version.structure.n_arms):
        if len(steps) == limit:
            break
        if after < decision["round"]:
            mask = version.chooser.plausible_at(state)
            steps.append(_step(experiment, version, decision, mask, state))
    more = bool(steps) and steps[-1]["round"] < len(log)
    return {
        "experiment": name,
        "subject": subject,
        "structure_version": version.number,
        "steps": steps,
        "next": steps[-1]["round"] if more else None,
    }


def _step(
    experiment: StoredExperiment, version: Version, row: Row, mask: np.ndarray, state: SubjectState
) -> dict[str, Any]:
    arms = version.structure.arms
    return {
        "round": row["round"],
        "decision": decision_id(experiment.seed, row["subject"], row["round"]),
        "arm": arms[row["arm"]],
        "probability": row["probability"],
        "reward": row["reward"],
        "state": STATES[row["state"]],
        "competitive_arms": [arms[k] for k in orjson.loads(row["competitive"])],
        "arms": {
            arm: {"count": count, "mean": total / count}
            for arm, count, total in zip(arms, state.counts, state.sums, strict=True)
            if count
        },
        "plausible": {"count": int(mask.sum()), "runs": runs_of(mask)},
        "created": timestamp(row["created"]),
        "rewarded": timestamp(row["rewarded"]),
    }


def list_subjects(
    connection: Connection, name: str, after: str | None, limit: int
) -> dict[str, Any]:
    """A page of subjects, sorted by name."""
    require_experiment(connection, name)
    table = tables.subjects
    statement = select(table).where(table.c.experiment == name)
    if after is not None:
        statement = statement.where(table.c.name > after)
    rows = connection.execute(statement.order_by(table.c.name).limit(limit + 1)).mappings().all()
    page = rows[:limit]
    found = []
    for row in page:
        state = SubjectState.from_json(row["state"])
        found.append(
            {
                "subject": row["name"],
                "structure_version": row["version"],
                "decided": state.decided,
                "received": state.received,
                "created": timestamp(row["created"]),
            }
        )
    return {"subjects": found, "next": page[-1]["name"] if len(rows) > limit else None}
