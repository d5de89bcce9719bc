"""A decision while the database is unavailable: from the prior, flagged, never stored."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from structuredbandits.service.decisions.chooser import chance, draw
from structuredbandits.service.decisions.commands import Decide
from structuredbandits.service.decisions.explanation import payload_of, timestamp, why
from structuredbandits.service.decisions.transaction import allowed_arms
from structuredbandits.service.errors import unavailable
from structuredbandits.service.experiments.experiment_cache import ExperimentCache
from structuredbandits.service.experiments.stored_experiment import StoredExperiment
from structuredbandits.service.storage.database import now
from structuredbandits.service.subjects.subject_state import SubjectState


def prior_decision(
    experiment_cache: ExperimentCache, experiment: StoredExperiment, command: Decide
) -> tuple[bool, dict[str, Any]]:
    """Return the decision for a subject of which nothing is known.

    The same key gives the same arm, from any replica.
    """
    version = experiment_cache.known_version(experiment.id, experiment.version)
    if version is None:
        raise unavailable("the structure is not in memory")
    structure = version.structure
    allowed = allowed_arms(experiment, version, command.arms)
    positions = version.all_arms if allowed is None else np.array(allowed, dtype=np.int64)
    choices = version.chooser.choices([SubjectState.fresh(structure.n_arms)], positions)
    shares = choices.probabilities[0]
    # Rounds of decisions that are stored begin with 1.
    key = command.key
    if key is None:  # a sticky decision has the same arm each time
        key = "" if command.sticky else secrets.token_hex(16)
    arm = draw(shares, chance(experiment.seed, f"{command.subject}\0{key}", 0))
    competitive = [structure.arms[k] for k in np.flatnonzero(choices.competitive[0])]
    probability, plausible = float(shares[arm]), int(choices.plausible[0])
    reason = why(version, arm, probability, len(competitive), plausible)
    answer = {
        "id": None,
        "experiment": experiment.id,
        "subject": command.subject,
        "round": None,
        "arm": structure.arms[arm],
        "probability": probability,
        "probabilities": dict(zip(structure.arms, shares.tolist(), strict=True)),
        "competitive_arms": competitive,
        "why": f"The database is unavailable, so this is from the prior and not stored: {reason}",
        "structure_version": version.number,
        "created": timestamp(now()),
        "stored": False,
    }
    if experiment.settings.payloads is not None:
        answer["payload"] = payload_of(experiment, structure.arms[arm])
    return True, answer
