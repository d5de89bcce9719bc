"""Estimates are what the formulas say, computed here a second time by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import structuredbandits as sb
from structuredbandits.evaluation._value_intervals import effective_size, ratio_of_sums
from structuredbandits.policies.structured.hierarchical_model import expected_rewards

STRUCTURE = sb.Structure.from_table(
    [[1.0, 3.0, 2.0], [4.0, 0.0, 2.0]],
    sb.Finite(["night", "day"]),
    ["a", "b", "c"],
    sigma=1.0,
    prior=[1, 3],
)


def small_log() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "subject": ["ann", "ann", "bob", "bob", "cem"],
            "decision": [0, 1, 0, 1, 0],
            "arm": ["a", "b", "b", "c", "a"],
            "reward": [3.5, 1.0, 0.5, 2.0, 5.0],
            "probability": [0.5, 0.25, 0.25, 0.25, 0.5],
        }
    )


SHARES = {"a": 0.6, "b": 0.3, "c": 0.1}
WEIGHTS = np.array([1.2, 1.2, 1.2, 0.4, 1.2])
SUBJECTS = np.array([0, 0, 1, 1, 2])


def by_hand(numerators: Any, denominators: Any) -> tuple[float, float]:
    """Value and standard error of a ratio of sums by subject."""
    top = np.array([np.asarray(numerators)[i == SUBJECTS].sum() for i in range(3)])
    bottom = np.array([np.asarray(denominators)[i == SUBJECTS].sum() for i in range(3)])
    value = top.sum() / bottom.sum()
    residuals = top - value * bottom
    return value, np.sqrt((residuals**2).sum() * 3 / 2) / bottom.sum()


def check(estimate: sb.Estimate, value: float, error: float, level: float = 0.95) -> None:
    assert estimate.value == pytest.approx(value)
    assert estimate.standard_error == pytest.approx(error)
    reach = stats.t.ppf(0.5 + level / 2, df=2) * error
    assert estimate.low == pytest.approx(value - reach)
    assert estimate.high == pytest.approx(value + reach)


def test_ips() -> None:
    log = small_log()
    estimate = sb.evaluate(log, SHARES, method="ips", level=0.9, interval="normal")
    check(estimate, *by_hand(WEIGHTS * log["reward"], np.ones(5)), level=0.9)
    assert (estimate.n, estimate.subjects) == (5, 3)
    assert estimate.effective_sample_size == pytest.approx(WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum())
    assert estimate.logged_value == pytest.approx(log["reward"].mean())


def test_self_normalised_ips() -> None:
    log = small_log()
    check(sb.evaluate(log, SHARES, interval="normal"), *by_hand(WEIGHTS * log["reward"], WEIGHTS))
    assert sb.evaluate(log, SHARES).method == "snips"


def test_doubly_robust_with_the_prior_as_model() -> None:
    log = small_log()
    expected = np.array([0.25, 0.75]) @ STRUCTURE.means
    policy = np.array([0.6, 0.3, 0.1])
    surprise = log["reward"] - expected[[0, 1, 1, 2, 0]]
    values = policy @ expected + WEIGHTS * surprise
    estimate = sb.evaluate(log, SHARES, structure=STRUCTURE, model="prior", interval="normal")
    check(estimate, *by_hand(values, np.ones(5)))
    assert estimate.method == "dr"


def posterior_mean(history: list[tuple[int, float]]) -> np.ndarray:
    """One reward at a time, by the rule of Bayes."""
    weights = np.array([0.25, 0.75])
    for arm, reward in history:
        weights = weights * stats.norm.pdf(reward, STRUCTURE.means[:, arm], 1.0)
    return np.asarray(weights / weights.sum() @ STRUCTURE.means)


def test_doubly_robust_with_the_posterior_as_model() -> None:
    log = small_log()
    histories = [[], [(0, 3.5)], [], [(1, 0.5)], []]
    expected = np.array([posterior_mean(history) for history in histories])
    chosen = [0, 1, 1, 2, 0]
    values = expected @ [0.6, 0.3, 0.1] + WEIGHTS * (log["reward"] - expected[np.arange(5), chosen])
    estimate = sb.evaluate(log, SHARES, structure=STRUCTURE, interval="normal")
    check(estimate, *by_hand(values, np.ones(5)))


def test_the_model_knows_how_uncertain_a_learned_structure_is() -> None:
    """With standard errors, the model is that of two levels: here solved on a fine grid."""
    learned = sb.Structure.from_table(
        STRUCTURE.means,
        sb.Finite(["night", "day"]),
        STRUCTURE.arms,
        sigma=1.0,
        prior=[1, 3],
        standard_errors=np.full((2, 3), 0.7),
    )
    rewards = [3.0, 2.2]
    log = np.zeros(3, dtype=int), np.zeros(3, dtype=int), np.array([*rewards, 0.0])
    expected = expected_rewards(learned, *log)[2]
    grid = np.linspace(-6, 12, 20_001)
    masses, inner = [], []
    for i, share in enumerate([0.25, 0.75]):
        density = share * stats.norm.pdf(grid, learned.means[i, 0], 0.7)
        for reward in rewards:
            density = density * stats.norm.pdf(reward, grid, 1.0)
        masses.append(density.sum())
        inner.append((density * grid).sum() / density.sum())
    weights = np.array(masses) / sum(masses)
    assert expected[0] == pytest.approx(weights @ inner, rel=1e-6)
    assert expected[1] == pytest.approx(weights @ learned.means[:, 1], rel=1e-6)


def test_the_logs_own_policy_is_the_plain_mean() -> None:
    log = small_log()
    estimate = sb.evaluate(log, "logged", structure=STRUCTURE, interval="normal")
    check(estimate, *by_hand(log["reward"], np.ones(5)))
    assert (estimate.method, estimate.policy) == ("mean", "logged")


def test_a_plain_table_needs_three_columns() -> None:
    log = small_log()[["arm", "reward", "probability"]]
    estimate = sb.evaluate(log, "always a")
    assert (estimate.value, estimate.subjects, estimate.n) == (4.25, 5, 5)


@pytest.mark.parametrize(
    "same",
    [
        {"a": 1.0},
        "always a",
        "Always a",
        lambda decision: "a",
        lambda decision: {"a": 1.0},
        lambda decision: [1, 0, 0],
    ],
)
def test_ways_to_say_the_same_policy(same: Any) -> None:
    estimate = sb.evaluate(small_log(), same, structure=STRUCTURE)
    other = sb.evaluate(small_log(), {"a": 1}, structure=STRUCTURE)
    assert (estimate.value, estimate.high) == (other.value, other.high)


def test_rows_may_come_in_any_order_and_form(tmp_path: Path) -> None:
    log = small_log()
    expected = sb.evaluate(log, SHARES, structure=STRUCTURE)
    mixed = log.sample(frac=1.0, random_state=3)
    mixed.to_csv(tmp_path / "log.csv", index=False)
    mixed.to_parquet(tmp_path / "log.parquet")
    names = {name: f"my_{name}" for name in log.columns}
    renamed = mixed.rename(columns=names)
    columns = {"order" if old == "decision" else old: new for old, new in names.items()}
    for estimate in (
        sb.evaluate(mixed, SHARES, structure=STRUCTURE),
        sb.evaluate(tmp_path / "log.csv", SHARES, structure=STRUCTURE),
        sb.evaluate(tmp_path / "log.parquet", SHARES, structure=STRUCTURE),
        sb.evaluate(pa.Table.from_pandas(mixed), SHARES, structure=STRUCTURE),
        sb.evaluate(renamed, SHARES, structure=STRUCTURE, **columns),  # type: ignore[arg-type]
    ):
        assert estimate.value == pytest.approx(expected.value, rel=1e-12)
        assert estimate.standard_error == pytest.approx(expected.standard_error, rel=1e-12)


def test_a_function_sees_the_history_of_its_subject_and_the_context() -> None:
    seen = []

    def remember(decision: sb.DecisionInput) -> str:
        seen.append((decision.subject, decision.history, decision.context))
        return "a"

    sb.evaluate(small_log().assign(page=[1, 2, 3, 4, 5]), remember, context=["page"])
    assert seen == [
        ("ann", (), {"page": 1}),
        ("ann", (("a", 3.5),), {"page": 2}),
        ("bob", (), {"page": 3}),
        ("bob", (("b", 0.5),), {"page": 4}),
        ("cem", (), {"page": 5}),
    ]


@pytest.mark.parametrize("form", ["text", "json", "list"])
def test_only_allowed_arms_share_the_probability(form: str, tmp_path: Path) -> None:
    limits = [["a", "b"], ["b", "c"], ["a", "b", "c"], ["c", "b"], ["a", "b"]]
    written = {
        "text": ["|".join(limit) for limit in limits],
        "json": [str(limit).replace("'", '"') for limit in limits],
        "list": limits,
    }[form]
    log = small_log().assign(allowed=written)
    policy = np.array([2 / 3, 0.75, 0.3, 0.25, 2 / 3])
    weights = policy / log["probability"]
    log.to_parquet(tmp_path / "log.parquet")
    for source in (log, tmp_path / "log.parquet"):
        estimate = sb.evaluate(source, SHARES, method="ips", interval="normal")
        check(estimate, *by_hand(weights * log["reward"], np.ones(5)))


def test_choices_that_the_log_never_shows_are_told() -> None:
    log = small_log().query("arm != 'c'")
    estimate = sb.evaluate(log, {"a": 0.5, "c": 0.5}, structure=STRUCTURE)
    assert estimate.uncovered == 0.5
    assert sb.evaluate(log, {"a": 1.0}, structure=STRUCTURE).uncovered == 0.0


def test_an_estimate_can_be_read() -> None:
    text = str(sb.evaluate(small_log(), "always a", method="ips", interval="normal"))
    assert text.startswith("always a: 3.4 per decision (95 % interval -")
    assert "by ips from 5 decisions (effective sample size 2)" in text


# -- intervals -------------------------------------------------------------------------------------


def test_the_bootstrap_agrees_with_the_normal_interval() -> None:
    """With 400 subjects both are nearly the same; the percentiles of 4,000 draws differ by 3 %."""
    generator = np.random.default_rng(1)
    clusters = np.repeat(np.arange(400), 5)
    values = generator.normal(size=400)[clusters] + generator.normal(size=2000)
    normal = ratio_of_sums(values, np.ones(2000), clusters, level=0.9)
    drawn = ratio_of_sums(
        values, np.ones(2000), clusters, level=0.9, rule="bootstrap", resamples=4000, seed=2
    )
    again = ratio_of_sums(
        values, np.ones(2000), clusters, level=0.9, rule="bootstrap", resamples=4000, seed=2
    )
    assert drawn == again
    assert drawn.value == normal.value
    assert drawn.high - drawn.low == pytest.approx(normal.high - normal.low, rel=0.1)


def test_subjects_count_and_not_their_decisions() -> None:
    """Ten equal decisions of each subject are as informative as one."""
    values = np.random.default_rng(2).normal(size=50)
    once = ratio_of_sums(values, np.ones(50), np.arange(50), level=0.9)
    often = ratio_of_sums(
        np.repeat(values, 10), np.ones(500), np.repeat(np.arange(50), 10), level=0.9
    )
    assert often.standard_error == pytest.approx(once.standard_error)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=20), st.floats(0.01, 100))
def test_the_effective_size_lies_between_one_and_all(weights: list[float], factor: float) -> None:
    array = np.array(weights)
    if array.sum() > 1e-6:
        size = effective_size(array)
        assert 1 - 1e-9 <= size <= len(weights) + 1e-9
        assert effective_size(factor * array) == pytest.approx(size)


def test_bootstrap_is_an_option_of_evaluate() -> None:
    log = sb.simulate_log("movielens", subjects=40, rounds=5, seed=1)
    normal = sb.evaluate(log, "always Drama", method="snips")
    drawn = sb.evaluate(log, "always Drama", method="snips", interval="bootstrap", seed=1)
    assert drawn.value == normal.value
    assert 0.5 < (drawn.high - drawn.low) / (normal.high - normal.low) < 1.5
