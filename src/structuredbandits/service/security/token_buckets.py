"""Rates of requests, limited with token buckets in memory."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Hashable

from cachetools import LRUCache

# The least recently used are forgotten, so that strangers cannot fill the memory.
_BUCKETS_KEPT = 100_000


class TokenBuckets:
    """A bucket per client: it holds a minute's requests and is refilled steadily.

    Examples
    --------
    >>> moments = iter([0.0, 0.0, 0.0, 1.0])
    >>> buckets = TokenBuckets(lambda: next(moments))
    >>> [buckets.take("ana", 2) for _ in range(4)]
    [0.0, 0.0, 30.0, 29.0]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: LRUCache[Hashable, tuple[float, float]] = LRUCache(_BUCKETS_KEPT)

    def take(self, who: Hashable, per_minute: int, count: int = 1) -> float:
        """Take tokens; return 0, or the seconds after which there are enough of them."""
        now = self._clock()
        left, seen = self._left.get(who, (float(per_minute), now))
        left = min(float(per_minute), left + (now - seen) * per_minute / 60.0)
        # More than a bucket holds is taken from a full one, and delays what follows.
        missing = min(count, per_minute) - left
        if missing > 0:
            self._left[who] = (left, now)
            return missing * 60.0 / per_minute
        self._left[who] = (left - count, now)
        return 0.0


def network_of(address: str) -> str:
    """Return the network of one customer: an IPv4 address, or the first 64 bits of an IPv6 one.

    Examples
    --------
    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2:3")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False))
