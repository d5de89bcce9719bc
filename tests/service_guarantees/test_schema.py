"""schemathesis over the whole OpenAPI: no 500, and only answers that it declares.

It runs as its users run it, from its command line: examples, the edges of every parameter, and some
random requests, always the same. Ids in paths are those of things that exist, so that requests get
past the 404; what happens with ids of nothing is tested beside rubbish.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from structuredbandits.client import Client
from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.servers import Launcher

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance"
)

#: Nothing is left in the folder but this.
CONFIG = """\
[parameters]
"path.experiment" = "{experiment}"
"path.subject" = "somebody"
"path.decision" = "{decision}"
"path.arm" = "{arm}"
"path.version" = 1
"""


def test_no_request_that_the_schema_allows_fails(launch: Launcher, tmp_path: Path) -> None:
    server = launch.start("--db", str(tmp_path / "bandits.db"), "--insecure")
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
            "--phases",
            "examples,coverage,fuzzing",
            "--max-examples",
            "6",
            "--generation-deterministic",
            "--continue-on-failure",
            "--request-timeout",
            "120",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    assert server.status("/readyz") == 200
    assert "Traceback" not in server.text()
    server.stop()
