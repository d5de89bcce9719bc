"""Heavy libraries are imported on first use, not with the package or for the help."""

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
        "import structuredbandits.learning",
        "import structuredbandits.policies.registry",
        "from structuredbandits.cli import main; sys.argv = ['structuredbandits', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass",
    ],
    ids=["import", "dir", "learning", "registry", "help"],
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


def test_learning_imports_no_policies(tmp_path: Path) -> None:
    code = (
        "import sys\nimport structuredbandits as sb\nsb.learn_structure, sb.read_cells\n"
        "print([name for name in sys.modules if name.startswith('structuredbandits.policies')])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr
