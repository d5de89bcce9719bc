"""What the lab computes, in a process of its own: JSON in, JSON out."""

from __future__ import annotations

from structuredbandits.service.lab import lab_runs, lab_structures
from structuredbandits.service.lab.lab_models import Problems, RunRequest, StructureRequest


def problems_json() -> str:
    """Describe the structures included in the library."""
    return Problems(problems=lab_structures.list_problems()).model_dump_json()


def structure_json(asked: str) -> str:
    """Return the drawing of a structure, for a `StructureRequest`."""
    request = StructureRequest.model_validate_json(asked)
    return lab_structures.show(lab_structures.problem_of(request.structure)).model_dump_json()


def run_json(asked: str) -> str:
    """Return all rounds of some policies, for a `RunRequest`."""
    request = RunRequest.model_validate_json(asked)
    return lab_runs.run(
        lab_structures.problem_of(request.structure),
        tuple(request.theta) if isinstance(request.theta, list) else request.theta,
        request.policies,
        rounds=request.rounds,
        seed=request.seed,
    ).model_dump_json()
