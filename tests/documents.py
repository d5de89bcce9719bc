"""Run code of the documentation as a separate script, with warnings as errors."""

import subprocess
import sys
from pathlib import Path


def run_code(code: str, folder: Path) -> str:
    """Return the output of a script."""
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
