"""Run code as a reader of the documents would: as a script of its own, warnings being errors."""

import subprocess
import sys
from pathlib import Path


def run_code(code: str, folder: Path) -> str:
    """What a script prints."""
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
