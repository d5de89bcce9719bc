"""Wording that is shared by all formats of reports."""

from __future__ import annotations

from structuredbandits.experiments.experiment import Claim

_MOST_VALUES = 8


def verdict(claim: Claim) -> str:
    """Return in words whether a claim held.

    Examples
    --------
    >>> verdict(Claim("1 < 2", True, "1")), verdict(Claim("2 < 1", False, "1"))
    ('held', 'did not hold')
    """
    return "held" if claim.held else "did not hold"


def setting_words(value: object) -> str:
    """Return a setting as readable text.

    Examples
    --------
    >>> setting_words(50_000), setting_words(["ucb", "ts"]), setting_words({"UCB": ["ucb"]})
    ('50,000', 'ucb, ts', 'UCB: ucb')
    >>> setting_words(list(range(20)))
    '0, 1, 2, 3, 4, 5, 6, 7 … (20 in all)'
    """
    if isinstance(value, dict):
        return "; ".join(f"{key}: {setting_words(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        text = ", ".join(setting_words(part) for part in value[:_MOST_VALUES])
        return text + (f" … ({len(value)} in all)" if len(value) > _MOST_VALUES else "")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
