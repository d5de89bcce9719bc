"""Rounds without a look at the set: the simulator skips decisions that cannot come out otherwise.

A run of the simulator, which fast-forwards, is the run of a policy that looks at every reward.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structuredbandits.confidence import evidence, fast_forward, lazy_update, memory
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    HEAD_IN,
    HEAD_OUT,
    TAIL_IN,
    TAIL_OUT,
    ConfidenceState,
)
from structuredbandits.environments import Environment, Gaussian
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.classical.kl_ucb import KLUCB
from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.policy import Policy
from structuredbandits.problems import load_problem, load_structure
from structuredbandits.simulation._run_loop import make_clock
from structuredbandits.simulation.task import Task
from structuredbandits.structure import Interval, Structure
from tests.from_python import from_python
from tests.simulation.loops import assert_equal, outcome

confidence_state, evidence_of = (
    from_python(memory.confidence_state),
    from_python(evidence.evidence_of),
)
fast_forward_of, make_lazy = (
    from_python(fast_forward.fast_forward_of),
    from_python(lazy_update.make_lazy),
)


@st.composite
def smooth_structures(draw: st.DrawFn) -> Structure:
    """Curves with many θ, few arms and little noise: soon one arm alone competes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_arms, points = draw(st.integers(2, 8)), draw(st.sampled_from([2, 7, 60, 900]))
    grid = np.linspace(0.0, 6.0, points)[:, None, None]
    waves = np.sin(np.arange(1, 4) * grid / 2 + rng.uniform(0, 6, (n_arms, 3)))
    means = (rng.normal(size=(n_arms, 3)) * waves).sum(axis=2)
    if draw(st.booleans()):
        means = np.round(means, 1)  # steps: many θ enter and leave together
    size = 10.0 ** draw(st.sampled_from([-9, 0, 9]))
    offset = draw(st.sampled_from([0.0, 1e6]))
    return Structure.from_table(
        size * (means + offset),
        Interval(0, 6, points=points),
        sigma=size * draw(st.sampled_from([0.1, 0.5, 2.0])),
        minimize=draw(st.booleans()),
    )


@settings(max_examples=60)
@given(
    smooth_structures(),
    st.sampled_from([0.05, 0.5, 3.0]),
    st.sampled_from([(1_500,), (1, 70, 71, 800, 1_500), (129, 257, 1_000)]),
    st.booleans(),
    st.data(),
)
def test_a_simulated_run_is_the_run_of_the_policy(
    structure: Structure,
    alpha: float,
    checkpoints: tuple[int, ...],
    wrong: bool,
    data: st.DataObject,
) -> None:
    theta = data.draw(st.sampled_from(list(structure.parameters)))
    world: Environment = Gaussian(structure)
    if wrong:  # rewards of another place of Θ for each arm: the set becomes empty
        means = np.roll(structure.means, structure.n_parameters // 2, axis=0)
        means[:, 0] = structure.means[:, 0]
        world = Gaussian(
            Structure.from_table(
                means, structure.parameters, sigma=structure.sigma, minimize=structure.minimize
            )
        )
    seed = data.draw(st.integers(0, 1_000))
    algorithm = Competitive(UCB(alpha=alpha), alpha=alpha)
    assert_equal(*outcome(Task(algorithm, structure, world, theta, checkpoints, seed, 0, 1)))


@pytest.mark.parametrize(
    "algorithm",
    [
        Competitive(KLUCB()),
        Competitive(UCB(), alpha=0.5, pull_each_arm_first=True),
        Competitive(UCB(), confidence="joint"),
    ],
    ids=lambda algorithm: algorithm.label,
)
def test_other_algorithms_and_other_rewards(algorithm: Algorithm) -> None:
    problem = load_problem("movielens")
    theta = next(iter(problem.structure.parameters))
    task = Task(algorithm, problem.structure, problem.environment, theta, (2_000,), 3, 0, 1)
    assert_equal(*outcome(task))


ROW = 120  # of Θ; there, arm BEST is far ahead
ALPHA = 0.05
BEST = int(load_structure("three-arms").means[ROW].argmax())


def fast_forwarded_run(rewards: int) -> Policy:
    """A run in which one arm alone competes after this many of its rewards."""
    policy = Competitive(UCB(), alpha=ALPHA).start(load_structure("three-arms"), seed=1)
    make_lazy(confidence_state(policy.run.memory))
    rng, means = np.random.default_rng(2), policy.structure.means[ROW]
    for arm, count in [(0, 30), (1, 30), (2, 30), (BEST, rewards)]:
        for _ in range(count):
            policy.update(arm, float(rng.normal(means[arm], 0.2)))
    return policy


@pytest.mark.parametrize("sides", ["all", "outer", "inner", "upper"])
def test_every_sum_inside_the_lines_leaves_the_frame_alone(sides: str) -> None:
    """Sums at the very lines, through the formulas of the exact check, for frames of any width."""
    widths = make_clock(5_000).widths
    long = 0
    for rewards, reach in product((70, 150, 600, 2_500), (3e-3, 0.02, 0.2)):
        policy = fast_forwarded_run(rewards)
        evidence, state = places(policy)
        t, count = policy.received, evidence.counts[BEST]
        radius = np.sqrt(ALPHA) * widths[t] * evidence.scales[BEST]
        low, high = evidence.means[BEST] - radius, evidence.means[BEST] + radius
        frame = {
            HEAD_OUT: low - reach if sides in ("all", "outer") else -np.inf,
            HEAD_IN: low + reach if sides in ("all", "inner") else np.inf,
            TAIL_IN: high - reach if sides in ("all", "inner", "upper") else -np.inf,
            TAIL_OUT: high + reach if sides in ("all", "outer", "upper") else np.inf,
        }
        for side, value in frame.items():
            state.latest[side] = value
        plan = fast_forward_of(
            policy.run.agent.tables, evidence, state, np.sqrt(ALPHA), widths, t, 1_000
        )
        for i in range(1, plan.rounds + 1):
            lines = plan.low + i * plan.low_step, plan.high + i * plan.high_step
            for total in (np.nextafter(lines[0], np.inf), np.nextafter(lines[1], -np.inf)):
                if not np.isfinite(total):
                    continue
                mean = total / (count + i)
                radius = np.sqrt(ALPHA) * widths[t + i] * (2.0 / np.sqrt(count + i))
                assert frame[HEAD_OUT] <= mean - radius < frame[HEAD_IN]
                assert frame[TAIL_IN] < mean + radius <= frame[TAIL_OUT]
        long += plan.rounds >= 8
    assert long >= 5  # otherwise the loop above would show nothing


def test_there_is_no_fast_forward_where_a_decision_is_open() -> None:
    widths = make_clock(5_000).widths
    policy = fast_forwarded_run(600)
    assert (
        fast_forward_of(
            policy.run.agent.tables, *places(policy), np.sqrt(ALPHA), widths, policy.received, 1_000
        ).rounds
        > 0
    )
    policy.update((BEST + 1) % 3, 3.0)  # the arm that competes is not the one of the latest reward
    assert (
        fast_forward_of(
            policy.run.agent.tables, *places(policy), np.sqrt(ALPHA), widths, policy.received, 1_000
        ).rounds
        == 0
    )
    fresh = Competitive(UCB()).start(load_structure("three-arms"), seed=1)
    assert (
        fast_forward_of(
            fresh.run.agent.tables, *places(fresh), np.sqrt(ALPHA), widths, 0, 1_000
        ).rounds
        == 0
    )


def places(policy: Policy) -> tuple[Evidence, ConfidenceState]:
    return evidence_of(policy.run.block), confidence_state(policy.run.memory)
