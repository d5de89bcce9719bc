"""The library's own policies: tests define further ones, which the registry then knows, too."""

from __future__ import annotations

import structuredbandits as sb
from structuredbandits.policies import own


def built_in_names() -> list[str]:
    """Names of all policies that the library brings, alone or inside Algorithm-C."""
    names = []
    for name in sb.policy_names():
        algorithm = sb.make_algorithm(name)
        inside = getattr(algorithm, "policy", algorithm)
        home = type(inside).__module__
        # What the examples of `index_policy` define counts as made where they stand.
        if home.startswith("structuredbandits.") and home != own.__name__:
            names.append(name)
    return names
