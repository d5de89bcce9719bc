"""Routes of experiments: create, list, pause, retire an arm, and add a structure version."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path
from sqlalchemy import Connection, RowMapping, select
from starlette.responses import Response

from structuredbandits.errors import DamagedFile
from structuredbandits.problems import load_structure, problem_names
from structuredbandits.service.api import models
from structuredbandits.service.api.authorization import (
    GuardedRoute,
    MayAdminister,
    MayRead,
    ServiceOf,
    documented,
    needs_everything,
)
from structuredbandits.service.api.responses import answer, error_responses
from structuredbandits.service.decisions.explanation import timestamp
from structuredbandits.service.errors import RequestError, unknown_experiment
from structuredbandits.service.experiments import stored_experiment as use
from structuredbandits.service.experiments.decision_cost import require_affordable
from structuredbandits.service.experiments.experiment_settings import ExperimentSettings
from structuredbandits.service.experiments.stored_experiment import StoredExperiment
from structuredbandits.service.experiments.structure_picture import structure_picture
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables
from structuredbandits.structure import Structure

router = APIRouter(
    prefix="/v1/experiments",
    tags=["experiments"],
    dependencies=[documented],
    route_class=GuardedRoute,
)
ExperimentPath = Annotated[models.ExperimentName, Path(description="The experiment's ID.")]
ArmPath = Annotated[models.Name, Path(description="An arm.")]


def read_structure(source: models.StructureSource, service: Service) -> Structure:
    """Return the structure that a request names or contains."""
    if isinstance(source, models.EmbeddedStructure):
        if source.problem not in problem_names():
            # A path must not be taken as a name: requests must not read local files.
            known = ", ".join(problem_names())
            raise RequestError(
                422,
                "unknown_problem",
                f"there is no embedded problem {source.problem[:80]!r}.",
                f"Choose one of {known}, or send a structure file.",
            )
        return load_structure(source.problem)
    try:
        content = base64.b64decode(source.file, validate=True)
    except (binascii.Error, ValueError):
        raise DamagedFile("the structure's file is not base64; encode its bytes.") from None
    return use.structure_from_bytes(content, service.settings.limits)


async def describe(service: Service, experiment: StoredExperiment) -> dict[str, Any]:
    """Describe an experiment; the state of one that cannot be served is `unusable`."""
    content = {
        "id": experiment.id,
        "state": experiment.state,
        "reason": None,
        "policy": experiment.policy,
        "settings": asdict(experiment.settings),
        "arms": [],
        "retired_arms": sorted(experiment.retired),
        "structure_version": experiment.version,
        "parameters": 0,
        "created": timestamp(experiment.created),
    }
    try:
        structure = (await service.version(experiment, experiment.version)).structure
    except RequestError as error:
        return content | _why_not(error)
    return content | {"arms": list(structure.arms), "parameters": structure.n_parameters}


async def _describe_row(service: Service, row: RowMapping) -> dict[str, Any]:
    """Describe the experiment in a row, also if its settings cannot be read."""
    try:
        experiment = StoredExperiment.from_row(row)
    except RequestError as error:
        return {
            "id": row["id"],
            "policy": row["policy"],
            "settings": {},
            "arms": [],
            "retired_arms": _readable_list(row["retired"]),
            "structure_version": row["version"],
            "parameters": 0,
            "created": timestamp(row["created"]),
        } | _why_not(error)
    return await describe(service, experiment)


def _readable_list(stored: str) -> list[str]:
    """The names in a JSON list; none if it cannot be read."""
    try:
        found = orjson.loads(stored)
    except ValueError:
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _why_not(error: RequestError) -> dict[str, Any]:
    """Return the state and reason of an experiment that cannot be served; raise other errors."""
    if error.code != use.UNUSABLE:
        raise error
    return {"state": "unusable", "reason": f"{error.message} {error.remedy}"}


def _rows(connection: Connection, name: str | None) -> Sequence[RowMapping]:
    """The experiment of that id, or all of them."""
    statement = select(tables.experiments).order_by(tables.experiments.c.created)
    if name is not None:
        statement = statement.where(tables.experiments.c.id == name)
    return connection.execute(statement).mappings().all()


async def _change(
    service: Service, work: Callable[[Connection], StoredExperiment], status: int = 200
) -> Response:
    """Change an experiment, and update the cache."""
    changed = await service.change(work)
    service.experiment_cache.learn(changed)
    return answer(await describe(service, changed), status)


@router.post(
    "",
    status_code=201,
    responses=error_responses(409) | {201: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def create_experiment(
    body: models.NewExperiment, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Create an experiment: a structure, a policy, settings. It runs at once."""
    needs_everything(grant)

    def make() -> tuple[ExperimentSettings, use.Version]:
        settings = ExperimentSettings(**body.settings.model_dump())
        structure = read_structure(body.structure, service)
        version = use.prepare(1, structure, body.policy, settings)
        require_affordable(version, service.settings.decision_seconds)
        return settings, version

    settings, version = await service.prepare(make)
    experiment = await service.change(
        lambda connection: use.create_experiment(connection, body.id, version, settings, grant.id)
    )
    return answer(await describe(service, experiment), 201)


@router.get(
    "",
    responses=error_responses() | {200: {"model": models.ExperimentList}},
    response_class=Response,
)
async def list_experiments(service: ServiceOf, grant: MayRead) -> Response:
    """List the experiments that the key can access."""
    found = await service.read(lambda connection: _rows(connection, grant.experiment))
    return answer({"experiments": [await _describe_row(service, one) for one in found]})


@router.get(
    "/{experiment}",
    responses=error_responses() | {200: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def get_experiment(
    experiment: ExperimentPath, service: ServiceOf, grant: MayRead
) -> Response:
    """Show an experiment."""
    found = await service.read(lambda connection: _rows(connection, experiment))
    if not found:
        raise unknown_experiment(experiment)
    return answer(await _describe_row(service, found[0]))


@router.patch(
    "/{experiment}",
    responses=error_responses() | {200: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def change_experiment(
    experiment: ExperimentPath,
    body: models.ExperimentChange,
    service: ServiceOf,
    grant: MayAdminister,
) -> Response:
    """Pause or resume an experiment, or change its payloads; rewards are always accepted."""

    def change(connection: Connection) -> StoredExperiment:
        changed = use.require_experiment(connection, experiment)
        if body.state is not None:
            changed = use.change_state(connection, experiment, body.state, grant.id)
        if "payloads" in body.model_fields_set:
            changed = use.change_payloads(connection, experiment, body.payloads, grant.id)
        return changed

    return await _change(service, change)


@router.post(
    "/{experiment}/arms/{arm:path}/retire",
    responses=error_responses(409) | {200: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def retire_arm(
    experiment: ExperimentPath, arm: ArmPath, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Stop showing an arm."""
    return await _change(service, lambda c: use.retire_arm(c, experiment, arm, True, grant.id))


@router.post(
    "/{experiment}/arms/{arm:path}/restore",
    responses=error_responses(409) | {200: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def restore_arm(
    experiment: ExperimentPath, arm: ArmPath, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Show a retired arm again."""
    return await _change(service, lambda c: use.retire_arm(c, experiment, arm, False, grant.id))


@router.post(
    "/{experiment}/structures",
    status_code=201,
    responses=error_responses(409) | {201: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def add_structure(
    experiment: ExperimentPath,
    body: models.NewStructure,
    service: ServiceOf,
    grant: MayAdminister,
) -> Response:
    """Add a structure version for new subjects; existing subjects keep theirs."""
    present = await service.read(lambda c: use.require_experiment(c, experiment))

    def make() -> Structure:
        structure = read_structure(body.structure, service)
        version = use.prepare(present.version + 1, structure, present.policy, present.settings)
        require_affordable(version, service.settings.decision_seconds)
        return structure

    structure = await service.prepare(make)
    return await _change(
        service, lambda c: use.add_structure(c, experiment, structure, grant.id), 201
    )


@router.get(
    "/{experiment}/structures/{version}",
    responses=error_responses() | {200: {"model": models.StructureAnswer}},
    response_class=Response,
)
async def get_structure(
    experiment: ExperimentPath,
    version: Annotated[int, Path(ge=1, le=2**31 - 1, description="Counted from 1.")],
    service: ServiceOf,
    grant: MayRead,
) -> Response:
    """Show a version of the structure: arms, parameters, and means for drawing."""
    found = await service.read(lambda c: use.require_experiment(c, experiment))
    held = await service.version(found, version)
    return answer(
        {"experiment": experiment, "version": version} | structure_picture(held.structure)
    )
