"""A decision while the database is away: from the prior, flagged, never stored.

This module knows what can be decided without any evidence. It must not know why none is there.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from structuredbandits.service.answers import timestamp, why
from structuredbandits.service.catalogue import Catalogue
from structuredbandits.service.choosing import chance, draw
from structuredbandits.service.eligibility import allowed_arms
from structuredbandits.service.experiments import Experiment, now
from structuredbandits.service.orders import Decide
from structuredbandits.service.refusals import unavailable
from structuredbandits.service.subject_state import SubjectState


def prior_decision(
    catalogue: Catalogue, experiment: Experiment, order: Decide
) -> tuple[bool, dict[str, Any]]:
    """What a subject of whom nothing is known would be shown.

    The same key gives the same arm, from any replica.
    """
    version = catalogue.known_version(experiment.id, experiment.version)
    if version is None:
        raise unavailable("the structure is not in memory")
    structure = version.structure
    allowed = allowed_arms(experiment, version, order.arms)
    positions = version.everything if allowed is None else np.array(allowed, dtype=np.int64)
    choices = version.chooser.choices([SubjectState.fresh(structure.n_arms)], positions)
    shares = choices.probabilities[0]
    # Rounds of decisions that are stored begin with 1.
    key = secrets.token_hex(16) if order.key is None else order.key
    arm = draw(shares, chance(experiment.seed, f"{order.subject}\0{key}", 0))
    competitive = [structure.arms[k] for k in np.flatnonzero(choices.competitive[0])]
    probability, plausible = float(shares[arm]), int(choices.plausible[0])
    reason = why(version, arm, probability, len(competitive), plausible)
    return True, {
        "id": None,
        "experiment": experiment.id,
        "subject": order.subject,
        "round": None,
        "arm": structure.arms[arm],
        "probability": probability,
        "probabilities": dict(zip(structure.arms, shares.tolist(), strict=True)),
        "competitive_arms": competitive,
        "why": f"The database is away, so this is from the prior and not stored: {reason}",
        "structure_version": version.number,
        "created": timestamp(now()),
        "stored": False,
    }
