"""Decisions that take long to compute: prepared before their transaction, or refused.

A transaction makes all others wait, so choices are computed ahead of it from the subjects' states
as they are then, in a thread that gives way to others. The transaction uses them if the states are
still the same, and otherwise returns the decision to be prepared again.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, select

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.decisions.commands import Decide
from structuredbandits.service.decisions.transaction import NotPrepared, allowed_arms
from structuredbandits.service.errors import RequestError, overloaded
from structuredbandits.service.experiments.stored_experiment import StoredExperiment, Version
from structuredbandits.service.storage import tables
from structuredbandits.service.subjects.subject_state import SubjectState

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

# The choices of a part of a batch take about this long to compute; then others have their turn.
_PART_SECONDS = 0.1
# The share of a request's time in which its choices have to be computed.
_SHARE = 0.8


async def decide_costly(
    service: Service,
    experiment: StoredExperiment,
    version: Version,
    commands: Sequence[Decide],
    tenant: Hashable,
) -> list[Any]:
    """Return the results of decisions of one experiment.

    Raises
    ------
    RequestError
        422 if they would take longer than a request may.
    """
    seconds = version.chooser.seconds
    end = time.monotonic() + service.settings.request_seconds
    stored = await service.read(lambda c: _states(c, experiment.id, [o.subject for o in commands]))
    _refuse_endless(service, version, sum(one.subject in stored for one in commands))
    at_once = max(1, int(_PART_SECONDS / seconds))
    results: list[Any] = [NotPrepared()] * len(commands)
    left = list(range(len(commands)))
    while left:
        if time.monotonic() >= end:
            late = overloaded("too many costly decisions are waiting")
            return [late if isinstance(one, NotPrepared) else one for one in results]
        places = _next_part(commands, left, at_once)
        part = [commands[place] for place in places]
        await _prepare(service, experiment, part, end)
        done = await service.write(part, max(0.001, end - time.monotonic()), tenant)
        for place, result in zip(places, done, strict=True):
            results[place] = result
        left = [place for place in left if isinstance(results[place], NotPrepared)]
    return results


def _refuse_endless(service: Service, version: Version, known: int) -> None:
    """Refuse what cannot be computed within the time of a request; new subjects cost nothing."""
    seconds = version.chooser.seconds
    allowed = _SHARE * service.settings.request_seconds
    if known * seconds <= allowed:
        return
    most = int(allowed / seconds)
    remedy = f"Send at most {most} decisions in a batch, or use" if most else "Use"
    raise RequestError(
        422,
        "too_costly",
        f"{known} decisions on {version.structure.n_arms} arms and {version.n_parameters} "
        f"parameters take about {known * seconds:.2g} s, and a request has {allowed:g} s for them.",
        f"{remedy} a cheaper policy or a smaller structure.",
    )


def _next_part(commands: Sequence[Decide], left: Sequence[int], most: int) -> list[int]:
    """The next places, of different subjects: a decision changes what the next depends on."""
    places: dict[str, int] = {}
    for place in left:
        places.setdefault(commands[place].subject, place)
        if len(places) == most:
            break
    return sorted(places.values())


async def _prepare(
    service: Service, experiment: StoredExperiment, part: Sequence[Decide], end: float
) -> None:
    """Compute the choices for the subjects of some decisions as they are now."""
    names = [one.subject for one in part]
    stored = await service.read(lambda c: _states(c, experiment.id, names))
    groups: dict[tuple[int, tuple[int, ...] | None], list[SubjectState]] = defaultdict(list)
    versions: dict[int, Version] = {}
    for command in part:
        if command.subject not in stored:
            continue
        number, text = stored[command.subject]
        try:
            if number not in versions:
                versions[number] = await service.version(experiment, number)
            allowed = allowed_arms(experiment, versions[number], command.arms)
            groups[number, allowed].append(SubjectState.from_json(text))
        except (StructuredBanditsError, ValueError, TypeError):
            continue  # the transaction says what is wrong with it
    for (number, allowed), states in groups.items():
        found = versions[number]
        arms = found.all_arms if allowed is None else np.array(allowed, dtype=np.int64)

        def work(chosen: Version = found, own: Any = states, arms: Any = arms) -> None:
            chosen.chooser.prepare(own, arms)

        await service.compute(work, max(0.001, end - time.monotonic()))


def _states(
    connection: Connection, experiment: str, names: Sequence[str]
) -> dict[str, tuple[int, str]]:
    """Structure version and state of the subjects that exist, by name."""
    table = tables.subjects.c
    statement = select(table.name, table.version, table.state).where(
        table.experiment == experiment, table.name.in_(set(names))
    )
    return {row.name: (row.version, row.state) for row in connection.execute(statement)}
