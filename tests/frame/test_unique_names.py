"""One name, one thing: no two classes share a name, and no two files except by rule."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "structuredbandits"
#: Folders whose files are named after the package that they expose.
EXPOSING = (PACKAGE / "cli", PACKAGE / "service" / "api")
#: The errors of the library, and those of the service's requests.
ERRORS = {PACKAGE / "errors.py", PACKAGE / "service" / "errors.py"}


def shared(named: Iterable[tuple[str, Path]]) -> dict[str, list[str]]:
    """The names that occur twice or more, with their places."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in named:
        places[name].append(path.relative_to(ROOT).as_posix())
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_two_classes_share_a_name() -> None:
    """Leading underscores do not make a name another one."""
    classes = [
        (node.name.lstrip("_"), path)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    assert len(classes) > 200
    assert shared(classes) == {}


def test_no_two_modules_share_a_file_name() -> None:
    modules = [
        (path.stem.lstrip("_"), path)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent not in EXPOSING and path not in ERRORS and path.name != "__init__.py"
    ]
    assert len(modules) > 200
    assert shared(modules) == {}


def test_no_two_test_files_share_a_name() -> None:
    tests = [(path.name, path) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    assert len(tests) > 100
    assert shared(tests) == {}


def test_a_shared_name_is_found() -> None:
    found = shared([("Box", PACKAGE / "a.py"), ("Box", PACKAGE / "b.py"), ("Set", ROOT / "c.py")])
    assert found == {"Box": ["src/structuredbandits/a.py", "src/structuredbandits/b.py"]}
