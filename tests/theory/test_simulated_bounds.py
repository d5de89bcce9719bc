"""What the theorems promise, held against the compiled simulator.

The same checks with a simulator written for the tests are in test_bounds.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.theory import share_above_fair

# The four θ have one, two or three competitive arms.
MEANS = [[1.0, 0.2, 0.4], [1.0, 1.5, 0.3], [0.3, 0.2, 1.2], [0.6, 1.0, 0.9]]


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.3])
def test_pulls_and_regret_stay_below_the_bounds_where_they_bite(sigma: float) -> None:
    """100 runs, seed 3. Bounds exceed what is typical several times: a right implementation
    fails with probability below 1e-6."""
    structure = sb.Structure.from_table(MEANS, sigma=sigma)
    table = sb.analyze(structure, alpha=4.0)
    biting = 0
    for horizon in (500, 5_000):
        results = sb.simulate(
            structure,
            [sb.Competitive(sb.UCB(alpha=4.0), alpha=4.0)],
            theta=list(structure.parameters),
            horizon=horizon,
            runs=100,
            seed=3,
            progress="off",
        )
        for place, theta in enumerate(results.thetas):
            report = table.at(theta)
            pulls = results.pulls[0, place].mean(axis=0)
            for arm, bound in report.pulls_bound(horizon).items():
                assert pulls[structure.arm_index(arm)] <= bound.pulls
                biting += not bound.vacuous
            assert results.mean()[0, place, -1] <= report.regret_bound(horizon).regret
    assert biting >= 8


def test_the_probability_of_more_than_a_fair_share_falls_with_time() -> None:
    """Appendix D's criterion for UCB-C, 400 runs, seed 4: it has to fall faster than 1/t.

    A worse arm leads in some runs early and in none late. The standard error of a share is at most
    0.025; a right implementation fails once in 10,000 seeds or less.
    """
    structure = sb.Structure.from_table(MEANS, sigma=1.0)
    horizons = (10, 100, 1_000, 10_000)
    pulls = [
        sb.simulate(
            structure, ["ucb-c"], theta=0, horizon=horizon, runs=400, seed=4, progress="off"
        ).pulls[0, 0]
        for horizon in horizons
    ]
    share = share_above_fair(np.stack(pulls, axis=1), rounds=horizons)
    worse = share[:, 1:].max(axis=1)
    assert worse[0] > 0.1
    assert (np.diff(worse) <= 0).all()
    assert worse[2] <= 0.02
    assert worse[3] == 0
    assert share[3, 0] == 1


@pytest.mark.parametrize(("arms", "points"), [(2, 301), (3, 61)])
def test_where_theta_is_the_means_themselves_ucb_c_is_ucb(arms: int, points: int) -> None:
    """The classical bandit: a fine box of arm means. The arm that UCB wants always competes."""
    box = sb.Box([(-1.0, 2.0)] * arms, points=points)
    structure = sb.Structure.linear(np.eye(arms), box, sigma=0.5)
    theta = np.linspace(0.9, 0.3, arms)
    assert arms == sb.analyze(structure, theta=tuple(theta.tolist())).C
    for seed in range(5):
        noise = 0.5 * np.random.default_rng(seed).standard_normal(600)
        chosen: dict[str, list[str]] = {"ucb": [], "ucb-c": []}
        for name, arms_chosen in chosen.items():
            policy = sb.make_policy(name, structure, seed=seed)
            for z in noise:
                arm = policy.pull()
                policy.update(arm, theta[structure.arm_index(arm)] + z)
                arms_chosen.append(arm)
        assert chosen["ucb"] == chosen["ucb-c"]
