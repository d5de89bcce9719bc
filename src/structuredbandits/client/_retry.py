"""How often a call is retried and how long the client waits before each retry."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from structuredbandits.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long a client retries.

    The wait after failure n is drawn uniformly between half and all of
    ``first_wait_seconds * 2 ** (n - 1)``, at most ``longest_wait_seconds``, so that clients that
    failed together do not retry together. A Retry-After header of the service is the least wait.

    Parameters
    ----------
    attempts
        Maximum number of attempts per call; 1 means no retry.
    first_wait_seconds
        The wait after the first failure.
    longest_wait_seconds
        The upper limit of the doubling.
    deadline_seconds
        No attempt begins later than this after the first one began.

    Examples
    --------
    >>> retries = Retries(first_wait_seconds=1.0)
    >>> 0.5 <= retries.wait(1, None) <= 1.0
    True
    >>> 7.0 <= retries.wait(1, 7.0) <= 8.0
    True
    """

    attempts: int = 6
    first_wait_seconds: float = 0.1
    longest_wait_seconds: float = 5.0
    deadline_seconds: float = 30.0

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int):
            raise InvalidInput(f"attempts is {self.attempts!r}: give a whole number, 1 or more.")
        if self.attempts < 1:
            raise InvalidInput(f"attempts is {self.attempts}: give a whole number, 1 or more.")
        for name in ("first_wait_seconds", "longest_wait_seconds", "deadline_seconds"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                raise InvalidInput(f"{name} is {value!r}: give a number of seconds, 0 or more.")

    def wait(self, failures: int, retry_after: float | None) -> float:
        """Seconds to wait after the given number of failures.

        Parameters
        ----------
        failures
            Number of attempts that have failed so far, 1 or more.
        retry_after
            Seconds that the service asked for, if any.

        Returns
        -------
        float
            At least ``retry_after``.
        """
        # The exponent is bounded, since a large power would overflow.
        doubled = self.first_wait_seconds * 2.0 ** min(failures - 1, 30)
        longest = min(doubled, self.longest_wait_seconds)
        jittered = longest * random.uniform(0.5, 1.0)
        if retry_after is None:
            return jittered
        # The sum, not the maximum: clients that received the same header should not retry at once.
        return retry_after + min(jittered, 1.0)

    def may_go_on(self, failures: int, elapsed_seconds: float, wait_seconds: float) -> bool:
        """Whether another attempt fits into the number of attempts and the deadline."""
        return failures < self.attempts and elapsed_seconds + wait_seconds <= self.deadline_seconds


def read_retry_after(value: str | None) -> float | None:
    """Seconds in a Retry-After header; None if it is missing or invalid.

    Parameters
    ----------
    value
        A number of seconds or a date.

    Examples
    --------
    >>> read_retry_after("2"), read_retry_after("soon"), read_retry_after(None)
    (2.0, None, None)
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None
