"""Kernels: which are stored, and how they use a generator and arrays that Python owns."""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

import structuredbandits as sb
from structuredbandits._compiled import (
    addresses_of,
    borrow,
    new_generator,
    owned_by_library,
    unowned,
)
from structuredbandits._compiled.decorators import Kernel
from structuredbandits.policies.classical.ucb import UCBAgent
from structuredbandits.simulation.reward_draws import NormalDraws


class Own(NamedTuple):
    inner: Any


NAMELESS = namedtuple("NAMELESS", ["inner"])  # as code without a module makes it
NAMELESS.__module__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("parts", "ours"),
    [
        (UCBAgent(1.0), True),
        (3.0, True),
        ((), True),
        ((UCBAgent(1.0), np.zeros(2)), True),
        (Own(1.0), False),
        (NAMELESS(1.0), False),
        ((UCBAgent(1.0), (2, Own(1.0))), False),
        (UCBAgent(Own(1.0)), False),  # type: ignore[arg-type]
        (NormalDraws(np.zeros(2), NAMELESS(1)), False),  # type: ignore[arg-type]
    ],
)
def test_whose_a_tuple_is(parts: Any, ours: bool) -> None:
    assert owned_by_library(parts) is ours


def test_a_kernel_stores_the_librarys_code_and_no_user_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def first(agent: Any) -> Any:
        """Nothing but the first field."""
        return agent[0]

    made = Kernel(first)
    assert made.variant(UCBAgent(2.0)) is made.stored
    assert made.variant(Own(2.0)) is made.unstored
    assert made.unstored is made.unstored
    assert made.__doc__ == "Nothing but the first field."
    kept: list[Any] = []
    monkeypatch.setattr(
        made.stored._cache, "save_overload", lambda *overload: kept.append(overload)
    )
    assert made(Own(7.0)) == 7.0
    assert kept == []
    assert made(UCBAgent(2.0)) == 2.0
    assert len(kept) == 1


def test_what_becomes_part_of_kernels_is_not_for_python() -> None:
    """It has no entry for Python: without a word Python would crash there."""
    with pytest.raises(TypeError, match="borrow is for compiled code; call a kernel around it"):
        borrow(addresses_of(new_generator(7)))


@njit
def _draws(addresses: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = borrow(addresses)
    uniform, normal, whole = np.empty(number), np.empty(number), np.empty(number)
    for place in range(number):
        uniform[place] = generator.random()
        normal[place] = generator.standard_normal()
        whole[place] = generator.integers(0, 10)
    return uniform, normal, whole


def test_a_borrowed_generator_is_the_one_of_python() -> None:
    lent, own = new_generator(7), new_generator(7)
    drawn = _draws(addresses_of(lent), 1000)
    expected = np.array(
        [(own.random(), own.standard_normal(), float(own.integers(0, 10))) for _ in range(1000)]
    )
    np.testing.assert_array_equal(np.array(drawn).T, expected)
    # It stays the owner: its state went along, and both sides go on from there.
    assert lent.bit_generator.state == own.bit_generator.state
    assert lent.random() == own.random()
    np.testing.assert_array_equal(_draws(addresses_of(lent), 3)[0][0], own.random())


@pytest.mark.parametrize("seed", [-1, 1.5, "seven", [1, "x"], float("nan")])
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    with pytest.raises(
        sb.InvalidInput, match="give a whole number of at least 0, or None for a random one"
    ):
        new_generator(seed)


@njit
def _total(parts: Any) -> float:
    inside = unowned(parts)
    inside[1][0][0] += 1.0
    return float(inside[0].sum() + inside[1][0].sum() + inside[1][1])


def test_arrays_without_counts_are_the_same_arrays() -> None:
    first, second = np.arange(3.0), np.arange(4.0)
    references = sys.getrefcount(first), sys.getrefcount(second)
    for called in range(1, 6):
        assert _total((first, (second, 10.0))) == 3.0 + 6.0 + called + 10.0
    assert second[0] == 5.0
    assert (sys.getrefcount(first), sys.getrefcount(second)) == references
