"""Validation of the arguments of a run: arms, horizons and rows of a history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import Structure
from structuredbandits.structure.parameters import brief

#: The largest size of a reward: sums of squares of any number of them stay finite.
LARGEST_REWARD = 1e100
#: The largest number of rounds of a run: some algorithms keep a table of the rounds.
MOST_ROUNDS = 10**9


def too_large(sums: np.ndarray, squares: np.ndarray, counts: np.ndarray) -> bool:
    """Whether sums or sums of squares exceed what ``counts`` rewards can add up to; same shapes."""
    most = np.maximum(counts, 1.0) * 1.000001 * LARGEST_REWARD
    return bool((np.abs(sums) > most).any() or (squares > most * LARGEST_REWARD).any())


def arm_without_rewards(sums: np.ndarray, squares: np.ndarray, counts: np.ndarray) -> int | None:
    """An arm that has a sum but no reward, or None; the arms are the last axis of all three."""
    wrong = (counts == 0) & ((sums != 0) | (squares != 0))
    return int(np.argwhere(wrong)[0][-1]) if wrong.any() else None


def check_structure(structure: object) -> None:
    """Refuse what is not a structure, such as the name of one."""
    if not isinstance(structure, Structure):
        raise InvalidInput(
            f"{brief(structure)} is not a structure; make one, for example with "
            "Structure.from_table."
        )


def allowed_arms(structure: Structure, arms: Iterable[str | int] | None) -> np.ndarray:
    """Positions of the allowed arms, ascending and each once: (allowed,) int64.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> structure = Structure.from_table([[1, 2, 3]], arms=["a", "b", "c"], sigma=1)
    >>> allowed_arms(structure, ["c", 0, "c"])
    array([0, 2])
    """
    if arms is None:
        return np.arange(structure.n_arms)
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise InvalidInput(f"arms is {arms!r}; give a list of arms, for example [{arms!r}].")
    positions = sorted({structure.arm_index(arm) for arm in arms})
    if not positions:
        raise InvalidInput("no arm is allowed; name at least one, or leave arms out for all.")
    return np.array(positions, dtype=np.int64)


def read_horizon(horizon: int | None) -> int:
    """The number of rounds, 0 if it is not known."""
    if horizon is None:
        return 0
    whole = isinstance(horizon, (int, np.integer)) and not isinstance(horizon, bool)
    if not whole or not 1 <= horizon <= MOST_ROUNDS:
        raise InvalidInput(
            f"the horizon is {horizon!r}; give a whole number of rounds, from 1 to "
            f"{MOST_ROUNDS:,}, or None."
        )
    return int(horizon)


def read_history(history: Any) -> Iterable[Any]:
    """The rows of a history."""
    if isinstance(history, str) or not isinstance(history, Iterable):
        raise InvalidInput(f"the history is {history!r}; give rows of an arm and its reward.")
    return history


def arm_with_reward(row: Any) -> tuple[str | int, float]:
    """A row of a history."""
    try:
        arm, reward = row
    except (TypeError, ValueError):
        raise InvalidInput(
            f"the history holds {row!r}; give rows of an arm and its reward."
        ) from None
    return arm, reward
