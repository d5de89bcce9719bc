"""The layers contract bites.

`make test` runs import-linter on the package itself; here it runs on a small package with the same
rooms, into which one wrong import is put at a time.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def rooms() -> list[str]:
    """The rooms in the order in which data flows, the errors first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [layer.strip("()") for layer in reversed(layers)]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A package with all rooms, where each imports the one before it (the client: the errors)."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    package = tmp_path / "structuredbandits"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_version.py").touch()
    before = ""
    for room in rooms():
        known = "errors" if room == "client" else before
        line = f"import structuredbandits.{known}\n" if known else ""
        (package / f"{room}.py").write_text(line, encoding="utf-8")
        before = before if room == "client" else room
    return package


def lint(package: Path) -> subprocess.CompletedProcess[str]:
    script = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [str(script), "--no-logo", "--no-cache"],
        cwd=package.parent,
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_model_keeps_the_contracts(model: Path) -> None:
    done = lint(model)
    assert "2 kept, 0 broken" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("errors", "structure"),
        ("structure", "policies"),
        ("problems", "cli"),
        ("client", "service"),
    ],
)
def test_an_import_against_the_order_is_refused(model: Path, importer: str, imported: str) -> None:
    with (model / f"{importer}.py").open("a", encoding="utf-8") as file:
        file.write(f"def later():\n    import structuredbandits.{imported}\n")
    done = lint(model)
    assert done.returncode == 1
    assert f"structuredbandits.{importer} -> structuredbandits.{imported}" in done.stdout


def test_a_room_that_is_not_listed_is_refused(model: Path) -> None:
    (model / "attic.py").touch()
    done = lint(model)
    assert done.returncode == 1
    assert "attic" in done.stdout
