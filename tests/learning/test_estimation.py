"""Means, standard errors, sigma and repairs are what the formulas say."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import structuredbandits as sb
from structuredbandits.errors import InvalidStructure
from structuredbandits.structure.shrinkage import shrink, spread_of

ROLES: dict[str, Any] = {"arm": "arm", "segment": "who", "reward": "paid"}


def log_of(cells: dict[tuple[str, str], list[float]]) -> pd.DataFrame:
    rows = [(who, arm, paid) for (who, arm), rewards in cells.items() for paid in rewards]
    return pd.DataFrame(rows, columns=["who", "arm", "paid"])


FULL = log_of(
    {
        ("old", "art"): [1.0, 3.0],
        ("old", "war"): [4.0, 5.0, 6.0],
        ("young", "art"): [5.0, 5.0, 4.0, 6.0],
        ("young", "war"): [1.0, 2.0],
    }
)
# Squared distances from the cells' means: 2, 2, 2 and 0.5; degrees of freedom 1, 2, 3, 1.
POOLED = np.sqrt(6.5 / 7)


def random_log(seed: int, rows: int = 400) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    who, arm = generator.integers(6, size=rows), generator.integers(3, size=rows)
    means = generator.normal(size=(6, 3))
    paid = means[who, arm] + generator.normal(size=rows)
    return pd.DataFrame({"who": who, "arm": [f"arm {k}" for k in arm], "paid": paid})


def test_raw_means_with_everything_beside_them() -> None:
    structure = sb.learn_structure(FULL, **ROLES, name="films")
    assert structure.arms == ("art", "war")
    assert list(structure.parameters) == ["old", "young"]
    assert structure.parameters.names == ("who",)
    assert structure.means.tolist() == [[2.0, 5.0], [5.0, 1.5]]
    assert structure.counts is not None
    assert structure.counts.tolist() == [[2, 3], [4, 2]]
    np.testing.assert_allclose(structure.sigma, POOLED)
    np.testing.assert_allclose(structure.standard_errors, POOLED / np.sqrt(structure.counts))
    np.testing.assert_allclose(structure.prior, [5 / 11, 6 / 11])
    assert structure.exact
    assert structure.name == "films"


def test_a_learned_structure_survives_a_file(tmp_path: Any) -> None:
    structure = sb.learn_structure(FULL, **ROLES)
    structure.save(tmp_path / "films.structure")
    assert sb.load_structure(tmp_path / "films.structure") == structure


@pytest.mark.parametrize(
    ("sigma", "expected"),
    [
        (None, [POOLED, POOLED]),
        ("estimate", [POOLED, POOLED]),
        ("per-arm", [np.sqrt(4 / 4), np.sqrt(2.5 / 3)]),
        ("range", [2.5, 2.5]),
        (2.0, [2.0, 2.0]),
        ([1.0, 3.0], [1.0, 3.0]),
    ],
)
def test_sigma_is_estimated_or_given(sigma: Any, expected: list[float]) -> None:
    structure = sb.learn_structure(FULL, **ROLES, sigma=sigma)
    np.testing.assert_allclose(structure.sigma, expected)
    # The sigma given to policies does not change the standard errors of the learned means.
    own = expected if sigma == "per-arm" else POOLED
    np.testing.assert_allclose(structure.standard_errors, own / np.sqrt(structure.counts))


def test_costs_and_several_segment_columns() -> None:
    log = FULL.assign(where=["north", "south"] * 5 + ["north"])
    structure = sb.learn_structure(
        log, arm="arm", segment=["who", "where"], reward="paid", minimize=True
    )
    assert structure.minimize
    assert structure.parameters.names == ("who", "where")
    assert structure.parameters[0] == ("old", "north")


def test_bounds_are_student_intervals() -> None:
    structure = sb.learn_structure(FULL, **ROLES, estimate="bounds", level=0.9)
    reach = stats.t.ppf(0.95, df=7) * POOLED / np.sqrt([[2, 3], [4, 2]])
    np.testing.assert_allclose(structure.upper - structure.lower, 2 * reach)
    np.testing.assert_allclose(structure.means, [[2.0, 5.0], [5.0, 1.5]])


GAPPED = log_of(
    {
        ("a", "x"): [1.0, 2.0],
        ("a", "y"): [5.0, 6.0],
        ("b", "x"): [3.0, 4.0],
        ("c", "x"): [2.0, 2.0],
        ("c", "y"): [4.0, 5.0],
    }
)


def test_segments_with_an_empty_cell_are_dropped_and_counted() -> None:
    structure, report = sb.learn_structure_with_report(GAPPED, **ROLES)
    assert list(structure.parameters) == ["a", "c"]
    np.testing.assert_allclose(structure.prior, [0.5, 0.5])
    assert report.repairs is not None
    assert report.repairs.dropped_segments == (("b", 1),)
    assert "8 rewards used of 10 rows." in str(report)
    assert "1 segment with 2 rewards left out" in str(report)
    # Its rewards still contribute to the estimate of sigma: 0.5 four times and 0, with 5 degrees.
    np.testing.assert_allclose(structure.sigma, np.sqrt(2.0 / 5))


@pytest.mark.parametrize("estimate", ["raw", "shrink"])
def test_empty_cells_can_take_the_mean_of_the_arm(estimate: Any) -> None:
    structure, report = sb.learn_structure_with_report(
        GAPPED, **ROLES, estimate=estimate, empty="arm-mean"
    )
    assert report.repairs is not None
    assert report.repairs.filled_cells == (("b", "y"),)
    assert structure.counts is not None
    assert structure.standard_errors is not None
    assert structure.counts[1, 1] == 0
    assert structure.means[1, 1] == pytest.approx(5.0)
    # A segment of which nothing is known may be as far away as segments are from each other.
    assert (structure.standard_errors[1, 1] > structure.standard_errors[[0, 2], 1]).all()
    assert "1 empty cell filled" in str(report)


def test_empty_cells_can_be_refused() -> None:
    with pytest.raises(InvalidStructure, match="segment b has 0 rewards of arm 'y', and 1 cells"):
        sb.learn_structure(GAPPED, **ROLES, empty="error")
    sb.learn_structure(FULL, **ROLES, empty="error")


def test_few_rewards_can_count_as_none() -> None:
    structure, report = sb.learn_structure_with_report(FULL, **ROLES, min_count=3, empty="arm-mean")
    assert report.repairs is not None
    assert report.repairs.filled_cells == (("old", "art"), ("young", "war"))
    assert structure.means[0, 0] == 5.0
    with pytest.raises(InvalidStructure, match="none of the 2 segments has rewards of every arm"):
        sb.learn_structure(FULL, **ROLES, min_count=3)
    with pytest.raises(InvalidStructure, match="arm 'war' has fewer than 4 rewards in every"):
        sb.learn_structure(FULL, **ROLES, min_count=4, empty="arm-mean")


def test_rewards_that_never_vary() -> None:
    same = log_of({("a", "x"): [1.0, 1.0], ("a", "y"): [2.0, 2.0]})
    with pytest.raises(InvalidStructure, match="rewards never vary within a cell; give sigma"):
        sb.learn_structure(same, **ROLES)
    single = log_of({("a", "x"): [1.0], ("a", "y"): [2.0]})
    with pytest.raises(InvalidStructure, match="no cell has two rewards; give sigma"):
        sb.learn_structure(single, **ROLES)
    for log in (same, single):
        structure = sb.learn_structure(log, **ROLES, sigma=0.5)
        np.testing.assert_allclose(structure.standard_errors, 0.5 / np.sqrt(structure.counts))
    rounding = same.assign(paid=same["paid"] / 3 + 0.1)
    with pytest.raises(InvalidStructure, match="never vary"):
        sb.learn_structure(rounding, **ROLES)


def test_an_arm_that_never_varies_takes_the_others_noise() -> None:
    log = log_of({("a", "x"): [1.0, 1.0], ("a", "y"): [2.0, 4.0]})
    structure, report = sb.learn_structure_with_report(log, **ROLES, sigma="per-arm")
    np.testing.assert_allclose(structure.sigma, [1.0, np.sqrt(2.0)])
    assert report.repairs is not None
    assert report.repairs.borrowed_sigma == ("x",)
    assert "never vary in these arms" in str(report)


def test_one_arm_leaves_nothing_to_choose() -> None:
    with pytest.raises(InvalidStructure, match="only the arm 'x'; give one with at least 2 arms"):
        sb.learn_structure(log_of({("a", "x"): [1.0, 2.0]}), **ROLES)


# -- shrinkage -------------------------------------------------------------------------------------


def integrated(means: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The readable twin: adaptive integration over τ of the textbook's formulas."""
    widest = 5 * np.sqrt(means.var() + variances.mean())

    def given_tau(tau: float) -> np.ndarray:
        total = tau**2 + variances
        precision = (1 / total).sum()
        centre = (means / total).sum() / precision
        density = np.sqrt(1 / precision) * np.prod(stats.norm.pdf(means, centre, np.sqrt(total)))
        mean = (variances * centre + tau**2 * means) / total
        noise = tau**2 * variances / total + (variances / total) ** 2 / precision
        return np.concatenate([[density], density * mean, density * (noise + mean**2)])

    found, _ = integrate.quad_vec(given_tau, 0.0, widest, epsrel=1e-10)
    mass, rest = found[0], found[1:] / found[0]
    assert mass > 0
    first, second = rest[: len(means)], rest[len(means) :]
    return first, np.sqrt(second - first**2)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 30), st.floats(0.0, 4.0))
def test_shrinkage_agrees_with_adaptive_integration(seed: int, number: int, spread: float) -> None:
    generator = np.random.default_rng(seed)
    variances = generator.uniform(0.1, 2.0, number)
    means = generator.normal(3.0, np.sqrt(spread + variances))
    for found, expected in zip(shrink(means, variances), integrated(means, variances), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def test_shrinkage_has_its_two_limits() -> None:
    far = np.array([0.0, 1000.0, -1000.0, 500.0])
    moved, errors = shrink(far, np.full(4, 0.5))
    np.testing.assert_allclose(moved, far, atol=0.01)
    np.testing.assert_allclose(errors, np.sqrt(0.5), rtol=0.01)
    near = 3.0 + np.tile([0.1, -0.1], 500)
    moved, errors = shrink(near, np.full(1000, 9.0))
    np.testing.assert_allclose(moved, 3.0, atol=0.01)
    assert (errors < 0.5).all()


def test_a_narrow_posterior_is_found() -> None:
    """With 20,000 segments τ is known to 1 %, far below the first grid's step."""
    generator = np.random.default_rng(4)
    means = generator.normal(5.0, np.hypot(0.3, 0.1), 20_000)
    spread = spread_of(means, np.full(20_000, 0.01))
    assert spread.mean == pytest.approx(0.3, rel=0.02)
    assert (spread.weights > 0.001).sum() > 10


def test_a_large_offset_does_not_matter() -> None:
    means, variances = np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.0, 0.2])
    near, far = shrink(means, variances), shrink(1e8 + means, variances)
    np.testing.assert_allclose(far[0] - 1e8, near[0], atol=1e-6)
    np.testing.assert_allclose(far[1], near[1], atol=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_shrunken_means_come_closer_to_each_other(seed: int) -> None:
    log = random_log(seed)
    raw = sb.learn_structure(log, **ROLES)
    shrunken = sb.learn_structure(log, **ROLES, estimate="shrink")
    assert (shrunken.means.std(axis=0) < raw.means.std(axis=0)).all()
    assert (shrunken.means.min(axis=0) >= raw.means.min(axis=0)).all()
    assert (shrunken.means.max(axis=0) <= raw.means.max(axis=0)).all()
    assert (shrunken.counts == raw.counts).all()


def test_one_reading_serves_several_estimates() -> None:
    cells = sb.read_cells(FULL, **ROLES)
    for estimate in ("raw", "shrink", "bounds"):
        once = sb.estimate_structure(cells, estimate=estimate).structure  # type: ignore[arg-type]
        assert once == sb.learn_structure(FULL, **ROLES, estimate=estimate)  # type: ignore[arg-type,call-overload]
