"""A run goes through compiled code in portions, so that Ctrl-C is heard; nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.simulation import _run_loop as run_loop
from structuredbandits.simulation import task

POLICIES = [
    "ucb",
    "ts",
    "ucb-c",
    "ts-c",
    "ucb-c-kl",
    "ucb-cj",
    "ucb-s",
    "ts-c(floor=0.1)",
    "posterior",
]


def regrets(policies: list[str]) -> sb.Results:
    return sb.simulate("three-arms", policies, [0.5, 2.6], horizon=700, runs=3, seed=4)


@pytest.mark.parametrize("portion", [1, 97])
def test_a_run_in_portions_is_the_run_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, portion: int
) -> None:
    whole = regrets(POLICIES)
    monkeypatch.setattr(task, "_FIRST_PORTION", portion)
    monkeypatch.setattr(task, "_PORTION_SECONDS", 0.0)
    parts = regrets(POLICIES)
    for name in ("regret", "reward", "pulls", "empty_rounds"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)


def test_ctrl_c_is_heard_between_two_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    real = run_loop.play.variant

    def interrupted(agent: Any) -> Any:
        compiled = real(agent)

        def play(*arguments: Any) -> None:
            compiled(*arguments)
            done.append(int(arguments[-2][0]))
            if len(done) == 3:
                raise KeyboardInterrupt

        return play

    monkeypatch.setattr(run_loop.play, "variant", interrupted)
    monkeypatch.setattr(task, "_PORTION_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        sb.simulate("three-arms", "ucb-c", 0.5, horizon=1_000_000, runs=1, n_jobs=1)
    assert done == [4_096, 8_192, 12_288]
