"""A correct map is ever called refuted with probability at most 1 %, and a wrong one is found."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from benchmarks.statements.refutation import FAMILIES, WRONG, share_refuted

RUNS = 150


@pytest.mark.parametrize("family", FAMILIES)
def test_a_correct_map_is_left_alone_at_every_look(family: str) -> None:
    """150 runs of 5,000 rounds, tested after every reward, with fixed seed 4.

    If 1 % of runs were refuted, more than 6 of 150 would be with probability below 0.001.
    """
    most = int(binom.ppf(0.999, RUNS, 0.01))
    assert share_refuted(family, RUNS, seed=4) * RUNS <= most


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_map_is_found(family: str) -> None:
    """One arm of three is off: by 1 of normal rewards and stars, by 10 % of clicks.

    20 runs. Measured power is 1 on exact maps, 1, 0.5 and 0.75 on learned ones; with that power
    fewer than 4 of 20 have probability below 0.002.
    """
    wrong = WRONG[family.removeprefix("learned ")]
    least = 0.2 if family.startswith("learned") else 1.0
    assert share_refuted(family, 20, seed=5, wrong=wrong) >= least
