"""Titles of figures and of sections of tables; importing them does not load Matplotlib."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from structuredbandits.structure import show_theta

if TYPE_CHECKING:
    from structuredbandits.simulation import Results


def theta_title(theta: object) -> str:
    """Return θ as a title: numbers are prefixed with "θ =", labels are not.

    Examples
    --------
    >>> theta_title(0.5), theta_title((0.9, 0.2)), theta_title(("18-24", "student"))
    ('θ = 0.5', 'θ = (0.9, 0.2)', '18-24 student')
    """
    text = show_theta(theta)
    parts = theta if isinstance(theta, tuple) else (theta,)
    return text if any(isinstance(part, str) for part in parts) else f"θ = {text}"


def regret_finding(found: Sequence[Results], skip: Collection[int] = ()) -> str:
    """Return which policy has the lowest mean final regret, and at how many θ.

    Parameters
    ----------
    found
        Results at the same θ, with different policies.
    skip
        Positions of θ to leave out.
    """
    policies = [policy for results in found for policy in results.policies]
    if len(policies) == 1:
        return f"regret of {policies[0]}"
    finals = [row for results in found for row in results.mean()[..., -1].tolist()]
    kept = [k for k in range(len(found[0].thetas)) if k not in skip]
    wins = dict.fromkeys(policies, 0)
    for k in kept:
        column = [row[k] for row in finals]
        if column.count(min(column)) == 1:
            wins[policies[column.index(min(column))]] += 1
    best = max(policies, key=lambda policy: wins[policy])
    if not wins[best] or list(wins.values()).count(wins[best]) > 1:
        return f"regret of {len(policies)} policies"
    first = found[0].thetas[kept[0]]
    labels = theta_title(first) == show_theta(first)
    what = "segment" if labels else "θ"
    where = f"after {found[0].horizon:,} rounds"
    if len(kept) > 1:
        every = wins[best] == len(kept)
        few = f"{wins[best]} of {len(kept)} {what}{'s' if labels else ''}"
        where = f"{'in' if labels else 'at'} {f'every {what}' if every else few}"
    mean = "mean " if found[0].runs > 1 else ""
    return f"{best} has the lowest {mean}regret {where}"
