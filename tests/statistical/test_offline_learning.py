"""The errors of learned means match their standard errors.

Seeds are fixed; a correct program fails at new seeds with the probability stated in each test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import structuredbandits as sb
from tests.statistical.agreement import RATE, bound_on_z

SEGMENTS, ARMS = 40, 5
ROLES: dict[str, Any] = {"arm": "arm", "segment": "segment", "reward": "reward"}


def draw(
    seed: int, between: float = 0.5, sigma: float = 1.0, rows: int = 4000
) -> tuple[pd.DataFrame, np.ndarray]:
    """A log whose true means differ between segments with a standard deviation `between`."""
    generator = np.random.default_rng(seed)
    means = generator.normal(3.0, 1.0, ARMS) + between * generator.normal(size=(SEGMENTS, ARMS))
    shares = generator.dirichlet(np.full(SEGMENTS, 5.0))
    segment = generator.choice(SEGMENTS, size=rows, p=shares)
    arm = generator.integers(ARMS, size=rows)
    reward = means[segment, arm] + sigma * generator.standard_normal(rows)
    log = pd.DataFrame({"segment": segment, "arm": [f"arm {k}" for k in arm], "reward": reward})
    return log, means


def rows_of(structure: sb.Structure) -> list[int]:
    return [int(theta) for theta in structure.parameters]  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bounds_cover_the_true_means_at_their_level(level: float) -> None:
    """Binomial over all cells of 20 logs; error rate 2e-4."""
    hits = cells = 0
    for seed in range(20):
        log, means = draw(seed)
        structure = sb.learn_structure(log, **ROLES, estimate="bounds", level=level)
        true = means[rows_of(structure)]
        hits += int(((structure.lower <= true) & (true <= structure.upper)).sum())
        cells += true.size
    low, high = stats.binom.ppf(RATE, cells, level), stats.binom.isf(RATE, cells, level)
    assert low <= hits <= high


@pytest.mark.parametrize("between", [0.1, 0.5, 2.0])
def test_shrunken_means_are_better_and_know_their_errors(between: float) -> None:
    """Over 20 logs: a smaller squared error than raw means, and errors in units of their standard
    errors with a mean square of 1 (within 10 %, which is 6 of its own standard errors)."""
    raw_errors, errors, standardised = [], [], []
    for seed in range(20):
        log, means = draw(seed, between)
        cells = sb.read_cells(log, **ROLES)
        raw = sb.estimate_structure(cells, empty="arm-mean").structure
        shrunken = sb.estimate_structure(cells, estimate="shrink", empty="arm-mean").structure
        true = means[rows_of(raw)]
        raw_errors.append(np.square(raw.means - true).mean())
        errors.append(np.square(shrunken.means - true).mean())
        assert shrunken.standard_errors is not None
        standardised.append(np.square((shrunken.means - true) / shrunken.standard_errors).mean())
    assert np.mean(errors) < np.mean(raw_errors)
    if between == 0.1:
        assert np.mean(errors) < 0.2 * np.mean(raw_errors)
    assert np.mean(standardised) == pytest.approx(1.0, abs=0.1)


def test_sigma_is_estimated_without_bias() -> None:
    """The variance pooled over 20 logs, also from cells of one or two rewards (z test, 1e-4)."""
    variances = []
    for seed in range(20):
        log, _ = draw(seed, sigma=1.7, rows=600)
        structure = sb.learn_structure(log, **ROLES, empty="arm-mean")
        variances.append(float(structure.sigma[0]) ** 2)
    error = np.std(variances, ddof=1) / np.sqrt(20)
    assert abs(np.mean(variances) - 1.7**2) < bound_on_z() * error
    assert bound_on_z() * error < 0.25


def test_weights_of_a_survey_undo_its_selection() -> None:
    """Subjects with small rewards answer half as often; weights correct this (z test, 1e-4).

    With importance weights the standard errors are those of the weighted means: their errors in
    units of them have a mean square near 1.
    """
    weighted, plain, squares = [], [], []
    for seed in range(100):
        generator = np.random.default_rng(1000 + seed)
        reward = generator.normal(size=800)
        kept = generator.random(800) < np.where(reward < 0, 0.3, 0.6)
        log = pd.DataFrame(
            {
                "segment": 0,
                "arm": generator.choice(["a", "b"], 800),
                "reward": reward,
                "w": np.where(reward < 0, 2.0, 1.0),
            }
        )[kept]
        structure = sb.learn_structure(log, **ROLES, weight="w")
        weighted.append(structure.means[0, 0])
        plain.append(sb.learn_structure(log, **ROLES).means[0, 0])
        assert structure.standard_errors is not None
        squares.append((structure.means[0, 0] / structure.standard_errors[0, 0]) ** 2)
    error = np.std(weighted, ddof=1) / np.sqrt(100)
    assert abs(np.mean(weighted)) < bound_on_z() * error
    assert np.mean(plain) > 10 * error
    assert np.mean(squares) == pytest.approx(1.0, abs=0.5)


def test_a_survey_of_an_embedded_problem_finds_its_means() -> None:
    """Learned means minus true ones in units of their standard errors: mean square 1.

    The variances of the ratings differ between genres, so the pooled variance fits within 10 %.
    """
    environment = sb.load_problem("movielens").environment
    structure = sb.learn_structure(
        sb.simulate_survey("movielens", rows=200_000, seed=2),
        arm="arm",
        segment=["age", "occupation"],
        reward="reward",
    )
    true = np.array([environment.means_at(theta) for theta in structure.parameters])
    standardised = (structure.means - true) / structure.standard_errors
    assert np.square(standardised).mean() == pytest.approx(1.0, abs=0.1)
