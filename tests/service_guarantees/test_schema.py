"""schemathesis over the whole OpenAPI: no 500, and only answers that it declares.

It runs as its users run it, from its command line: examples, the edges of every parameter, some
random requests, always the same, and chains of requests in which an answer's ids are used by the
next. Ids in paths are those of things that exist, so that requests get past the 404; what happens
with ids of nothing is tested beside rubbish. PostgreSQL is stricter about what it stores, so all of
it runs there, the lab with it, and on SQLite the examples of the rest.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from structuredbandits.client import Client
from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.servers import Launcher

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance"
)

#: Nothing is left in the folder but this. Who is deleted is somebody else, so that the others stay.
CONFIG = """\
[generation]
max-examples = 6

[phases.stateful.generation]
max-examples = 40

[parameters]
"path.experiment" = "{experiment}"
"path.subject" = "somebody"
"path.decision" = "{decision}"
"path.arm" = "{arm}"
"path.version" = 1

[[operations]]
include-method = "DELETE"
include-path = "/v1/experiments/{{experiment}}/subjects/{{subject}}"
parameters = {{ "path.subject" = "somebody-else" }}
"""


PHASES = {
    "sqlite": ["--phases", "examples", "--exclude-path-regex", "/v1/lab"],
    "postgresql": ["--phases", "examples,coverage,fuzzing,stateful"],
}


@pytest.mark.parametrize("kind", PHASES)
def test_no_request_that_the_schema_allows_fails(
    launch: Launcher, tmp_path: Path, new_database: Callable[[str], str], kind: str
) -> None:
    server = launch.start("--db", new_database(kind), "--insecure")
    arms = create(server).arms
    with Client(server.url) as client:
        decision = client.decide(EXPERIMENT, "somebody")
        client.reward(decision, 3.0)
    config = tmp_path / "schemathesis.toml"
    told = CONFIG.format(experiment=EXPERIMENT, decision=decision.id, arm=arms[-1])
    config.write_text(told, encoding="utf-8")
    program = Path(sys.executable).with_name("schemathesis")
    done = subprocess.run(
        [
            str(program),
            "--config-file",
            str(config),
            "run",
            f"{server.url}/openapi.json",
            "--checks",
            CHECKS,
            *PHASES[kind],
            "--generation-deterministic",
            "--continue-on-failure",
            "--request-timeout",
            "120",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    assert server.status("/readyz") == 200
    assert "Traceback" not in server.text()
    server.stop()
