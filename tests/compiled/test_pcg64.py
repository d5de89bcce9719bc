"""A stream inside kernels gives the numbers of NumPy's generator, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from structuredbandits._compiled import first_words, next_normal, next_uniform, open_stream

_COUNT = 2_000_000  # some 3,000 of the normal numbers come from the tail, 20,000 from an edge


@njit
def fill(words: np.ndarray, normal: np.ndarray, uniform: np.ndarray) -> None:
    stream = open_stream(words)
    for place in range(normal.size):
        normal[place], stream = next_normal(stream)
        if place < uniform.size:
            uniform[place], stream = next_uniform(stream)


@pytest.mark.parametrize("seed", [0, 7, 2**63])
def test_the_numbers_are_numpys(seed: int) -> None:
    generator = np.random.Generator(np.random.PCG64(seed))
    normal, uniform = np.empty(_COUNT), np.empty(1_000)
    fill(first_words(np.random.SeedSequence(seed)), normal, uniform)
    for place in range(uniform.size):
        assert normal[place] == generator.standard_normal()
        assert uniform[place] == generator.random()
    rest = generator.standard_normal(_COUNT - uniform.size)
    np.testing.assert_array_equal(normal[uniform.size :], rest)
    assert np.abs(rest).max() > 4.5  # the tail was reached, which begins at 3.65


@given(st.integers(0, 2**128), st.lists(st.integers(0, 2**64), max_size=3))
def test_a_stream_begins_where_the_generator_does(entropy: int, key: list[int]) -> None:
    seed = np.random.SeedSequence(entropy, spawn_key=key)
    high, low, step_high, step_low = first_words(seed).tolist()
    inside = np.random.PCG64(seed).state["state"]
    assert inside == {"state": high << 64 | low, "inc": step_high << 64 | step_low}
