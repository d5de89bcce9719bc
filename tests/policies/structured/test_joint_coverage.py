"""The joint confidence set keeps the true θ at least as often as it promises."""

from __future__ import annotations

import math

import numpy as np

import structuredbandits as sb
from structuredbandits._compiled import addresses_of, borrow, kernel, new_generator
from structuredbandits.confidence.evidence import evidence_of, record
from structuredbandits.confidence.joint_set import JointTables, best_fit, fill_misfits, joint_tables
from tests.statistical.agreement import share_exceeds

RUNS, ROUNDS, DELTA = 10_000, 300, 0.1


@kernel
def first_exits(
    tables: JointTables,
    truth: int,
    sigma: np.ndarray,
    limits: np.ndarray,
    runs: int,
    addresses: np.ndarray,
    noise: float,
) -> np.ndarray:
    """Round in which the true θ first leaves the set of each run, 0 if never: (runs,).

    Arms are chosen to mislead: mostly the one that looks best, so that rewards and pulls depend on
    one another.
    """
    generator = borrow(addresses)
    n_arms, n_parameters = tables.lower.shape
    misfits, exits = np.empty(n_parameters), np.zeros(runs, dtype=np.int64)
    for run in range(runs):
        block = np.zeros((7, n_arms))
        evidence = evidence_of(block)
        evidence.sigmas[:] = sigma
        for t in range(limits.size):
            arm = int(generator.random() * n_arms)
            if generator.random() < 0.8:
                for other in range(n_arms):
                    if evidence.means[other] > evidence.means[arm]:
                        arm = other
            mean = tables.lower[arm, truth]
            record(evidence, arm, mean + noise * sigma[arm] * generator.standard_normal())
            fill_misfits(tables, evidence, misfits)
            excess = misfits[truth] - misfits[best_fit(misfits, n_parameters)]
            if not excess < limits[t]:
                exits[run] = t + 1
                break
    return exits


def exits_of(limits: np.ndarray, noise: float = 1.0, seed: int = 1) -> np.ndarray:
    generator = np.random.default_rng(8)
    known = sb.Structure.from_table(generator.normal(size=(12, 3)), sigma=[1.0, 0.5, 2.0])
    own = new_generator(seed)
    result = first_exits(
        joint_tables(known), 4, np.array(known.sigma), limits, RUNS, addresses_of(own), noise
    )
    assert own is not None  # its addresses were in use until here
    return np.asarray(result)


def test_true_parameter_ever_leaves_a_fixed_set_at_most_as_often_as_promised() -> None:
    """10,000 runs, seed 1. A correct set fails this with probability at most 1e-4."""
    exits = exits_of(np.full(ROUNDS, math.log(12 / DELTA)))
    assert not share_exceeds(int((exits > 0).sum()), RUNS, DELTA)
    assert (exits > 0).sum() > 0  # the bound is not empty words: it does happen


def test_the_set_of_algorithm_c_keeps_the_promise_of_each_round() -> None:
    """delta = t^-3: θ leaves from round 20 on with probability at most Σ t^-3 = 0.0013; seed 1."""
    t = np.arange(1, ROUNDS + 1)
    limits = np.where(t < 20, np.inf, math.log(12) + 3.0 * np.log(t))
    exits = exits_of(limits)
    promised = float((t[19:] ** -3.0).sum())
    assert not share_exceeds(int((exits > 0).sum()), RUNS, promised)


def test_the_coverage_test_can_fail() -> None:
    """With noise twice as large as sigma says the promise is broken, and the test sees it."""
    exits = exits_of(np.full(ROUNDS, math.log(12 / DELTA)), noise=2.0)
    assert share_exceeds(int((exits > 0).sum()), RUNS, DELTA)


def test_the_policy_uses_that_set() -> None:
    known = sb.Structure.from_table([[0.0, 1.0], [0.5, 0.0], [2.0, 0.2]], sigma=1.0)
    policy = sb.Competitive(sb.UCB(), alpha=1.5, confidence="joint").start(known, seed=1)
    for _ in range(9):
        policy.update("1", 0.45)
    # SSE/2 = 9/2 (0.45 - mu)²; the limit is log 3 + 1.5 log 9 = 4.39 above the smallest.
    excess = 4.5 * (0.45 - known.means[:, 0]) ** 2 - 4.5 * 0.05**2
    assert policy.confidence_set.mask.tolist() == (excess < 4.394).tolist()
    assert policy.competitive_arms == ("1", "2")
