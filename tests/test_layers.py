"""The import contracts detect a wrong import.

`make test` runs import-linter on the package itself; here it runs on a small model with the same
packages, to which one wrong import is added at a time.
"""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def packages() -> list[str]:
    """The packages in the order in which data flows, errors first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return list(reversed(listed))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with all packages, where each imports the previous one (the client: the errors)."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    package = tmp_path / "structuredbandits"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_version.py").touch()
    before = ""
    for name in packages():
        known = "errors" if name == "client" else before
        line = f"import structuredbandits.{known}\n" if known else ""
        (package / f"{name}.py").write_text(line, encoding="utf-8")
        before = before if name == "client" else name
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
def test_an_import_against_the_order_is_rejected(model: Path, importer: str, imported: str) -> None:
    with (model / f"{importer}.py").open("a", encoding="utf-8") as file:
        file.write(f"def later():\n    import structuredbandits.{imported}\n")
    done = lint(model)
    assert done.returncode == 1
    assert f"structuredbandits.{importer} -> structuredbandits.{imported}" in done.stdout


def test_a_package_that_is_not_listed_is_rejected(model: Path) -> None:
    (model / "attic.py").touch()
    done = lint(model)
    assert done.returncode == 1
    assert "attic" in done.stdout


def imports(path: Path) -> list[str]:
    """The modules, and names of modules, that a file imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def outside_uses(top: Path) -> list[str]:
    """Imports of a module with an underscore from outside the package that holds it."""
    found = []
    for path in sorted(top.rglob("*.py")):
        importer = ".".join(path.relative_to(top.parent).with_suffix("").parts)
        for name in imports(path):
            parts = name.split(".")
            file = top.parent.joinpath(*parts).with_suffix(".py")
            package = ".".join(parts[:-1])
            if parts[-1].startswith("_") and file.exists() and not importer.startswith(package):
                found.append(f"{importer} imports {name}")
    return found


def test_a_private_module_is_imported_within_its_package_only() -> None:
    assert outside_uses(ROOT / "src" / "structuredbandits") == []


def test_an_import_of_a_private_module_from_outside_is_found(tmp_path: Path) -> None:
    for package, line in (("one", ""), ("two", "from top.one._hidden import thing\n")):
        (tmp_path / "top" / package).mkdir(parents=True)
        (tmp_path / "top" / package / "_hidden.py").touch()
        (tmp_path / "top" / package / "user.py").write_text(line, encoding="utf-8")
    assert outside_uses(tmp_path / "top") == ["top.two.user imports top.one._hidden"]
