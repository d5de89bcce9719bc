"""The theorems' formulas, and that simulated pulls stay below them where they bite."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structuredbandits.errors import InvalidInput
from structuredbandits.problems import load_structure
from structuredbandits.structure import Structure
from structuredbandits.theory import analyze, coverage_failure, share_above_fair
from structuredbandits.theory._bounds import (
    competitive_pulls,
    first_settled_round,
    non_competitive_pulls,
    power_sum,
    thompson_pulls,
)
from tests.theory.plain_definitions import simulate_ucb_c


@given(st.floats(-6, 0.5), st.integers(1, 5000), st.integers(0, 3000))
def test_a_sum_of_powers_is_the_sum(power: float, first: int, more: int) -> None:
    expected = math.fsum(float(t) ** power for t in range(first, first + more))
    assert power_sum(power, first, first + more - 1) == pytest.approx(expected, rel=1e-12)


@given(st.floats(0.05, 3), st.floats(0.01, 30))
def test_the_settled_round_is_the_least_from_which_on_all_is_well(
    least: float, factor: float
) -> None:
    settled = first_settled_round(least, factor)

    def well(tau: float) -> bool:
        return least**2 / factor >= math.log(tau) / tau

    assert settled >= 2
    assert settled == int(settled)
    assert all(well(settled + k) for k in (*range(1, 200), 10**4, 10**7))
    assert well(settled)
    if settled > 2:
        assert not all(well(tau) for tau in range(int(settled) - 1, int(settled) + 3))


def test_the_settled_round_is_not_the_first_that_happens_to_fit() -> None:
    # log(2)/2 fits, log(3)/3 does not, log(4)/4 = log(2)/2 fits again, and so on.
    ratio = math.log(2) / 2
    assert first_settled_round(math.sqrt(ratio) + 1e-9, 1.0) == 4
    assert first_settled_round(math.sqrt(math.log(3) / 3) + 1e-9, 1.0) == 2
    assert first_settled_round(1e-12, 1.0) > 1e24


def test_theorem_2_by_hand() -> None:
    # σ so small that t₀ = 2: 4 + Σ 4/t³ + 8 · 6 · Σ_{t=4}^{T} 4/t²
    T = 100
    expected = (
        4 + sum(4 / t**3 for t in range(1, T + 1)) + 48 * sum(4 / t**2 for t in range(4, T + 1))
    )
    assert non_competitive_pulls(T, 2, 1.0, 1.0, 4.0, 0.01) == pytest.approx(expected)


def test_theorem_3_by_hand() -> None:
    T, K, gap, alpha, sigma = 1000, 5, 0.5, 3.0, 0.25
    expected = 8 * 3 * 0.0625 * math.log(T) / 0.25 + 6 + sum(10 / t**2 for t in range(1, T + 1))
    assert competitive_pulls(T, K, gap, alpha, sigma) == pytest.approx(expected)
    assert competitive_pulls(T, K, gap, 2.0, sigma) == math.inf
    assert competitive_pulls(T, K, 0.0, alpha, sigma) == math.inf


def test_pulls_of_a_non_competitive_arm_stay_bounded_for_alpha_above_3_only() -> None:
    late = [non_competitive_pulls(10**n, 3, 0.5, 0.5, 3.5, 0.1) for n in (9, 12, 15)]
    assert late[2] - late[1] < late[1] - late[0] < 1
    growing = [non_competitive_pulls(10**n, 3, 0.5, 0.5, 3.0, 0.1) for n in (9, 12, 15)]
    assert growing[2] - growing[1] == pytest.approx(growing[1] - growing[0])


def test_at_the_figures_settings_the_bounds_are_vacuous_and_say_so() -> None:
    report = analyze(load_structure("three-arms"), 2.6, horizon=5_000)
    bound = report.pulls_bound(5_000)["3"]
    assert bound.vacuous
    assert bound.pulls == 5_000
    assert report.regret_bound(5_000).vacuous is False  # arm 2's bound still says something
    assert analyze(load_structure("three-arms"), 2.6).regret_bound(300).vacuous
    assert "vacuous" in str(report)


def test_the_regret_bound_is_gaps_times_pulls() -> None:
    report = analyze(load_structure("three-arms").with_(sigma=0.05), 1.5, alpha=4.0)
    pulls = report.pulls_bound(10_000)
    assert set(pulls) == {"1", "2"}
    expected = sum(report.gaps[arm] * bound.pulls for arm, bound in pulls.items())
    assert report.regret_bound(10_000) == (pytest.approx(expected), False)
    assert pulls["2"].theorem == "3"


def test_theorem_2_is_used_where_it_is_the_smaller() -> None:
    # Rewards so noisy that log T costs more than the constant, and a horizon that is long.
    structure = Structure.from_table([[1.0, 0.0], [2.0, 3.0]], sigma=1.0)
    report = analyze(structure, 0, alpha=4.0)
    assert report.epsilon["2"] == 1.0
    assert report.pulls_bound(10**6)["2"].theorem == "3"
    assert report.pulls_bound(10**40)["2"].theorem == "2"


def test_each_arm_has_its_own_sigma() -> None:
    quiet = Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=[0.1, 0.1])
    noisy = quiet.with_(sigma=[0.1, 0.4])
    a = analyze(quiet, 0).pulls_bound(10_000)["2"].pulls
    b = analyze(noisy, 0).pulls_bound(10_000)["2"].pulls
    assert b - a == pytest.approx(8 * 3 * (0.16 - 0.01) * math.log(10_000))


def test_with_equal_best_arms_only_the_others_are_bounded() -> None:
    structure = Structure.from_table([[1.0, 1.0, 0.5], [0.0, 0.0, 1.0]], sigma=0.05)
    report = analyze(structure, 0)
    assert not report.unique
    assert report.optimal_arms == ("1", "2")
    assert set(report.pulls_bound(1000)) == {"3"}
    assert "not unique" in str(report)
    all_equal = analyze(Structure.from_table([[1.0, 1.0]], sigma=1.0), 0)
    assert all_equal.regret_bound(10) == (0.0, False)


def test_bounds_on_the_means_that_overlap_promise_nothing() -> None:
    vague = Structure.from_bounds([[1.0, 0.0]], [[2.0, 1.5]], sigma=0.01)
    report = analyze(vague, 0)
    assert report.regret_bound(1000) == (pytest.approx(2000.0), True)
    clear = Structure.from_bounds([[1.0, 0.0]], [[1.2, 0.5]], sigma=0.01)
    bound = analyze(clear, 0).regret_bound(1000)
    pulls = competitive_pulls(1000, 2, 0.5, 3.0, 0.01)
    assert bound.regret <= 1.2 * pulls + 1e-9
    assert not bound.vacuous


def test_thompson_sampling_with_two_arms() -> None:
    structure = Structure.from_table([[0.9, 0.4], [0.9, 0.95], [0.1, 0.99]], sigma=0.5)
    report = analyze(structure, 0)
    bound = report.thompson_bound(10_000)["2"]
    expected = 9 * math.log(10_000) / 0.25 + 4 * sum(t**-2.0 for t in range(1, 10_001))
    assert bound.pulls == pytest.approx(expected)
    assert not bound.bounded
    assert not bound.vacuous
    other = analyze(structure, 2).thompson_bound(10_000)["1"]
    assert other.bounded
    assert not other.vacuous
    assert other == thompson_pulls(10_000, 0.89, 0.59, 3.0)
    assert report.thompson_bound(100)["2"].vacuous
    printed = analyze(structure, 0, horizon=10_000)
    assert "TS-C with a Beta prior" in str(printed)
    assert printed.to_dict()["thompson_bound"]["2"]["bounded"] is False
    with pytest.raises(InvalidInput, match="two arms"):
        analyze(load_structure("three-arms"), 1).thompson_bound(100)


def test_coverage_failure_falls_with_rounds() -> None:
    assert coverage_failure(1, 3, 3.0) == 1.0
    assert coverage_failure(1000, 3, 3.0) == pytest.approx(6e-6)
    with pytest.raises(InvalidInput, match="horizon = 0"):
        coverage_failure(0, 3, 3.0)


# A structure whose θ have one, two and three competitive arms; row 2 has a non-competitive one.
SMALL = [[1.0, 0.2, 0.4], [1.0, 1.5, 0.3], [0.3, 0.2, 1.2], [0.6, 1.0, 0.9]]


@pytest.mark.parametrize("row", [0, 1, 2, 3])
@pytest.mark.parametrize("sigma", [0.02, 0.1])
def test_simulated_pulls_stay_below_the_bounds(row: int, sigma: float) -> None:
    """30 runs, seed 1. The bounds exceed typical pulls several times, so the probability that a
    right implementation fails is far below 1e-6."""
    structure = Structure.from_table(SMALL, sigma=sigma)
    horizon = 400
    pulls = simulate_ucb_c(structure, row, horizon, runs=30, alpha=4.0, seed=1)
    report = analyze(structure, row, alpha=4.0)
    checked = 0
    for rounds in (100, horizon):
        regret = 0.0
        for arm, bound in report.pulls_bound(rounds).items():
            average = pulls[:, rounds - 1, int(arm) - 1].mean()
            regret += report.gaps[arm] * average
            assert average <= bound.pulls
            checked += not bound.vacuous
        assert regret <= report.regret_bound(rounds).regret
    assert checked >= 2


def test_the_criterion_of_the_proofs_falls_with_time() -> None:
    """40 runs, seed 2: the share of runs in which a worse arm has more than t/K pulls.

    It falls from about 0.3 to about 0; a right implementation fails once in 1,000 seeds or less.
    """
    structure = Structure.from_table(SMALL, sigma=1.0)
    pulls = simulate_ucb_c(structure, 0, 400, runs=40, alpha=3.0, seed=2)
    share = share_above_fair(pulls, rounds=np.arange(1, 401))
    assert share.shape == (400, 3)
    worse = share[:, 1:].max(axis=1)
    assert worse[9] > 0.15
    assert worse[399] <= worse[99] <= worse[9]
    assert worse[399] <= 0.1
    assert share[399, 0] >= 0.9
    assert (share == share_above_fair(pulls)).all()


def test_the_criterion_refuses_other_shapes() -> None:
    with pytest.raises(InvalidInput, match="shape"):
        share_above_fair([[1, 2], [3, 4]])
    with pytest.raises(InvalidInput, match="one round"):
        share_above_fair([[[1, 2], [3, 4]]], rounds=[3, 7, 9])
    with pytest.raises(InvalidInput, match="counts"):
        share_above_fair([[[-1, 2]]])


def test_the_table_has_the_same_bounds_as_single_answers() -> None:
    for structure in (
        Structure.from_table(SMALL, sigma=[0.1, 0.2, 0.3]),
        Structure.from_bounds(SMALL, np.add(SMALL, 0.3), sigma=0.01, minimize=True),
        load_structure("three-arms", points=7, sound=True).with_(sigma=0.01),
    ):
        table = analyze(structure, alpha=4.0)
        found = table.regret_bounds(2_000)
        assert len(found) == len(table)
        for theta, bound in zip(structure.parameters, found, strict=True):
            single = table.at(theta).regret_bound(2_000)
            # A table of cells does not know the means within them as a single answer does.
            assert bound.regret >= single.regret - 1e-9
            if structure.model is None:
                assert bound == single
