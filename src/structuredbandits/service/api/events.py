"""Routes of an experiment as a whole: its exported log and its summary."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from structuredbandits.service.api.authorization import GuardedRoute, MayRead, ServiceOf, documented
from structuredbandits.service.api.experiments import ExperimentPath
from structuredbandits.service.api.responses import answer, error_responses
from structuredbandits.service.api.summary_models import SummaryAnswer
from structuredbandits.service.reporting.event_log import (
    JsonLines,
    PageReader,
    Parquet,
    find_page,
)
from structuredbandits.service.reporting.summary import compare, summarise
from structuredbandits.service.runtime import Service

router = APIRouter(
    prefix="/v1/experiments/{experiment}",
    tags=["log"],
    dependencies=[documented],
    route_class=GuardedRoute,
)
_EXAMPLE = (
    '{"id":"1f-3-9c0ffee5","subject":"visitor-7","round":3,"arm":"2","probability":0.8,'
    '"reward":4.0,"reward_source":"reward","allowed":["1","2","3"],"policy":"ts-c",'
    '"structure_version":1,"settled":12,"created":"2026-03-01T09:30:00.000000Z",'
    '"rewarded":"2026-03-01T09:31:00.000000Z"}\n'
)
# A request counts for this time; the next one counts the rest.
_COUNTING_SECONDS = 0.5


@router.get(
    "/events",
    responses=error_responses()
    | {
        200: {
            "description": "Settled decisions; the header Next-Cursor says where to continue.",
            "content": {
                JsonLines.media_type: {"schema": {"type": "string"}, "example": _EXAMPLE},
                Parquet.media_type: {"schema": {"type": "string", "format": "binary"}},
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
        str | None, Query(max_length=64, description="Next-Cursor of the previous page.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=50_000, description="Maximum number of rows.")] = 1000,
    structure_version: Annotated[
        int | None,
        Query(ge=1, le=2**31 - 1, description="Only decisions on this version of the structure."),
    ] = None,
    format: Annotated[
        Literal["jsonl", "parquet"], Query(description="JSON lines, or a Parquet file.")
    ] = "jsonl",
) -> Response:
    """Export settled decisions, in the columns that `structuredbandits evaluate` reads.

    They are sorted by the time at which their rewards counted, and none is missing despite
    concurrent writes. A corrected decision is exported again, with a larger `settled`: of the rows
    with one `id` the last one counts, also in `evaluate`. Ask again with `after` for new rows.

    `allowed` is null where all arms of the structure were allowed; the first such row of each
    version in an answer names them. The answer is sent in parts; a subject that is deleted
    meanwhile is left out.
    """
    page = await service.read(
        lambda c: find_page(service.database, c, experiment, after, limit, structure_version)
    )
    form = Parquet() if format == "parquet" else JsonLines()
    reader = PageReader(page, service.experiment_cache, form)
    first = await _part(service, reader)  # an error still has its status
    headers = {"Next-Cursor": page.cursor, "Row-Count": str(page.rows)}

    async def parts() -> AsyncIterator[bytes]:
        part = first
        while part is not None:
            yield part
            part = await _part(service, reader)
        yield form.end()

    return StreamingResponse(parts(), headers=headers, media_type=form.media_type)


async def _part(service: Service, reader: PageReader) -> bytes | None:
    """Read the next part of an export, one at a time, and leave as much time to others."""
    async with service.exporting:
        start = time.monotonic()
        part = await service.read(reader.part)
        if part is not None:
            await asyncio.sleep(time.monotonic() - start)
        return part


@router.get(
    "/summary",
    responses=error_responses() | {200: {"model": SummaryAnswer}},
    response_class=Response,
)
async def get_summary(
    experiment: ExperimentPath,
    service: ServiceOf,
    grant: MayRead,
    buckets: Annotated[
        int, Query(ge=1, le=500, description="Maximum number of time intervals.")
    ] = 60,
) -> Response:
    """Show an experiment at a glance: allocation over time, rewards, health of the structure."""
    seconds = min(_COUNTING_SECONDS, service.settings.request_seconds / 10)
    counts = await service.read(
        lambda c: summarise(
            c, service.experiment_cache, service.aggregates, experiment, buckets, seconds
        )
    )
    return answer(counts | await _comparison(service, experiment))


async def _comparison(service: Service, experiment: str) -> dict[str, Any]:
    """Return baseline and health, which are slow and therefore cached."""
    held = service.comparisons.get(experiment)
    if held is not None:
        return held
    found = await service.read(lambda c: compare(c, service.experiment_cache, experiment), 60.0)
    service.comparisons[experiment] = found
    return found
