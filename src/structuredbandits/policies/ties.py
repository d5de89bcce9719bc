"""Random tie-breaking: which of several equally good arms is pulled, and with which probability.

Arms are compared one after another. Each arm that ties with the best one so far replaces it with
probability 1 / (arms tied so far), so all tied arms are equally likely in a single pass, and the
generator is used only on a tie.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structuredbandits._compiled import inline


@inline
def take_tied(chosen: int, ties: int, arm: int, generator: Any) -> tuple[int, int]:
    """One more arm ties with the chosen one: the arm that stays, and the number of tied arms."""
    ties += 1
    if generator.random() * ties < 1.0:
        chosen = arm
    return chosen, ties


@inline
def take_larger(
    best: float, chosen: int, ties: int, value: float, arm: int, generator: Any
) -> tuple[float, int, int]:
    """Compare one more arm: the best value so far, the chosen arm and the number of tied arms.

    Start with ``(-math.inf, -1, 0)``; the first arm is always taken.
    """
    if value > best or ties == 0:
        return value, arm, 1
    if value == best:
        chosen, ties = take_tied(chosen, ties, arm, generator)
    return best, chosen, ties


@inline
def take_tied_index(
    chosen: int, ties: int, value: float, arm: int, pending: np.ndarray, generator: Any
) -> tuple[int, int]:
    """As `take_tied`, for an index ``value`` that is infinite for arms without rewards.

    Of two infinite indices the one with fewer pending pulls is larger; ``pending`` is (arms,).
    """
    if value == math.inf and pending[arm] != pending[chosen]:
        return (arm, 1) if pending[arm] < pending[chosen] else (chosen, ties)
    return take_tied(chosen, ties, arm, generator)  # type: ignore[no-any-return]  # Numba is untyped


@inline
def choose_tied(
    values: np.ndarray, allowed: np.ndarray, best: float, ties: int, generator: Any
) -> int:
    """Choose one of the ``ties`` allowed arms whose value is ``best``, all equally likely.

    ``values`` is (arms,); unlike `take_larger` it draws one number for any number of tied arms.
    """
    wanted = int(generator.random() * ties) if ties > 1 else 0
    chosen = allowed[0]
    for place in range(allowed.size):
        if values[allowed[place]] == best:
            chosen = allowed[place]
            if wanted == 0:
                break
            wanted -= 1
    return chosen  # type: ignore[no-any-return]  # Numba is untyped


def share_of_ties(values: np.ndarray, pending: np.ndarray) -> np.ndarray:
    """Probability of each arm under `take_tied_index`: equal shares among the largest values.

    Parameters
    ----------
    values, pending : (arms,) arrays

    Examples
    --------
    >>> share_of_ties(np.array([1.0, 2.0, 2.0]), np.zeros(3)).tolist()
    [0.0, 0.5, 0.5]
    """
    best = values == values.max()
    if values.max() == np.inf:
        best &= pending == pending[best].min()
    return np.asarray(best / best.sum())
