"""The library's own policies: tests define further ones, which the registry then knows, too."""

from __future__ import annotations

from structuredbandits.policies.registration import names_of, registered


def built_in_names() -> list[str]:
    """Names of all policies that the library brings, alone or inside Algorithm-C."""
    known = registered(built_in=True)
    return [name for base, kind in known.items() for name in names_of(base, kind)]
