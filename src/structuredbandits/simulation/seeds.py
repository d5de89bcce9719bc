"""The seeds of a run: equal seeds give equal results, whatever else is simulated."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np


def theta_key(theta: object) -> str:
    """A θ as text, equal on every machine.

    Examples
    --------
    >>> theta_key(0.5), theta_key((0.9, 0.2)), theta_key("18-24")
    ('0.5', '0.9,0.2', '18-24')
    """
    if isinstance(theta, str):
        return theta
    if isinstance(theta, (int, float, np.integer, np.floating)):
        return repr(float(theta))
    if isinstance(theta, (tuple, list, np.ndarray)):
        return ",".join(theta_key(part) for part in theta)
    return str(theta)


def noise_sequence(seed: int, run: int) -> np.random.SeedSequence:
    """Seed of a run's rewards, shared by all policies and all θ."""
    return np.random.SeedSequence(seed, spawn_key=(run,))


def policy_sequence(seed: int, run: int, label: str, theta: object) -> np.random.SeedSequence:
    """Seed of a policy's own randomness in a run."""
    return np.random.SeedSequence(seed, spawn_key=(run, *_words(f"{label}|{theta_key(theta)}")))


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[int, ...]:
    """Integers that differ for different texts, 128 bits in total.

    NumPy splits one large integer into words of 32 bits faster than it reads four integers; only
    leading zeros would be lost.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    number = int.from_bytes(digest, "little")
    if number >> 96:
        return (number,)
    return tuple(number >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96))
