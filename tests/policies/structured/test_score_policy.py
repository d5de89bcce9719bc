"""Scores of structured policies, number by number: a constant that is 1 % wrong fails.

The decisions in test_formulas.py change only where two scores cross; here the scores themselves are
held against the plain formulas.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.policies.structured.score_policy import current_scores
from tests.policies.structured import plain
from tests.policies.structured.plain import Seen

SIGMA = np.array([1.0, 0.7, 1.3, 1.0])
FEATURES = np.array([[2.0, 1.0], [1.0, 1.5], [3.0, -1.0], [0.2, 0.1]])
SQUARE = sb.Box([(-1, 1), (-1, 1)], points=9)


def curves() -> sb.Structure:
    functions = {
        "up": lambda x: 2 * x - 0.1 * x**2,
        "down": lambda x: 3 - x**2 / 3,
        "slow": lambda x: 1 + 0.5 * x,
        "fast": lambda x: 4 - 3 * x,
    }
    return sb.Structure.from_functions(functions, sb.Interval(0, 3, points=301), sigma=SIGMA)


def linear_greedy() -> tuple[sb.Policy, Callable[[Seen], np.ndarray]]:
    known = sb.Structure.linear(FEATURES, SQUARE, sigma=1.5)
    points, sigma = np.asarray(known.parameters.points), known.sigma
    return sb.LinearGreedy().start(known, seed=1), lambda seen: plain.linear_greedy(
        points, FEATURES, np.zeros(4), sigma, seen
    )


def oful() -> tuple[sb.Policy, Callable[[Seen], np.ndarray]]:
    known = sb.Structure.linear(FEATURES, SQUARE, sigma=1.5)
    return sb.OFUL(delta=0.05, ridge=0.3).start(known, seed=1), lambda seen: plain.oful(
        FEATURES, 1.5, np.sqrt(2.0), 0.05, 0.3, seen
    )


def glm_ucb() -> tuple[sb.Policy, Callable[[Seen], np.ndarray]]:
    known = sb.Structure.linear(FEATURES, SQUARE, sigma=SIGMA)
    return sb.GLMUCB(alpha=2.0).start(known, seed=1), lambda seen: plain.glm_ucb(
        FEATURES, SIGMA, 2.0, seen
    )


def glm_ucb_with_the_logistic_link() -> tuple[sb.Policy, Callable[[Seen], np.ndarray]]:
    known = sb.Structure.linear(0.3 * FEATURES, SQUARE, sigma=0.5, link="logistic")
    ranges = np.stack([known.means.min(axis=0), known.means.max(axis=0)], axis=1)
    return sb.GLMUCB(alpha=2.0).start(known, seed=1), lambda seen: plain.glm_ucb(
        0.3 * FEATURES, known.sigma, 2.0, seen, ranges
    )


def wagp() -> tuple[sb.Policy, Callable[[Seen], np.ndarray]]:
    known = curves()
    theta = known.parameters.axes[0]
    return sb.WAGP().start(known, seed=1), lambda seen: plain.regional(
        theta, known.means, [[0, 1, 2, 3]], seen
    )


def ucb_g() -> tuple[sb.Policy, Callable[[Seen], np.ndarray]]:
    known = curves()
    theta = known.parameters.axes[0]
    slopes = np.abs(np.diff(known.means, axis=0) / np.diff(theta)[:, None])
    groups = [[0, 2], [1, 3]]
    radius = [
        (np.sqrt(2.0) * SIGMA[group].max(), slopes[:, group].min(), slopes[:, group].max(), 1.0)
        for group in groups
    ]
    policy = sb.UCBG(alpha=2.0, groups=(("up", "slow"), ("down", "fast"))).start(known, seed=1)
    return policy, lambda seen: plain.regional(theta, known.means, groups, seen, radius)


def ucb_g_with_given_constants() -> tuple[sb.Policy, Callable[[Seen], np.ndarray]]:
    known = curves()
    theta = known.parameters.axes[0]
    groups = [[0, 1], [2], [3]]
    radius = [(np.sqrt(3.0) * SIGMA[group].max(), 0.4, 1.7, 0.8 / 1.25) for group in groups]
    names = (("up", "down"), ("slow",), ("fast",))
    policy = sb.UCBG(groups=names, d1=0.4, d2=1.7, gamma1=1.25, gamma2=0.8).start(known, seed=1)
    return policy, lambda seen: plain.regional(theta, known.means, groups, seen, radius)


CASES = [
    linear_greedy,
    oful,
    glm_ucb,
    glm_ucb_with_the_logistic_link,
    wagp,
    ucb_g,
    ucb_g_with_given_constants,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_scores_are_those_of_the_formula(
    case: Callable[[], tuple[sb.Policy, Callable[[Seen], np.ndarray]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A twin ends by sharing one pull among the largest values; here the values are wanted.
    monkeypatch.setattr(plain, "one_of_the_largest", lambda values, seen: values)
    policy, twin = case()
    everything = np.arange(4)
    generator = np.random.default_rng(3)
    structure = policy.structure
    truth = structure.means_at(0.9 if structure.parameters.dimension == 1 else (0.5, 0.3))
    # The logistic link moves means into their range over Θ; that is not the point here.
    spread = 0.02 if "logistic" in case.__name__ else structure.sigma
    counts, sums = np.zeros(4), np.zeros(4)
    for step in range(60):
        arm = step % 4 if step < 8 else int(generator.integers(4))
        reward = float((truth + spread * generator.standard_normal(4))[arm])
        policy.update(arm, reward)
        counts[arm] += 1
        sums[arm] += reward
        if step < 7:
            continue  # every arm was seen
        now = policy.snapshot()
        found = current_scores(now.agent, now.memory, now.block, everything, now.moment)
        expected = twin(Seen(counts.copy(), sums.copy(), everything))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
