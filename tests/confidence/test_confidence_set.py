"""The plausible θ as something to look at."""

from __future__ import annotations

import numpy as np
import pytest

from structuredbandits.confidence.confidence_set import ConfidenceSet
from structuredbandits.errors import InvalidParameter, InvalidPolicy
from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.competitive import Competitive
from structuredbandits.structure import Finite, Interval, Structure

LABELS = Finite(["calm", "busy", "wild"])


def test_what_it_holds() -> None:
    seen = ConfidenceSet(LABELS, np.array([True, False, True]))
    assert len(seen) == 2
    assert list(seen) == ["calm", "wild"]
    assert "calm" in seen
    assert "busy" not in seen
    assert seen.share == pytest.approx(2 / 3)
    assert repr(seen) == "<ConfidenceSet: 2 of 3 θ plausible>"


def test_a_theta_between_grid_points_counts_as_the_nearest() -> None:
    seen = ConfidenceSet(Interval(0, 4, points=5), np.array([True, True, False, False, False]))
    assert 1.4 in seen
    assert 1.6 not in seen
    assert seen.share == pytest.approx(2 / 5)
    with pytest.raises(InvalidParameter):
        assert 5.0 in seen


def test_a_policy_shows_a_set_that_does_not_change_afterwards() -> None:
    structure = Structure.from_table([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], LABELS, sigma=0.01)
    policy = Competitive(UCB()).start(structure, seed=0)
    before = policy.confidence_set
    policy.update(0, 1.0)
    assert list(before) == ["calm", "busy", "wild"]
    assert list(policy.confidence_set) == ["busy"]


@pytest.mark.parametrize("n_parameters", [1, 3])
def test_a_classical_policy_has_none(n_parameters: int) -> None:
    """Also on a structure with a single θ."""
    structure = Structure.from_table(np.eye(3)[:n_parameters], sigma=1.0)
    policy = UCB().start(structure, seed=0)
    assert policy.competitive_arms == structure.arms
    assert policy.empty_rounds == 0
    with pytest.raises(InvalidPolicy, match=r"ucb keeps no confidence set; .* such as ucb-c\."):
        _ = policy.confidence_set


def test_an_empty_set_makes_all_arms_competitive_and_is_counted() -> None:
    structure = Structure.from_table([[0.0, 1.0, 0.2], [1.0, 0.0, 0.2]], sigma=0.01)
    policy = Competitive(UCB()).start(structure, seed=0)
    policy.update(0, 5.0)
    assert len(policy.confidence_set) == 0
    assert policy.competitive_arms == ("1", "2", "3")
    assert policy.empty_rounds == 0
    for decision in range(3):
        policy.pull()
        assert policy.empty_rounds == decision + 1
