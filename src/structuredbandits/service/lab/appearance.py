"""Colours and line styles of policies and arms, the same as in the library's figures."""

from __future__ import annotations

from functools import lru_cache

from structuredbandits.service.lab.lab_models import Look


@lru_cache(maxsize=512)
def policy_look(label: str) -> Look:
    """Return the look of a policy.

    Examples
    --------
    >>> policy_look("ucb-c").colour, policy_look("ucb-c").dash
    ('#0072B2', [])
    """
    # Imported here, because the package of figures imports Matplotlib.
    from structuredbandits.plots.style import look_of

    return _plain(look_of(label))


@lru_cache(maxsize=512)
def arm_look(position: int) -> Look:
    """Return the look of an arm by its position.

    Examples
    --------
    >>> arm_look(1).colour
    '#D55E00'
    """
    from structuredbandits.plots.style import arm_look as look_of_arm

    return _plain(look_of_arm(position))


def _plain(look: tuple[str, str | tuple[float, tuple[float, ...]], str]) -> Look:
    colour, line, marker = look
    return Look(
        colour=colour,
        dash=[] if isinstance(line, str) else list(line[1]),
        marker=marker,
    )
