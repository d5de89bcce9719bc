"""How a θ is called above a panel or a section of a table.

This module knows words only, so that a table can use it without loading Matplotlib.
"""

from __future__ import annotations

from structuredbandits.structure.parameters import show_theta


def theta_title(theta: object) -> str:
    """Return θ as a title: labels speak for themselves, numbers need a name.

    Examples
    --------
    >>> theta_title(0.5), theta_title((0.9, 0.2)), theta_title(("18-24", "student"))
    ('θ = 0.5', 'θ = (0.9, 0.2)', '18-24 student')
    """
    text = show_theta(theta)
    parts = theta if isinstance(theta, tuple) else (theta,)
    return text if any(isinstance(part, str) for part in parts) else f"θ = {text}"
