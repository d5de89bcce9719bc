"""The library's own policies: tests define further ones, which the registry then knows, too."""

from __future__ import annotations

import structuredbandits as sb


def built_in_names() -> list[str]:
    """Names of all policies that the library brings, alone or inside Algorithm-C."""
    names = []
    for name in sb.policy_names():
        algorithm = sb.make_algorithm(name)
        inside = getattr(algorithm, "policy", algorithm)
        if type(inside).__module__.startswith("structuredbandits."):
            names.append(name)
    return names
