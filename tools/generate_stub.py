"""Write the stub of the public names; part of ``make generated``.

The stub of the package, ``src/structuredbandits/__init__.pyi``, lists the public names. Those of
policies follow from their registrations (``@register`` in ``policies/classical`` and
``policies/structured``); all others are edited by hand, there and nowhere else. A test fails
while the stub differs from what this module would write.
"""

from __future__ import annotations

import ast
from pathlib import Path

import structuredbandits
from structuredbandits.policies.registration import registered

STUB = Path(structuredbandits.__file__).with_suffix(".pyi")
_PACKAGE = structuredbandits.__name__
_OF_POLICIES = ("policies.classical.", "policies.structured.")
_HEAD = (
    "# The public names; they are imported when they are first used. 'make generated' writes the\n"
    "# lines of policies from their registrations, the others are edited here.\n"
)
_LONGEST = 100


def stub(current: str) -> str:
    """The stub with the public names of ``current`` and the policies that are registered."""
    names = {
        (node.module or "", alias.name)
        for node in ast.parse(current).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    kept = {(module, name) for module, name in names if not module.startswith(_OF_POLICIES)}
    policies = {
        (kind.__module__.removeprefix(f"{_PACKAGE}."), kind.__name__)
        for kind in registered(built_in=True).values()
    }
    return _HEAD + "\n".join(_line(*entry) for entry in sorted(kept | policies, key=_order)) + "\n"


def _line(module: str, name: str) -> str:
    line = f"from .{module} import {name} as {name}"
    if len(line) <= _LONGEST:
        return line
    return f"from .{module} import (\n    {name} as {name},\n)"


def _order(entry: tuple[str, str]) -> tuple[str, int, str]:
    """The order of ruff: by module; constants, classes, functions; by name."""
    module, name = entry
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return module, kind, name.lower()


def main() -> None:
    """Write what is stale, and say what that was."""
    current = STUB.read_text(encoding="utf-8")
    wanted = stub(current)
    if wanted != current:
        STUB.write_text(wanted, encoding="utf-8")
    print(f"{STUB.name} is {'up to date' if wanted == current else 'written'}.")


if __name__ == "__main__":
    main()
