"""SMPyBandits' policies, restricted to the arms that they are allowed to pull.

Nothing is imported from SMPyBandits, which needs an old NumPy; only its protocol is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structuredbandits.errors import InvalidPolicy


class SMPyBanditsPolicy:
    """A policy of SMPyBandits with ``pull`` and ``update``, for use inside `Competitive`.

    Parameters
    ----------
    arms
        Names of all arms, as in the structure; the policy knows them by their positions.
    policy
        An object with ``startGame``, ``getReward`` and either ``computeIndex`` (index policies) or
        ``choiceFromSubSet``, made for as many arms. A new game is started.

    Examples
    --------
    >>> class Greedy:
    ...     def startGame(self):
    ...         self.best = [float("inf")] * 2
    ...
    ...     def getReward(self, arm, reward):
    ...         self.best[arm] = reward
    ...
    ...     def computeIndex(self, arm):
    ...         return self.best[arm]
    >>> policy = SMPyBanditsPolicy(["a", "b"], Greedy())
    >>> policy.update("a", 1.0)
    >>> policy.update("b", 2.0)
    >>> policy.pull(["a", "b"]), policy.pull(["a"])
    ('b', 'a')
    """

    def __init__(self, arms: Sequence[str], policy: Any) -> None:
        for needed in ("startGame", "getReward"):
            if not hasattr(policy, needed):
                raise InvalidPolicy(
                    f"{type(policy).__name__} does not have {needed}; give a policy of SMPyBandits."
                )
        if not (hasattr(policy, "computeIndex") or hasattr(policy, "choiceFromSubSet")):
            raise InvalidPolicy(
                f"{type(policy).__name__} can choose only among all arms; give a policy with "
                "computeIndex or choiceFromSubSet."
            )
        self._names = list(arms)
        self._positions = {arm: place for place, arm in enumerate(self._names)}
        self._policy = policy
        policy.startGame()

    def pull(self, arms: Sequence[str]) -> str:
        """One of the allowed arms; the first of those with the largest index."""
        places = [self._positions[arm] for arm in arms]
        if hasattr(self._policy, "computeIndex"):
            return self._names[
                max(places, key=lambda place: float(self._policy.computeIndex(place)))
            ]
        return self._names[int(self._policy.choiceFromSubSet(places))]

    def update(self, arm: str, reward: float) -> None:
        """Update with the reward of an arm."""
        self._policy.getReward(self._positions[arm], reward)
