"""`make` and the continuous integration script do what the documentation says."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # The variables of the `make` that runs this test are not passed to the one under test.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder,
        env=inherited,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the Makefile and the lock files, without an environment."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    client = Path("clients/typescript")
    (tmp_path / client).mkdir(parents=True)
    shutil.copy(ROOT / client / "package-lock.json", tmp_path / client)
    version = Path("src/structuredbandits/_version.py")
    (tmp_path / version).parent.mkdir(parents=True)
    shutil.copy(ROOT / version, tmp_path / version)
    return tmp_path


def test_make_alone_lists_the_commands() -> None:
    listed = make(ROOT).stdout
    for command in ("demo", "test", "bench", "docs", "lock", "clean"):
        assert f"make {command} " in listed


@pytest.mark.parametrize("python", ["/nowhere/python3.11", "false"])
def test_a_missing_or_old_python_is_one_sentence(copy: Path, python: str) -> None:
    done = make(copy, "demo", f"PYTHON={python}")
    assert done.returncode != 0
    assert f"needs Python 3.11 or newer and found {python}: install it, or run" in done.stderr
    assert not (copy / ".venv").exists()


def test_make_test_runs_every_check(copy: Path) -> None:
    planned = make(copy, "test", "--dry-run").stdout
    checks = ["ruff format", "ruff check", "mypy --strict src", "lint-imports", "-m pytest"]
    positions = [planned.index(check) for check in checks]
    assert positions == sorted(positions)
    assert planned.index("install -r requirements/test.txt") < positions[0]


def test_nothing_is_installed_again_while_the_locks_stay(copy: Path) -> None:
    (copy / ".venv").mkdir()
    for stamp in (".created", ".demo", ".demo-package"):
        (copy / ".venv" / stamp).touch()
    assert "pip" not in make(copy, "demo", "--dry-run").stdout
    newer = (copy / ".venv" / ".demo-package").stat().st_mtime + 10
    os.utime(copy / "requirements" / "demo.txt", (newer, newer))
    assert "install -r requirements/demo.txt" in make(copy, "demo", "--dry-run").stdout


def test_continuous_integration_is_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert "set -euo pipefail" in lines
    assert lines[-1] == "exec make test"
