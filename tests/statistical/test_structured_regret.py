"""Mean regret of Algorithm-C, its informative versions and UCB-S: independent implementations.

Two-sided z tests on independent seeds with error rate 1e-4 each, on all published problems.
"""

from __future__ import annotations

import numpy as np
import pytest

import structuredbandits as sb
from tests.statistical import independent_policies
from tests.statistical.agreement import assert_different_mean, assert_same_mean
from tests.statistical.independent_policies import Knowledge, Metric, Rule, Structured
from tests.statistical.paper_functions import FIGURES, SIGMA

HORIZON = 2000
THETAS: dict[str, list[float | tuple[float, float]]] = {
    "three-arms": [0.5, 1.5, 2.6],
    "two-arms": [2.75, 3.25],
    "informative": [3.1],
    "linear": [(0.9, 0.9), (0.5, 0.5)],
    "plane": [(0.9, 0.2), (-0.2, 0.1)],
}
PLACES = [(problem, theta) for problem, thetas in THETAS.items() for theta in thetas]
POLICIES = ["ucb", "ucb-c", "ucb-s", "ts", "ts-c", "kl-ucb-c"]
INFORMATIVE = [f"{base}-c-{metric}" for base in ("ucb", "ts") for metric in ("kl", "entropy")]
INFORMATIVE += ["ucb-c-random", "ts-c-random"]
BASES: dict[str, Rule] = {
    "ucb": independent_policies.ucb(),
    "ts": independent_policies.thompson(),
    "kl-ucb": independent_policies.kl_ucb(),
}


def second_opinion(policy: str, knowledge: Knowledge) -> Rule | Structured:
    if policy == "ucb-s":
        return Structured(knowledge, None)
    base, competitive, metric = policy.partition("-c")
    if not competitive:
        return BASES[base]
    informative = Metric(metric.removeprefix("-")) if metric else None
    return Structured(knowledge, BASES[base], informative=informative)


def knowledge_of(structure: sb.Structure) -> Knowledge:
    """The library's tables, number by number.

    On a symmetric grid the largest plausible means of two arms are often equal, and UCB-S breaks
    exact ties only: another rounding of the same functions, 1e-16 apart, changes the
    ties, and thereby its regret by several percent. The tables themselves are compared in a test.
    """
    return Knowledge(
        np.ascontiguousarray(structure.lower.T), np.ascontiguousarray(structure.upper.T)
    )


def library_regrets(
    problem: str | sb.Structure, policy: str, theta: object, runs: int = 3000
) -> np.ndarray:
    results = sb.simulate(
        problem,
        policy,
        theta=theta,
        horizon=HORIZON,
        runs=runs,
        seed=21,
        checkpoints=[HORIZON],
        progress="off",
    )
    return results.regret[0, 0, :, -1]


@pytest.mark.parametrize("problem", FIGURES)
def test_the_embedded_tables_are_the_published_functions(problem: str) -> None:
    ours = knowledge_of(sb.load_structure(problem))
    theirs = FIGURES[problem].knowledge()
    np.testing.assert_allclose(ours.lower, theirs.lower, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(ours.optimal, theirs.optimal)


def compare(problem: str, policy: str, theta: float | tuple[float, float], runs: int) -> None:
    figure = FIGURES[problem]
    theirs = independent_policies.regrets(
        second_opinion(policy, knowledge_of(sb.load_structure(problem))),
        figure.truth(theta),
        sigma=SIGMA,
        horizon=HORIZON,
        runs=runs,
        seed=22,
    )
    visible = 0.15 if policy.startswith("ucb-c") else 0.3
    assert_same_mean(library_regrets(problem, policy, theta), theirs, visible=visible)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("problem", "theta"), PLACES)
def test_regret_on_published_problems(
    problem: str, theta: float | tuple[float, float], policy: str
) -> None:
    # The independent implementation tests all 1,681 θ of the square in every round.
    slow = 150 if problem in ("linear", "plane") else 250
    compare(problem, policy, theta, runs=slow if "-" in policy else 1000)


@pytest.mark.parametrize("policy", INFORMATIVE)
def test_regret_with_an_informative_step(policy: str) -> None:
    compare("informative", policy, 3.1, runs=250)


def bounds_around_three_arms() -> sb.Structure:
    """Appendix A: every mean of three-arms known up to 0.2 below and 0.4 above."""
    exact = sb.load_structure("three-arms")
    return sb.Structure.from_bounds(
        exact.means - 0.2, exact.means + 0.4, parameters=exact.parameters, sigma=SIGMA
    )


@pytest.mark.parametrize("policy", ["ucb-c", "ucb-s"])
def test_regret_when_only_bounds_are_known(policy: str) -> None:
    structure = bounds_around_three_arms()
    truth = FIGURES["three-arms"].truth(1.5)
    results = sb.simulate(
        structure,
        policy,
        theta=1.5,
        horizon=HORIZON,
        runs=4000,
        seed=21,
        environment=sb.Gaussian(sb.load_structure("three-arms")),
        checkpoints=[HORIZON],
        progress="off",
    )
    theirs = independent_policies.regrets(
        second_opinion(policy, knowledge_of(structure)),
        truth,
        sigma=SIGMA,
        horizon=HORIZON,
        runs=250,
        seed=23,
    )
    assert_same_mean(results.regret[0, 0, :, -1], theirs, visible=0.3)


@pytest.mark.parametrize(
    "wrong",
    ["a set of alpha 2", "the set of another sigma", "no set at all"],
)
def test_a_wrong_algorithm_shows_in_the_regret(wrong: str) -> None:
    """The tests above can fail with samples of the same size."""
    exact = knowledge_of(sb.load_structure("three-arms"))
    ucb = independent_policies.ucb()
    mistaken = {
        "a set of alpha 2": Structured(exact, ucb, alpha=2.0),
        "the set of another sigma": Structured(exact, ucb, alpha=3.0 * 1.5**2),
        "no set at all": ucb,
    }[wrong]
    theirs = independent_policies.regrets(
        mistaken,
        FIGURES["three-arms"].truth(1.5),
        sigma=SIGMA,
        horizon=HORIZON,
        runs=250,
        seed=22,
    )
    assert_different_mean(library_regrets("three-arms", "ucb-c", 1.5), theirs)
