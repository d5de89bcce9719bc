"""MABWiser's learning policies, restricted to the arms that they are allowed to pull."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mabwiser.mab import MAB

from structuredbandits.errors import InvalidPolicy


class MABWiserPolicy:
    """A context-free MABWiser policy with ``pull`` and ``update``, for use inside `Competitive`.

    It keeps MABWiser's own statistics, and pulls the allowed arm of the largest expectation; arms
    that were never pulled come first.

    Parameters
    ----------
    arms
        Names of all arms, as in the structure.
    learning_policy
        For example ``LearningPolicy.UCB1(alpha=1.25)``.
    seed
        MABWiser's seed.

    Examples
    --------
    >>> from mabwiser.mab import LearningPolicy
    >>> policy = MABWiserPolicy(["a", "b", "c"], LearningPolicy.EpsilonGreedy(epsilon=0.0))
    >>> for arm, reward in (("a", 1.0), ("b", 3.0), ("c", 2.0)):
    ...     policy.update(arm, reward)
    >>> policy.pull(["a", "c"])
    'c'
    """

    def __init__(self, arms: Sequence[str], learning_policy: Any, seed: int = 123456) -> None:
        self._mab = MAB(list(arms), learning_policy, seed=seed)
        if self._mab.is_contextual:
            raise InvalidPolicy(
                f"{type(learning_policy).__name__} needs a context for every decision; give a "
                "context-free learning policy such as LearningPolicy.UCB1()."
            )
        self._seen: set[str] = set()

    def pull(self, arms: Sequence[str]) -> str:
        """One of the allowed arms."""
        for arm in arms:
            if arm not in self._seen:
                return arm
        expectations = self._mab.predict_expectations()
        return max(arms, key=lambda arm: float(expectations[arm]))

    def update(self, arm: str, reward: float) -> None:
        """Update with the reward of an arm."""
        if self._seen:
            self._mab.partial_fit([arm], [reward])
        else:
            self._mab.fit([arm], [reward])
        self._seen.add(arm)
