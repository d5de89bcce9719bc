"""Write the types of the TypeScript client from the service's OpenAPI document."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "clients" / "typescript"
TYPES = CLIENT / "src" / "schema.ts"
NODE = Path(sys.executable).with_name("node")
_PROGRAM = CLIENT / "node_modules" / "openapi-typescript" / "bin" / "cli.js"


def generate(target: Path) -> None:
    """Write the types to a file."""
    from structuredbandits.service.api import create_app
    from structuredbandits.service.settings import ServiceSettings

    with tempfile.TemporaryDirectory() as folder:
        app = create_app(ServiceSettings(database=str(Path(folder) / "empty.db"), insecure=True))
        document = Path(folder) / "openapi.json"
        document.write_text(json.dumps(app.openapi()), encoding="utf-8")
        app.state.service.close()
        command = [str(NODE), str(_PROGRAM), str(document), "--output", str(target)]
        subprocess.run(command, check=True, capture_output=True, cwd=CLIENT)


if __name__ == "__main__":
    generate(TYPES)
