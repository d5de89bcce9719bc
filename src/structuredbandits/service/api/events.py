"""Routes that look at an experiment as a whole: its log, and its summary."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from sqlalchemy import Connection
from starlette.responses import Response

from structuredbandits.service.api.access import GuardedRoute, MayRead, ServiceOf, documented
from structuredbandits.service.api.answers import answer, refusals
from structuredbandits.service.api.experiments import ExperimentPath
from structuredbandits.service.api.figures import SummaryAnswer
from structuredbandits.service.events import Page, as_json_lines, as_parquet, settled_decisions
from structuredbandits.service.runtime import Service
from structuredbandits.service.summary import compare, summarise

router = APIRouter(
    prefix="/v1/experiments/{experiment}",
    tags=["log"],
    dependencies=[documented],
    route_class=GuardedRoute,
)
_LINES, _PARQUET = "application/x-ndjson", "application/vnd.apache.parquet"
_EXAMPLE = (
    '{"id":"1f-3-9c0ffee5","subject":"visitor-7","round":3,"arm":"2","probability":0.8,'
    '"reward":4.0,"reward_source":"reward","allowed":["1","2","3"],"policy":"ts-c",'
    '"structure_version":1,"settled":12,"created":"2026-03-01T09:30:00.000000Z",'
    '"rewarded":"2026-03-01T09:31:00.000000Z"}\n'
)
_KEPT_SECONDS = 30.0
# So long a request counts; what is left is counted by the next one.
_COUNTING_SECONDS = 0.5


@router.get(
    "/events",
    responses=refusals()
    | {
        200: {
            "description": "Settled decisions; the header Next-Cursor says where to go on.",
            "content": {
                _LINES: {"schema": {"type": "string"}, "example": _EXAMPLE},
                _PARQUET: {"schema": {"type": "string", "format": "binary"}},
            },
        }
    },
    response_class=Response,
)
async def get_events(
    experiment: ExperimentPath,
    service: ServiceOf,
    grant: MayRead,
    after: Annotated[
        str | None, Query(max_length=64, description="Next-Cursor of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=50_000, description="Rows at the most.")] = 1000,
    structure_version: Annotated[
        int | None,
        Query(ge=1, le=2**31 - 1, description="Only decisions on this version of the structure."),
    ] = None,
    format: Annotated[
        Literal["jsonl", "parquet"], Query(description="JSON lines, or a Parquet file.")
    ] = "jsonl",
) -> Response:
    """Export settled decisions, in the columns that `structuredbandits evaluate` reads.

    They come in the order in which their rewards counted; none is left out, whoever writes
    meanwhile. A corrected decision comes again, with a larger `settled`: of the rows with one `id`
    the last one counts, and `evaluate` counts it so. Ask again with `after` for what is new.
    """

    def export(connection: Connection) -> tuple[Page, bytes]:  # all of it in a reader's thread
        page = settled_decisions(
            service.database,
            connection,
            service.catalogue,
            experiment,
            after,
            limit,
            structure_version,
        )
        return page, (as_parquet if format == "parquet" else as_json_lines)(page.rows)

    page, content = await service.read(export)
    kind = _PARQUET if format == "parquet" else _LINES
    headers = {"Next-Cursor": page.cursor, "Row-Count": str(len(page.rows))}
    return Response(content, headers=headers, media_type=kind)


@router.get(
    "/summary",
    responses=refusals() | {200: {"model": SummaryAnswer}},
    response_class=Response,
)
async def get_summary(
    experiment: ExperimentPath,
    service: ServiceOf,
    grant: MayRead,
    buckets: Annotated[
        int, Query(ge=1, le=500, description="Into how many stretches of time it is cut at most.")
    ] = 60,
) -> Response:
    """Show an experiment at a glance: allocation over time, rewards, health of the structure."""
    seconds = min(_COUNTING_SECONDS, service.settings.request_seconds / 10)
    counts = await service.read(
        lambda c: summarise(c, service.catalogue, service.tallies, experiment, buckets, seconds)
    )
    return answer(counts | await _comparison(service, experiment))


async def _comparison(service: Service, experiment: str) -> dict[str, Any]:
    """Baseline and health, which take a moment and are kept for some seconds."""
    held = service.comparisons.get(experiment)
    if held is not None and time.monotonic() - held[0] < _KEPT_SECONDS:
        return held[1]
    found = await service.read(lambda c: compare(c, service.catalogue, experiment), 60.0)
    service.comparisons[experiment] = (time.monotonic(), found)
    return found
