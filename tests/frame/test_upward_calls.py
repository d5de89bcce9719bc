"""Each documented upward call is one lazy import."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def exceptions() -> list[tuple[str, str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    found = {tuple(pair.split(" -> ")) for c in contracts for pair in c["ignore_imports"]}
    return sorted((importer, imported) for importer, imported in found)


@pytest.mark.parametrize(("importer", "imported"), exceptions())
def test_an_exception_is_one_import_inside_a_function(importer: str, imported: str) -> None:
    """An upward import at module level would be a cycle."""
    path = ROOT / "src" / Path(*importer.split(".")).with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    upward = [node for node in ast.walk(tree) if imports(node, imported)]
    at_the_head = [node for node in tree.body if imports(node, imported)]
    assert len(upward) == 1
    assert at_the_head == []


def imports(node: ast.AST, module: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith(module)
    return isinstance(node, ast.Import) and any(name.name.startswith(module) for name in node.names)
