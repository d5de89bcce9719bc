"""Random click problems have the sizes, rates and uneven data that they promise."""

from __future__ import annotations

import numpy as np

from structuredbandits.environments import Bernoulli
from structuredbandits.problems import Problem, click_problem
from structuredbandits.structure import Structure


def truth_of(problem: Problem) -> Structure:
    assert isinstance(problem.environment, Bernoulli)
    return problem.environment.structure


def test_equal_seeds_give_equal_problems() -> None:
    assert click_problem(3).structure == click_problem(3).structure
    assert truth_of(click_problem(3)) == truth_of(click_problem(3))
    assert click_problem(3).structure != click_problem(4).structure


def test_sizes_rates_and_data_are_those_of_the_description() -> None:
    """60 problems; the standard deviation on the logit scale is within 2 % of 0.5."""
    effects = []
    for seed in range(60):
        problem = click_problem(seed)
        known, rates = problem.structure, truth_of(problem).means
        assert 5 <= known.n_arms <= 40
        assert 20 <= known.n_parameters <= 60
        assert rates.min() >= 0.002
        assert rates.max() <= 0.05
        assert known.counts is not None
        assert known.counts.min() >= 20
        assert known.counts.max() > 20 * known.counts.min()
        assert known.prior is not None
        assert known.prior.max() > 3 * known.prior.min()
        inner = ((rates > 0.002) & (rates < 0.05)).all(axis=0)
        logits = np.log(rates / (1 - rates))[:, inner]
        effects.append((logits - logits.mean(axis=0)).var(axis=0, ddof=1))
    # Arms with a clipped rate are left out, which removes a few of the widest.
    assert 0.96 * 0.5 < np.sqrt(np.concatenate(effects).mean()) < 1.02 * 0.5


def test_the_structure_is_an_honest_estimate_of_the_truth() -> None:
    """Standardised errors over 20 problems: their mean square is 1 within a tenth."""
    squares, weights = 0.0, 0.0
    for seed in range(20):
        problem = click_problem(seed)
        rates = truth_of(problem).means
        counts = problem.structure.counts
        assert counts is not None
        error = (problem.structure.means - rates) ** 2 / (rates * (1 - rates) / counts)
        squares, weights = squares + error.sum(), weights + error.size
    assert abs(squares / weights - 1) < 0.1
