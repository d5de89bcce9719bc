"""Every policy of the library keeps the contract, and a policy that breaks it is caught."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from river import bandit

import structuredbandits as sb
from structuredbandits.policies import registration
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.testing import check_policy
from structuredbandits.testing._policy_contract import CHECKS
from tests.testing import broken_policies as broken

# Algorithm-C with an informative step and the joint set are the same code around every base.
NAMES = [name for name in sb.policy_names() if "-c-" not in name and not name.endswith("-cj")] + [
    "ucb-c-kl",
    "ts-c-entropy",
    "ucb-c-random",
    "ucb-c-differential",
    "ts-cj",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_keeps_the_contract(name: str) -> None:
    check_policy(name)


@pytest.mark.parametrize("name", ["ucb-c(floor=0.1)", "ts-c(pull_each_arm_first=True)"])
def test_options_keep_the_contract(name: str) -> None:
    check_policy(name)


@pytest.mark.parametrize(
    "algorithm",
    [
        sb.Competitive(broken.LatestReward()),
        sb.Competitive(bandit.UCB(delta=0.1, seed=3)),
    ],
    ids=lambda algorithm: algorithm.label,
)
def test_objects_of_others_keep_the_contract(algorithm: Algorithm) -> None:
    """The one with a metric of one's own is in tests/policies/test_custom.py, which compiles it."""
    check_policy(algorithm)


class Case(NamedTuple):
    """A policy that breaks one check, and what the check says."""

    check: str
    algorithm: Algorithm
    says: str


CASES = [
    Case("description", broken.Nameless(), "its label is not its own"),
    Case("description", broken.Singular(), "copies hash apart"),
    Case("description", broken.Forgetful(alpha=2.0), "pickling changes it"),
    Case("description", broken.Misnamed(alpha=2.0), "pickling changes its label"),
    Case("description", sb.Competitive(broken.Guarded()), "it cannot be pickled (not to be sent)"),
    Case("determinism", sb.Competitive(broken.Moody()), "equal seeds and rewards give different"),
    Case("determinism", broken.broken(broken.Stray), "it pulled 'nowhere', which is none of"),
    Case("late_rewards", broken.broken(broken.Hasty), "a reward was counted before it came"),
    Case("late_rewards", broken.broken(broken.Impatient), "came late were not counted"),
    Case("allowed_arms", broken.broken(broken.Deaf), "were allowed"),
    Case("stored_runs", broken.broken(broken.Amnesiac), "stored as JSON continues differently"),
    Case("stored_runs", sb.Competitive(broken.LostInTransit()), "pickled continues differently"),
    Case("stored_runs", sb.Competitive(broken.LostInCopies()), "copied continues differently"),
    Case("bad_input", broken.broken(broken.Credulous), "bad input raised no InvalidReward"),
    Case("bad_input", broken.broken(broken.Accommodating), "bad input raised no UnknownArm"),
    Case("bad_input", broken.broken(broken.Touchy), "refused input changed the run"),
    Case("probabilities", broken.Boastful(), "but pulled it"),
    Case("probabilities", broken.Modest(), "its probabilities do not add up to 1"),
    Case("probabilities", broken.broken(broken.Revealing), "reporting its probabilities changes"),
    Case("simulator", broken.broken(broken.Willful), "the simulator and a loop in Python give"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_a_broken_policy_is_caught(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(case.algorithm)
    if kind not in (broken.Nameless, sb.Competitive):
        monkeypatch.setitem(registration._classes, kind.name, kind)
    with pytest.raises(AssertionError, match=re.escape(case.says)):
        check_policy(case.algorithm)


def test_every_check_has_a_policy_that_breaks_it() -> None:
    assert {case.check for case in CASES} == set(CHECKS)
