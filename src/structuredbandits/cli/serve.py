"""`structuredbandits serve`: decisions over HTTP.

This module knows the options and how a server ends. It must not know what it serves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.examples import examples
from structuredbandits.cli.simulate import whole_number

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_COMMAND = "structuredbandits serve"
SERVE_EXAMPLES = examples(
    f"{_COMMAND} three-arms --policy ts-c --insecure",
    f"{_COMMAND} movies.structure --policy hierarchical --db bandits.db",
    f"{_COMMAND} --db postgresql://ana@db.example/bandits --host 0.0.0.0 --port 8080",
)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    structure: Annotated[
        str | None,
        typer.Argument(
            metavar="[STRUCTURE]",
            show_default=False,
            help="A .structure file or the name of an embedded problem, of which an experiment is "
            "made if there is none yet; without it, the experiments in the database are served.",
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="Who decides in that experiment.")
    ] = "hierarchical",
    experiment: Annotated[
        str | None,
        typer.Option(
            metavar="ID", show_default="the structure's name", help="The experiment's id."
        ),
    ] = None,
    floor: Annotated[
        float, typer.Option(metavar="P", help="Probability of a uniformly random arm.")
    ] = 0.0,
    db: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="STRUCTUREDBANDITS_DB",
            help="A file for SQLite, or postgresql://...",
        ),
    ] = "structuredbandits.db",
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", parser=whole_number, help="Where to listen; 0 for any.")
    ] = 8000,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Ask for no API keys; only on an address of this machine."),
    ] = False,
    writers: Annotated[
        int,
        typer.Option(metavar="N", parser=whole_number, help="Writing connections of PostgreSQL."),
    ] = 1,
    queue: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number,
            help="Writes that may wait; further ones are answered with 429.",
        ),
    ] = 4096,
    request_seconds: Annotated[
        float,
        typer.Option(metavar="S", help="Seconds after which a request is answered with 503."),
    ] = 5.0,
    public_metrics: Annotated[
        bool, typer.Option("--public-metrics", help="Let /metrics be read without a key.")
    ] = False,
    start_seconds: Annotated[
        float,
        typer.Option(metavar="S", help="How long to wait at the start for a PostgreSQL."),
    ] = 30.0,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log every request, not only failures.")
    ] = False,
) -> None:
    """Serve decisions over HTTP, with every answer stored durably.

    The console is at /, the lab at /lab, the API's documentation at /docs.
    """
    from structuredbandits.errors import InvalidInput
    from structuredbandits.service.settings import ServiceSettings

    if insecure and host not in _LOOPBACK:
        raise InvalidInput(
            f"--insecure is refused on {host!r}, which others may reach; listen on 127.0.0.1, or "
            "make API keys with 'structuredbandits keys create'."
        )
    if not 0 <= port <= 65_535:
        raise InvalidInput(f"--port is {port}; give a number from 0 to 65535.")
    if not 1 <= writers <= 32:
        raise InvalidInput(f"--writers is {writers}; give a number from 1 to 32.")
    if queue < 1:
        raise InvalidInput(f"--queue is {queue}; give at least 1.")
    if not 0.1 <= request_seconds <= 3600.0:
        raise InvalidInput(f"--request-seconds is {request_seconds:g}; give 0.1 to 3600.")
    if not 0.0 <= start_seconds <= 3600.0:
        raise InvalidInput(f"--start-seconds is {start_seconds:g}; give 0 to 3600.")
    try:
        from structuredbandits.service.runtime import Service
        from structuredbandits.service.server import run, wait_for_database
    except ModuleNotFoundError as missing:
        raise InvalidInput(
            f"serving needs {missing.name}; install it with pip install 'structuredbandits[serve]'."
        ) from None
    settings = ServiceSettings(
        database=db,
        insecure=insecure,
        writers=writers,
        queue_length=queue,
        request_seconds=request_seconds,
        public_metrics=public_metrics,
        log_requests=log_requests,
    )
    wait_for_database(settings.database, start_seconds)
    service = Service(settings)
    if structure is not None:
        _provide(service, structure, policy, experiment, floor)
    run(service, host, port)


def _provide(service: Service, structure: str, policy: str, name: str | None, floor: float) -> None:
    """Make the experiment unless it is there."""
    import re
    from pathlib import Path

    from structuredbandits.problems import load_structure
    from structuredbandits.service.experiments import (
        ExperimentSettings,
        create_experiment,
        find_experiment,
        prepare,
    )

    loaded = load_structure(structure)
    chosen = name or re.sub(r"[^A-Za-z0-9._-]+", "-", Path(structure).stem).strip("-.") or "main"
    with service.database.write() as connection:
        if find_experiment(connection, chosen) is not None:
            return
    settings = ExperimentSettings(floor=floor)
    version = prepare(1, loaded, policy, settings)

    def make(connection: Any) -> None:
        if find_experiment(connection, chosen) is None:
            create_experiment(connection, chosen, version, settings)

    with service.database.write() as connection:
        make(connection)
