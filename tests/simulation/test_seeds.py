"""Seeds of runs: the same on every machine and in every version."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest

from structuredbandits.simulation import seeds


def plain(seed: int, run: int, text: str) -> np.random.SeedSequence:
    """As it is defined: the run, then the four words of the text's digest."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.SeedSequence(seed, spawn_key=(run, *words))


@pytest.mark.parametrize("label", ["ucb", "ts-c(alpha=0.5)", "ucb-c-kl", "ε-greedy"])
@pytest.mark.parametrize("theta", [0.5, (0.9, 0.2), "18-24"])
def test_a_policys_seed_is_the_run_and_a_digest(label: str, theta: object) -> None:
    found = seeds.policy_sequence(3, 12, label, theta)
    expected = plain(3, 12, f"{label}|{seeds.theta_key(theta)}")
    assert found.generate_state(8).tolist() == expected.generate_state(8).tolist()


@pytest.mark.parametrize("last", [0, 5])
def test_no_word_of_the_digest_is_lost(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    digest = b"".join(word.to_bytes(4, "little") for word in (7, 0, 9, last))
    answer = SimpleNamespace(digest=lambda: digest)
    monkeypatch.setattr(seeds.hashlib, "blake2b", lambda *_, **__: answer)
    seeds._words.cache_clear()
    found = seeds.policy_sequence(3, 12, "ucb", 0.5).generate_state(8)
    seeds._words.cache_clear()
    expected = np.random.SeedSequence(3, spawn_key=(12, 7, 0, 9, last)).generate_state(8)
    assert found.tolist() == expected.tolist()
