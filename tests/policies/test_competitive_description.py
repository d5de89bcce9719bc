"""`Competitive(...)` is a description; `start` begins a run of it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import structuredbandits as sb

TWO = sb.Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ((sb.UCB(), TWO), {}),
        ((sb.UCB(), TWO), {"alpha": 2.0, "seed": 7}),
        ((sb.UCB(),), {"structure": TWO}),
        ((sb.UCB(),), {"seed": 7}),
        ((sb.UCB(),), {"horizon": 70}),
    ],
)
def test_a_structure_is_refused_with_the_call_that_begins_a_run(
    arguments: tuple[Any, ...], settings: dict[str, Any]
) -> None:
    with pytest.raises(sb.InvalidPolicy, match=r"begin a run with Competitive\(UCB\(\)\)\.start\("):
        sb.Competitive(*arguments, **settings)


def test_the_signature_shows_the_parameters() -> None:
    names = list(inspect.signature(sb.Competitive).parameters)
    assert names == ["policy", "alpha", "informative", "pull_each_arm_first", "confidence"]
