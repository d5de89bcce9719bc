"""`structuredbandits serve`: runs the service, which makes decisions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.config_file import read_config
from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.simulate import whole_number

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_COMMAND = "structuredbandits serve"
SERVE_EXAMPLES = examples(
    f"{_COMMAND} three-arms --policy ts-c --insecure",
    f"{_COMMAND} movies.structure --length 30 --db bandits.db",
    f"{_COMMAND} --db postgresql://ana@db.example/bandits --host 0.0.0.0 --port 8080",
)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    structure: Annotated[
        str | None,
        typer.Argument(
            metavar="[STRUCTURE]",
            show_default=False,
            help="A .structure file or the name of an embedded problem: an experiment with it is "
            "created if it does not exist. Without it, the experiments of the database are served.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="default",
            help="The policy of that experiment.",
        ),
    ] = None,
    length: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            show_default="that of the structure",
            help="The mean number of decisions per visitor, for policies that plan ahead.",
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(
            metavar="ID", show_default="name of the structure", help="The ID of the experiment."
        ),
    ] = None,
    floor: Annotated[
        float,
        typer.Option(
            metavar="P",
            help="Probability of a uniformly random arm, so that the log can be evaluated.",
        ),
    ] = 0.02,
    db: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="STRUCTUREDBANDITS_DB",
            help="A file for SQLite, or postgresql://...",
        ),
    ] = "structuredbandits.db",
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number, help="The port to listen on; 0 for any free port."
        ),
    ] = 8000,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Require no API keys; only with a loopback address."),
    ] = False,
    writers: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number, help="Number of writing connections to PostgreSQL."
        ),
    ] = 1,
    queue: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number,
            help="Maximum number of waiting writes; further requests get status 429.",
        ),
    ] = 4096,
    request_seconds: Annotated[
        float,
        typer.Option(metavar="S", help="Seconds after which a request gets status 503."),
    ] = 5.0,
    decision_seconds: Annotated[
        float,
        typer.Option(
            metavar="S",
            help="CPU time of one decision; experiments that need more are refused.",
        ),
    ] = 0.5,
    connections: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number,
            help="Maximum number of connections; fewer if the process may open fewer files.",
        ),
    ] = 4096,
    connections_per_address: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default="half of all",
            help="Maximum number of connections from one address; a proxy is one address.",
        ),
    ] = None,
    public_metrics: Annotated[
        bool, typer.Option("--public-metrics", help="Allow reading /metrics without a key.")
    ] = False,
    start_seconds: Annotated[
        float,
        typer.Option(metavar="S", help="Seconds to wait for PostgreSQL at the start."),
    ] = 30.0,
    drain_seconds: Annotated[
        float,
        typer.Option(metavar="S", help="Seconds to keep answering after SIGTERM, while not ready."),
    ] = 0.0,
    retention_share: Annotated[
        float,
        typer.Option(
            metavar="P",
            help="Share of an experiment's subjects that retention deletes without confirmation.",
        ),
    ] = 0.5,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log every request, not only failures.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="STRUCTUREDBANDITS_CONFIG",
            is_eager=True,
            callback=read_config,
            show_default=False,
            help="A TOML file with options of this command, such as port = 8080.",
        ),
    ] = None,
) -> None:
    """Serve decisions over HTTP; every decision is stored durably before it is returned.

    The console is at /, the lab at /lab, the documentation of the API at /docs. Each option can
    also be an environment variable, such as STRUCTUREDBANDITS_PORT for --port.
    """
    from structuredbandits.errors import InvalidInput
    from structuredbandits.service.settings import ConnectionLimits, ServiceSettings

    if insecure and host not in _LOOPBACK:
        raise InvalidInput(
            f"--insecure is refused on {host!r}, which other machines may reach; listen on "
            "127.0.0.1, or create API keys with 'structuredbandits keys create'."
        )
    if not 0 <= port <= 65_535:
        raise InvalidInput(f"--port is {port}; give a number from 0 to 65535.")
    if not 1 <= writers <= 32:
        raise InvalidInput(f"--writers is {writers}; give a number from 1 to 32.")
    if queue < 1:
        raise InvalidInput(f"--queue is {queue}; give at least 1.")
    for name, number in (
        ("connections", connections),
        ("connections-per-address", connections_per_address),
    ):
        if number is not None and number < 1:
            raise InvalidInput(f"--{name} is {number}; give at least 1.")
    if not 0.1 <= request_seconds <= 3600.0:
        raise InvalidInput(f"--request-seconds is {request_seconds:g}; give 0.1 to 3600.")
    if not 0.001 <= decision_seconds <= 3600.0:
        raise InvalidInput(f"--decision-seconds is {decision_seconds:g}; give 0.001 to 3600.")
    if not 0.0 <= start_seconds <= 3600.0:
        raise InvalidInput(f"--start-seconds is {start_seconds:g}; give 0 to 3600.")
    if not 0.0 <= drain_seconds <= 3600.0:
        raise InvalidInput(f"--drain-seconds is {drain_seconds:g}; give 0 to 3600.")
    if not 0.0 <= retention_share <= 1.0:
        raise InvalidInput(f"--retention-share is {retention_share:g}; give 0 to 1.")
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
        decision_seconds=decision_seconds,
        public_metrics=public_metrics,
        log_requests=log_requests,
        drain_seconds=drain_seconds,
        retention_share=retention_share,
        connections=ConnectionLimits(connections, connections_per_address),
    )
    wait_for_database(settings.database, start_seconds)
    service = Service(settings)
    if structure is not None:
        _provide(service, structure, policy or "default", experiment, floor, length)
    run(service, host, port)


def _provide(
    service: Service,
    structure: str,
    policy: str,
    name: str | None,
    floor: float,
    length: float | None,
) -> None:
    """Create the experiment unless it exists."""
    import re

    from structuredbandits.policies.structured.belief import prior_of
    from structuredbandits.problems import load_structure
    from structuredbandits.service.experiments.decision_cost import require_affordable
    from structuredbandits.service.experiments.experiment_settings import ExperimentSettings
    from structuredbandits.service.experiments.stored_experiment import (
        create_experiment,
        find_experiment,
        prepare,
    )

    loaded = load_structure(structure)
    chosen = name or re.sub(r"[^A-Za-z0-9._-]+", "-", Path(structure).stem).strip("-.") or "main"
    with service.database.write() as connection:
        if find_experiment(connection, chosen) is not None:
            return
    settings = ExperimentSettings(floor=floor, length=length)
    version = prepare(1, loaded, policy, settings)
    require_affordable(version, service.settings.decision_seconds)
    if floor > 0.0:
        worth = loaded.sign * loaded.means
        lost = prior_of(loaded) @ (worth.max(axis=1) - worth.mean(axis=1))
        typer.echo(
            f"A floor of {floor:g} costs about {floor * lost:.2g} per decision: with this "
            "probability a uniformly random arm is shown, so that the log can be evaluated. "
            "--floor 0 turns it off.",
            err=True,
        )

    def make(connection: Any) -> None:
        if find_experiment(connection, chosen) is None:
            create_experiment(connection, chosen, version, settings)

    with service.database.write() as connection:
        make(connection)
