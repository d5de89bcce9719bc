"""What a reward is: the families, their limits, and how files and digests keep them."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.errors import InvalidInput, InvalidStructure
from structuredbandits.structure import Rewards, Structure, read_structure

RATES = [[0.02, 0.05], [0.04, 0.01]]


def test_gaussian_is_the_default_and_enters_neither_file_nor_digest(tmp_path: Path) -> None:
    plain = Structure.from_table(RATES, sigma=0.5)
    named = Structure.from_table(RATES, sigma=0.5, rewards="gaussian")
    assert plain.rewards == Rewards()
    assert plain == named
    assert plain.digest == "6c23b66271d642e3"  # that of the version before families
    plain.save(tmp_path / "a.structure")
    assert b'"version":1' in (tmp_path / "a.structure").read_bytes()


def test_bernoulli_uses_half_the_prize_as_sigma() -> None:
    clicks = Structure.from_table(RATES, rewards="bernoulli")
    assert clicks.sigma.tolist() == [0.5, 0.5]
    sales = Structure.from_table([[1.0, 2.0]], rewards="bernoulli", prize=[10, 20])
    assert sales.sigma.tolist() == [5.0, 10.0]
    assert sales.rewards.scaled(sales.means).tolist() == [[0.1, 0.1]]
    assert "bernoulli rewards" in repr(sales)


@pytest.mark.parametrize(
    "options",
    [
        {"rewards": "bernoulli"},
        {"rewards": "bernoulli", "prize": [1, 2]},
        {"rewards": "bounded", "limits": (0, 5)},
        {"rewards": "bounded", "limits": [(0, 5), (0, 1)], "noise": 0.4},
        {"rewards": "gaussian", "sigma": 1.0, "noise": [0.3, 0.4]},
    ],
)
def test_files_carry_the_family(tmp_path: Path, options: dict[str, object]) -> None:
    structure = Structure.from_table(RATES, **options)  # type: ignore[arg-type]  # by intention
    structure.save(tmp_path / "a.structure")
    loaded = read_structure(tmp_path / "a.structure")
    assert loaded == structure
    assert loaded.rewards == structure.rewards
    assert (loaded.noise is None) == (structure.noise is None)
    if structure.noise is not None:
        np.testing.assert_array_equal(loaded.noise, structure.noise)
    assert pickle.loads(pickle.dumps(structure)) == structure
    assert structure.digest != Structure.from_table(RATES, sigma=structure.sigma).digest


def test_an_older_pickle_is_gaussian() -> None:
    state = Structure.from_table(RATES, sigma=1).__getstate__()
    del state["rewards"], state["noise"]
    older = Structure.__new__(Structure)
    older.__setstate__(state)
    assert older.rewards == Rewards()
    assert older.noise is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rewards": "poisson"}, "'poisson' is not a family"),
        ({"rewards": "bernoulli", "limits": (0, 1)}, "limits = .* belong to rewards='bounded'"),
        ({"rewards": "bounded", "limits": (0, 1), "prize": 2}, "prize = 2 belongs to"),
        ({"rewards": "bounded"}, "limits = None; give the smallest and the largest"),
        ({"rewards": "bounded", "limits": (1, 0)}, "give the smaller one first"),
        ({"rewards": "bounded", "limits": (0, math.nan)}, "upper limit = nan"),
        ({"rewards": "bernoulli", "prize": 0.03}, "is 0.05, outside its rewards"),
        ({"rewards": "bernoulli", "prize": 0}, "a prize is 0"),
        ({"rewards": "bernoulli", "noise": 0}, "noise = 0 for arm"),
        ({"rewards": Rewards("bounded", (0.0,), (1.0,))}, "limits for 1 arms"),
        ({}, "sigma is None"),
    ],
)
def test_impossible_families(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidStructure, match=message):
        Structure.from_table(RATES, **options)  # type: ignore[arg-type]  # by intention


@pytest.mark.parametrize(
    "parts",
    [
        ("poisson", (), ()),
        ("gaussian", (0.0,), (1.0,)),
        ("bernoulli", (), ()),
        ("bounded", (1.0,), (0.0,)),
        ("bounded", (math.nan,), (1.0,)),
        ("bounded", (0.0, 0.0), (1.0,)),
    ],
)
def test_a_family_checks_itself(parts: tuple[str, tuple[float, ...], tuple[float, ...]]) -> None:
    with pytest.raises(InvalidStructure, match="is not a family of rewards"):
        Rewards(*parts)


def test_with_changes_and_keeps_the_family() -> None:
    ratings = sb.Structure.from_table([[3.0, 4.0, 2.0]], sigma=1.1)
    bounded = ratings.with_(rewards="bounded", limits=(1, 5))
    assert bounded.sigma.tolist() == [2.0, 2.0, 2.0]
    kept = bounded.with_(arms=[2, 0])
    assert kept.rewards == Rewards("bounded", (1.0, 1.0), (5.0, 5.0))
    assert bounded.with_(sigma=1).rewards == bounded.rewards
    assert bounded.with_(name="stars").sigma.tolist() == [2.0, 2.0, 2.0]


def test_impossible_rewards_are_named() -> None:
    arms = ("low", "high")
    with pytest.raises(InvalidInput, match=r"reward 0.5 of arm 'high' is impossible.* 0 or 2;"):
        Rewards("bernoulli", (0.0, 0.0), (1.0, 2.0)).check(arms, 1, 0.5)
    with pytest.raises(InvalidInput, match=r"reward 7 of arm 'low' .* between 1 and 5;"):
        Rewards("bounded", (1.0, 1.0), (5.0, 5.0)).check(arms, 0, 7.0)
    Rewards().check(arms, 0, 1e9)
    Rewards("bernoulli", (0.0, 0.0), (1.0, 2.0)).check(arms, 1, 2.0)
