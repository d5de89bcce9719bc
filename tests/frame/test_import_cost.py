"""Heavy libraries are imported when they are used, not when the package or its help is."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ["numba", "pandas", "pyarrow", "matplotlib.pyplot", "scipy.optimize"]


@pytest.mark.parametrize(
    "use",
    [
        "import structuredbandits",
        "import structuredbandits; dir(structuredbandits)",
        "from structuredbandits.cli import main; sys.argv = ['structuredbandits', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass",
    ],
    ids=["import", "dir", "help"],
)
def test_no_heavy_library_is_loaded(use: str, tmp_path: Path) -> None:
    code = f"import sys\n{use}\nprint('loaded:', [name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["loaded: []"], done.stdout + done.stderr
