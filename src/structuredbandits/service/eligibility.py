"""What may be shown: not in a paused experiment, no retired arm, only arms that were asked for.

This module knows the rules of an experiment. It must not know storage, nor who decides.
"""

from __future__ import annotations

from structuredbandits.service.experiments import Experiment, Version
from structuredbandits.service.refusals import Refusal


def allowed_arms(
    experiment: Experiment, version: Version, asked: tuple[str, ...] | None
) -> tuple[int, ...] | None:
    """Positions of the arms that a decision may show; None for all of them.

    Raises
    ------
    Refusal
        If the experiment is paused, or nothing is left to show.
    UnknownArm
        If an arm was asked for that the structure does not have.
    """
    if experiment.state == "paused":
        raise Refusal(
            409,
            "paused",
            f"experiment {experiment.id!r} is paused and makes no decisions.",
            'Resume it with PATCH {"state": "running"}; rewards are taken meanwhile.',
        )
    if asked is None and not experiment.retired:
        return None
    structure = version.structure
    places = {structure.arm_index(arm) for arm in (structure.arms if asked is None else asked)}
    left = tuple(sorted(p for p in places if structure.arms[p] not in experiment.retired))
    if not left:
        raise Refusal(
            409,
            "no_arm_left",
            "all the arms that this decision allows are retired.",
            "Allow other arms, or restore one.",
        )
    return None if len(left) == structure.n_arms else left
