"""The state of a subject: its evidence only, as canonical JSON.

The state is a function of the subject's log: `replay` gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import orjson


class LoggedDecision(NamedTuple):
    """What a subject's state takes from one row of the log."""

    round: int
    arm: int
    pending: bool
    reward: float | None  # as it counts now
    reward_order: int | None


@dataclass(slots=True)
class SubjectState:
    """Counts, sums and squares of rewards and the pending pulls of each arm; two clocks.

    Examples
    --------
    >>> state = SubjectState.fresh(2)
    >>> state.decide(1)
    1
    >>> state.reward(1, 0.5)
    1
    >>> state.to_json()
    '{"counts":[0,1],"decided":1,"pending":[0,0],"received":1,"squares":[0.0,0.25],"sums":[0.0,0.5]}'
    """

    counts: list[int]
    sums: list[float]
    squares: list[float]
    pending: list[int]
    decided: int
    received: int

    @classmethod
    def fresh(cls, n_arms: int) -> SubjectState:
        """The state before the first decision."""
        nothing = [0] * n_arms
        return cls(nothing[:], [0.0] * n_arms, [0.0] * n_arms, nothing[:], 0, 0)

    @classmethod
    def from_json(cls, text: str) -> SubjectState:
        """The state that `to_json` wrote."""
        return cls(**orjson.loads(text))

    def to_json(self) -> str:
        """Canonical: equal states give equal text."""
        content = {
            "counts": self.counts,
            "decided": self.decided,
            "pending": self.pending,
            "received": self.received,
            "squares": self.squares,
            "sums": self.sums,
        }
        return orjson.dumps(content).decode()

    def decide(self, arm: int) -> int:
        """Count a decision; its round, from 1 on."""
        self.decided += 1
        self.pending[arm] += 1
        return self.decided

    def reward(self, arm: int, value: float) -> int:
        """Count a reward of a pending decision; how many came with it."""
        self.pending[arm] -= 1
        self.counts[arm] += 1
        self.sums[arm] += value
        self.squares[arm] += value * value
        self.received += 1
        return self.received

    def give_up(self, arm: int) -> None:
        """No longer wait for the reward of a decision."""
        self.pending[arm] -= 1


def replay(n_arms: int, log: Iterable[LoggedDecision]) -> SubjectState:
    """The state that follows from a subject's log.

    Parameters
    ----------
    n_arms
        Of the subject's structure.
    log
        All its decisions, in any order.

    Examples
    --------
    >>> log = [LoggedDecision(2, 0, True, None, None), LoggedDecision(1, 1, False, 0.5, 1)]
    >>> replay(2, log).pending, replay(2, log).sums
    ([1, 0], [0.0, 0.5])
    """
    rows = list(log)
    state = SubjectState.fresh(n_arms)
    for row in rows:
        state.decide(row.arm)
    rewarded = [(row.reward_order, row) for row in rows if row.reward_order is not None]
    for _, row in sorted(rewarded):
        assert row.reward is not None
        state.reward(row.arm, row.reward)
    for row in rows:
        if not row.pending and row.reward_order is None:
            state.give_up(row.arm)
    return state
