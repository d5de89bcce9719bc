"""A structure that says nothing: Θ is a box of arm means, μ_k(θ) = θ_k, the classical bandit.

The set is then a product of intervals on one common grid, and the arm of the largest index is
optimal at some plausible θ: its interval reaches at least as high as any other. So Algorithm-C
with the same α must choose what its inner algorithm chooses, decision by decision, also where the
set is empty and all arms are candidates. The proof needs an index that is the interval's upper end,
which is UCB's; other indices may differ.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structuredbandits as sb

GRIDS = {2: 41, 3: 13}


def box(arms: int, sigma: float) -> sb.Structure:
    return sb.Structure.linear(
        np.eye(arms), sb.Box([(0.0, 1.0)] * arms, points=GRIDS[arms]), sigma=sigma
    )


def decisions(
    algorithm: sb.Algorithm, structure: sb.Structure, means: list[float], rounds: int, seed: int
) -> tuple[list[str], sb.Policy]:
    """Arms pulled when every arm's rewards are the same list, whoever asks."""
    noise = np.random.default_rng(seed).normal(0.0, 1.0, (rounds, len(means)))
    policy = algorithm.start(structure, seed=seed)
    pulled = []
    for _ in range(rounds):
        arm = policy.pull()
        position = structure.arm_index(arm)
        count = pulled.count(arm)
        policy.update(arm, means[position] + structure.sigma[position] * noise[count, position])
        pulled.append(arm)
    return pulled, policy


@settings(max_examples=25)
@given(
    st.lists(st.floats(-0.5, 1.5), min_size=2, max_size=3),
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from([1.5, 3.0]),
    st.integers(0, 2**32),
)
def test_ucb_c_chooses_as_ucb(means: list[float], sigma: float, alpha: float, seed: int) -> None:
    structure = box(len(means), sigma)
    inner = sb.UCB(alpha=alpha)
    plain, _ = decisions(inner, structure, means, 150, seed)
    competitive, _ = decisions(sb.Competitive(inner, alpha=alpha), structure, means, 150, seed)
    assert competitive == plain


@pytest.mark.parametrize("inside", [True, False])
def test_the_set_is_used_where_the_means_are_in_the_box_and_empty_where_not(inside: bool) -> None:
    """What makes the test above more than a test of the fallback."""
    means = [0.2, 0.8] if inside else [5.0, -4.0]
    structure = box(2, 0.1)
    pulled, policy = decisions(sb.Competitive(sb.UCB()), structure, means, 400, 3)
    assert policy.empty_rounds == 0 if inside else policy.empty_rounds > 300
    if inside:
        assert 0 < len(policy.confidence_set) < structure.n_parameters / 20
        assert policy.competitive_arms == ("2",)
    assert pulled == decisions(sb.UCB(), structure, means, 400, 3)[0]


def test_another_radius_chooses_otherwise() -> None:
    """The test can fail: a set of a smaller radius leaves out arms that UCB would pull."""
    structure = box(2, 0.5)
    plain, _ = decisions(sb.UCB(alpha=3.0), structure, [0.45, 0.55], 400, 1)
    narrow = sb.Competitive(sb.UCB(alpha=3.0), alpha=0.01)
    assert decisions(narrow, structure, [0.45, 0.55], 400, 1)[0] != plain
