"""Every environment of the library keeps the contract, and one that breaks it is found."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

import structuredbandits as sb
from structuredbandits.environments import Bernoulli, Environment, Gaussian, Ratings
from structuredbandits.structure import Finite
from structuredbandits.testing import check_environment
from structuredbandits.testing._environment_contract import ENVIRONMENT_CHECKS, _EnvironmentCheck
from tests.testing import broken_environments as broken

LINE = sb.Structure.from_breakpoints(
    {"a": [(0, 0), (1, 1)], "b": [(0, 0.75), (1, 0.25)]}, sigma=[0.5, 2.0], points=5
)
STARS = Ratings(
    [[[1, 0, 3], [2, 2, 0]], [[0, 5, 0], [1, 1, 1]]], [1, 2, 4], Finite(["x", "y"]), ["a", "b"]
)
RARE = sb.Structure.from_table([[1e-4, 0.5]], sigma=0.5)


@pytest.mark.parametrize(
    "environment",
    [
        Gaussian(LINE),
        Gaussian(LINE, sigma=[0, 1]),
        Gaussian(LINE, sigma=0),
        Gaussian(LINE.with_(minimize=True)),
        Bernoulli(LINE),
        Bernoulli(LINE, prize=[2, 1]),
        Bernoulli(RARE),
        STARS,
    ],
    ids=repr,
)
def test_every_environment_keeps_the_contract(environment: Environment) -> None:
    check_environment(environment)


@pytest.mark.parametrize("name", sb.problem_names())
def test_every_embedded_problem_keeps_the_contract(name: str) -> None:
    check_environment(sb.load_problem(name).environment)


class Case(NamedTuple):
    """An environment that breaks one check, and what the check says."""

    check: str
    environment: Any
    says: str


KNOWN = broken.STRUCTURE
CASES = [
    Case("interface", broken.NoMeans(), "it lacks arms, parameters, means_at or rewards"),
    Case("interface", Gaussian, "it lacks arms, parameters, means_at or rewards"),
    Case("interface", broken.TwoArmsOneName(KNOWN), "its arms ('a', 'a') are not names"),
    Case("interface", broken.MeansOfOneArm(KNOWN), "are not one finite number per arm"),
    Case("description", broken.Local(KNOWN), "it cannot be pickled (not to be sent)"),
    Case("description", broken.Incomparable(KNOWN), "pickling changes it: define __eq__"),
    Case("description", broken.Hashless(KNOWN), "pickling changes its hash"),
    Case("streams", broken.Unseeded(KNOWN), "equal seeds and runs give different rewards"),
    Case("streams", broken.OneRun(KNOWN), "all runs are equal"),
    Case("streams", broken.WrongNames(KNOWN), "has different rewards by name and by position"),
    Case("common_random_numbers", broken.TwoNumbers(KNOWN), "one random number per draw"),
    Case("means", broken.Biased(KNOWN), "arm 'a' at θ = 0 has mean 0.2, but 4,000 rewards have"),
    Case("distribution", broken.ShiftedLocation(KNOWN), "the means of its location at θ = 0"),
    Case("distribution", broken.NegativeScale(KNOWN), "its scale at θ = 0 is not one number"),
    Case("distribution", broken.OpenTable(KNOWN), "is not increasing to 1"),
    Case("distribution", broken.NoDistribution(Gaussian(KNOWN)), "neither location and scale nor"),
    Case("bad_input", broken.AnyTheta(KNOWN), "an unknown θ raises no InvalidParameter"),
    Case("bad_input", broken.PythonPositions(KNOWN), "an unknown arm raises no UnknownArm"),
    Case("bad_input", broken.Wasteful(KNOWN), "a refused arm uses a random number"),
    Case("simulator", broken.OtherNoise(KNOWN), "the simulator and a loop in Python draw"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.environment).__name__)
def test_a_broken_environment_fails_its_check_and_no_earlier_one(case: Case) -> None:
    check = _EnvironmentCheck(case.environment)
    for part in ENVIRONMENT_CHECKS[: ENVIRONMENT_CHECKS.index(case.check)]:
        getattr(check, part)()
    with pytest.raises(AssertionError, match=re.escape(case.says)):
        getattr(check, case.check)()
    with pytest.raises(AssertionError, match=re.escape(case.says)):
        check_environment(case.environment)


def test_every_check_has_an_environment_that_breaks_it() -> None:
    assert {case.check for case in CASES} == set(ENVIRONMENT_CHECKS)
