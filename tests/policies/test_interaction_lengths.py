"""How many interactions a subject has: given to a run, a policy or a structure, and used alike."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.policies.lengths import length_table, rounds_after_this
from structuredbandits.policies.protocol import moment_of
from structuredbandits.structure.interaction_length import mean_length, read_length

KNOWN = sb.Structure.from_table([[1.0, 0.7]], sigma=1.0, standard_errors=[[0.1, 0.3]])
SHORT, LONG = 2, 1_000  # the known arm is pulled in short runs, the doubtful one in long ones


def rounds(length: Any, played: int, horizon: int = 0) -> float:
    table = length_table(read_length(length))
    return float(rounds_after_this.py_func(table, moment_of(0, played, horizon)))


def test_a_mean_is_expected_again_at_any_time() -> None:
    assert rounds(30, 0) == rounds(30, 500) == 29.0


@given(
    pairs=st.lists(st.tuples(st.integers(1, 60), st.floats(0.01, 1.0)), min_size=1, max_size=6),
    played=st.integers(0, 80),
)
def test_pairs_are_the_mean_of_those_who_stay(pairs: list[Any], played: int) -> None:
    staying = [(end, share) for end, share in pairs if end > played]
    if not staying:
        assert rounds(pairs, played) > 0.0  # longer than ever seen: a wide distribution
        return
    total = sum(share for _, share in staying)
    expected = sum(end * share for end, share in staying) / total - played - 1
    assert rounds(pairs, played) == pytest.approx(expected, abs=1e-9)


def test_an_algorithms_length_comes_first_then_the_horizon_then_the_structures() -> None:
    def chosen(algorithm: sb.Algorithm, structure: sb.Structure, **options: Any) -> str:
        return str(algorithm.start(structure, **options).pull())

    default = sb.ValueOfInformation()
    short, long = KNOWN.with_(length=SHORT), KNOWN.with_(length=LONG)
    assert chosen(default, short) == "1"
    assert chosen(default, long) == "2"
    assert chosen(default, short, horizon=LONG) == "2"
    assert chosen(default, long, horizon=SHORT) == "1"
    assert chosen(default, long, horizon=LONG, length=SHORT) == "1"
    assert chosen(sb.ValueOfInformation(length=LONG), short, length=SHORT) == "2"
    assert chosen(sb.PriorIndex(), short) == "1"
    assert chosen(sb.PriorIndex(), long) == "2"


def test_wrappers_pass_a_length_on_and_others_ignore_it() -> None:
    policy = sb.make_policy("default(floor=0.1)", KNOWN, length=[(10, 3), (100, 1)])
    assert policy.algorithm == sb.make_algorithm(
        "value-of-information(length=((10, 0.75), (100, 0.25)),floor=0.1)"
    )
    robust = sb.make_algorithm("default(robust=1)").with_length(30)
    assert robust.label == "value-of-information(length=30,robust=1)"
    classical = sb.make_algorithm("ucb-c")
    assert classical.with_length(30) is classical
    assert sb.make_algorithm("default").with_length(None) is not None


def test_simulations_tell_policies_the_length() -> None:
    told = sb.simulate(
        KNOWN, ["default", "ucb"], theta=0, horizon=50, length=SHORT, runs=3, progress="off"
    )
    assert told.policies == ("value-of-information(length=2)", "ucb")
    assert told.pulls[0, 0, :, 1].max() == 0  # the doubtful arm is never worth a pull
    untold = sb.simulate(KNOWN, ["default"], theta=0, horizon=50, runs=3, progress="off")
    assert untold.pulls[0, 0, :, 1].min() > 0


def test_a_structure_stores_its_length(tmp_path: Path) -> None:
    pairs = ((5.0, 0.25), (20.0, 0.75))
    known = KNOWN.with_(length=pairs)
    known.save(tmp_path / "a.structure")
    assert sb.load_structure(tmp_path / "a.structure") == known
    assert sb.load_structure(tmp_path / "a.structure").length == pairs
    assert known != KNOWN
    assert pickle.loads(pickle.dumps(known)).length == pairs
    assert known.with_(name="b").length == pairs
    assert mean_length(pairs) == 16.25
    KNOWN.save(tmp_path / "b.structure")
    assert b'"version":1' in (tmp_path / "b.structure").read_bytes()  # older libraries read it


@pytest.mark.parametrize(
    "wrong", [0, -1, 0.5, float("nan"), float("inf"), "ten", [], [(1, 2, 3)], [(5, 0)], [(5, -1)]]
)
def test_other_lengths_are_refused_with_the_value(wrong: Any) -> None:
    for make in (
        lambda: KNOWN.with_(length=wrong),
        lambda: sb.ValueOfInformation(length=wrong),
        lambda: sb.make_policy("default", KNOWN, length=wrong),
    ):
        with pytest.raises(sb.InvalidInput, match="length ="):
            make()


def test_numpy_numbers_are_lengths() -> None:
    assert read_length(np.int64(7)) == 7.0
    assert read_length(np.array([[10, 3], [100, 1]])) == ((10.0, 0.75), (100.0, 0.25))
