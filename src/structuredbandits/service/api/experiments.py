"""Routes of experiments: create, list, pause, retire an arm, a new version of the structure."""

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
from structuredbandits.service import experiments as use
from structuredbandits.service.answers import timestamp
from structuredbandits.service.api import models
from structuredbandits.service.api.access import (
    GuardedRoute,
    MayAdminister,
    MayRead,
    ServiceOf,
    documented,
    needs_everything,
)
from structuredbandits.service.api.answers import answer, refusals
from structuredbandits.service.experiments import Experiment
from structuredbandits.service.picture import structure_picture
from structuredbandits.service.refusals import Refusal, unknown_experiment
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables
from structuredbandits.structure import Structure

router = APIRouter(
    prefix="/v1/experiments",
    tags=["experiments"],
    dependencies=[documented],
    route_class=GuardedRoute,
)
ExperimentPath = Annotated[models.ExperimentName, Path(description="The experiment's id.")]
ArmPath = Annotated[models.Name, Path(description="An arm.")]


def read_structure(source: models.StructureSource, service: Service) -> Structure:
    """The structure that a request names or brings."""
    if isinstance(source, models.EmbeddedStructure):
        if source.problem not in problem_names():
            # A path must not be taken for a name: requests read no files of ours.
            known = ", ".join(problem_names())
            raise Refusal(
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


async def told(service: Service, experiment: Experiment) -> dict[str, Any]:
    """An experiment as it is answered; one that cannot be served says so by its state."""
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
    except Refusal as refusal:
        return content | _why_not(refusal)
    return content | {"arms": list(structure.arms), "parameters": structure.n_parameters}


async def _told_row(service: Service, row: RowMapping) -> dict[str, Any]:
    """The same of a row, also if its settings cannot be read."""
    try:
        experiment = Experiment.from_row(row)
    except Refusal as refusal:
        return {
            "id": row["id"],
            "policy": row["policy"],
            "settings": {},
            "arms": [],
            "retired_arms": orjson.loads(row["retired"]),
            "structure_version": row["version"],
            "parameters": 0,
            "created": timestamp(row["created"]),
        } | _why_not(refusal)
    return await told(service, experiment)


def _why_not(refusal: Refusal) -> dict[str, Any]:
    """That an experiment cannot be served, and why; any other refusal stays one."""
    if refusal.code != use.UNUSABLE:
        raise refusal
    return {"state": "unusable", "reason": f"{refusal.message} {refusal.remedy}"}


def _rows(connection: Connection, name: str | None) -> Sequence[RowMapping]:
    """The experiment of that id, or all of them."""
    statement = select(tables.experiments).order_by(tables.experiments.c.created)
    if name is not None:
        statement = statement.where(tables.experiments.c.id == name)
    return connection.execute(statement).mappings().all()


async def _change(
    service: Service, work: Callable[[Connection], Experiment], status: int = 200
) -> Response:
    """Change an experiment, and know at once how it is now."""
    changed = await service.change(work)
    service.catalogue.learn(changed)
    return answer(await told(service, changed), status)


@router.post(
    "",
    status_code=201,
    responses=refusals(409) | {201: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def create_experiment(
    body: models.NewExperiment, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Create an experiment: a structure, a policy, settings. It runs at once."""
    needs_everything(grant)

    def make() -> tuple[use.ExperimentSettings, use.Version]:
        settings = use.ExperimentSettings(**body.settings.model_dump())
        structure = read_structure(body.structure, service)
        return settings, use.prepare(1, structure, body.policy, settings)

    settings, version = await service.prepare(make)
    experiment = await service.change(
        lambda connection: use.create_experiment(connection, body.id, version, settings, grant.id)
    )
    return answer(await told(service, experiment), 201)


@router.get(
    "",
    responses=refusals() | {200: {"model": models.ExperimentList}},
    response_class=Response,
)
async def list_experiments(service: ServiceOf, grant: MayRead) -> Response:
    """List the experiments that the key opens."""
    found = await service.read(lambda connection: _rows(connection, grant.experiment))
    return answer({"experiments": [await _told_row(service, one) for one in found]})


@router.get(
    "/{experiment}",
    responses=refusals() | {200: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def get_experiment(
    experiment: ExperimentPath, service: ServiceOf, grant: MayRead
) -> Response:
    """Show an experiment."""
    found = await service.read(lambda connection: _rows(connection, experiment))
    if not found:
        raise unknown_experiment(experiment)
    return answer(await _told_row(service, found[0]))


@router.patch(
    "/{experiment}",
    responses=refusals() | {200: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def change_experiment(
    experiment: ExperimentPath,
    body: models.ExperimentChange,
    service: ServiceOf,
    grant: MayAdminister,
) -> Response:
    """Pause an experiment, or let it run again; rewards are taken in either state."""
    return await _change(service, lambda c: use.change_state(c, experiment, body.state, grant.id))


@router.post(
    "/{experiment}/arms/{arm:path}/retire",
    responses=refusals(409) | {200: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def retire_arm(
    experiment: ExperimentPath, arm: ArmPath, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Show an arm to nobody any more."""
    return await _change(service, lambda c: use.retire_arm(c, experiment, arm, True, grant.id))


@router.post(
    "/{experiment}/arms/{arm:path}/restore",
    responses=refusals(409) | {200: {"model": models.ExperimentAnswer}},
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
    responses=refusals(409) | {201: {"model": models.ExperimentAnswer}},
    response_class=Response,
)
async def add_structure(
    experiment: ExperimentPath,
    body: models.NewStructure,
    service: ServiceOf,
    grant: MayAdminister,
) -> Response:
    """Give new subjects a new version of the structure; the others go on with theirs."""
    present = await service.read(lambda c: use.require_experiment(c, experiment))

    def make() -> Structure:
        structure = read_structure(body.structure, service)
        use.prepare(present.version + 1, structure, present.policy, present.settings)
        return structure

    structure = await service.prepare(make)
    return await _change(
        service, lambda c: use.add_structure(c, experiment, structure, grant.id), 201
    )


@router.get(
    "/{experiment}/structures/{version}",
    responses=refusals() | {200: {"model": models.StructureAnswer}},
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
