"""mUCB, FP-UCB and CROP against independent implementations and against their theory.

Two-sided z tests on independent seeds with error rate 1e-4 each, unless a test says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from numpy.typing import NDArray

import structuredbandits as sb
from structuredbandits.theory.lower_bound import lower_bound
from tests.policies.structured.plain import Crop, Seen
from tests.statistical.agreement import (
    assert_different_mean,
    assert_same_mean,
    bound_on_z,
    share_exceeds,
)
from tests.statistical.independent_policies import (
    Knowledge,
    Runs,
    competitive_arms,
    largest_means,
    pick,
    plausible,
    ucb,
)

MEANS = np.array(
    [
        [1.0, 0.6, 0.2, 0.0],
        [1.0, 1.5, 0.1, 0.0],
        [0.4, 0.9, 0.5, 0.0],
        [0.2, 0.3, 1.2, 0.0],
        [1.6, 0.2, 0.9, 0.0],
    ]
)
KNOWN = sb.Structure.from_table(MEANS, sigma=1.0)
KNOWLEDGE = Knowledge(np.ascontiguousarray(MEANS.T), np.ascontiguousarray(MEANS.T))
HORIZON = 600


@dataclass(frozen=True)
class Rival:
    """mUCB or FP-UCB for many runs at once, from the formulas of the papers."""

    name: str
    alpha: float = 3.0

    @cached_property
    def somewhere_best(self) -> NDArray[np.bool_]:
        return np.asarray(KNOWLEDGE.optimal.any(axis=1))

    def choose(self, runs: Runs) -> NDArray[np.int64]:
        level = self.alpha * runs.log_t
        if self.name == "mucb":
            level = math.log(len(MEANS) * runs.horizon**2 * runs.horizon)
        radius = np.where(runs.counts == 0, np.inf, np.sqrt(2 * level / runs.seen))
        low, high = runs.means - radius, runs.means + radius
        inside = plausible(KNOWLEDGE.lower, KNOWLEDGE.upper, low, high)
        everything = np.ones(runs.counts.shape, dtype=bool)
        fallback = ucb(self.alpha)(runs, everything)
        some = inside.any(axis=1)[:, None]
        if self.name == "mucb":
            best = largest_means(inside, KNOWLEDGE.upper)
            return pick(np.where(some, best, fallback), everything, runs)
        candidates = competitive_arms(inside, KNOWLEDGE.optimal)
        candidates = np.where(some, candidates, self.somewhere_best)
        unseen = (runs.counts == 0) & self.somewhere_best
        candidates = np.where(unseen.any(axis=1)[:, None], unseen, candidates)
        return pick(np.where(unseen, 0.0, fallback), candidates, runs)


def regrets_of(rival: Rival, theta: int, runs: int, seed: int) -> np.ndarray:
    truth, generator = MEANS[theta], np.random.default_rng(seed)
    state = Runs(*np.zeros((3, runs, 4)), sigma=1.0, horizon=HORIZON, generator=generator)
    for done in range(HORIZON):
        state.rounds = done
        arms = rival.choose(state)
        rewards = truth[arms] + generator.standard_normal(runs)
        state.counts[np.arange(runs), arms] += 1
        state.sums[np.arange(runs), arms] += rewards
    return np.asarray(state.counts @ (truth.max() - truth))


def library_regrets(policy: str, theta: int, runs: int = 4000) -> np.ndarray:
    results = sb.simulate(
        KNOWN, policy, theta=theta, horizon=HORIZON, runs=runs, seed=21, progress="off"
    )
    return results.regret[0, 0, :, -1]


@pytest.mark.parametrize("theta", [0, 2, 3])
@pytest.mark.parametrize("policy", ["mucb", "fp-ucb"])
def test_regret_of_optimistic_rivals(policy: str, theta: int) -> None:
    theirs = regrets_of(Rival(policy), theta, runs=1500, seed=22)
    assert_same_mean(library_regrets(policy, theta), theirs, visible=0.2)


def test_another_width_shows_in_the_regret() -> None:
    """The test above can fail with samples of the same size."""
    theirs = regrets_of(Rival("fp-ucb", alpha=2.0), 0, runs=1500, seed=22)
    assert_different_mean(library_regrets("fp-ucb", 0), theirs)


@pytest.mark.parametrize("theta", [0, 3])
def test_regret_of_crop(theta: int) -> None:
    """60 runs of a plain loop in Python, which solves its own linear programs."""
    generator, regrets, horizon = np.random.default_rng(22), [], 150
    twin = Crop(MEANS, np.ones(4))
    truth = MEANS[theta]
    for _ in range(60):
        counts, sums = np.zeros(4), np.zeros(4)
        for _ in range(horizon):
            arm = generator.choice(4, p=twin(Seen(counts, sums, np.arange(4))))
            counts[arm] += 1
            sums[arm] += truth[arm] + generator.standard_normal()
        regrets.append(counts @ (truth.max() - truth))
    results = sb.simulate(
        KNOWN, "crop", theta=theta, horizon=horizon, runs=4000, seed=21, progress="off"
    )
    assert_same_mean(results.regret[0, 0, :, -1], regrets, visible=0.3)


def test_the_true_parameter_stays_plausible_for_mucb() -> None:
    """The bound of the paper: it leaves the set of mUCB with probability at most delta.

    400 runs of 150 rounds with delta = 0.3; one-sided exact test, error rate 1e-4, seed 23.
    """
    generator, left = np.random.default_rng(23), 0
    for run in range(400):
        policy = sb.MUCB(delta=0.3).start(KNOWN, seed=run, horizon=150)
        always = True
        for _ in range(150):
            arm = int(policy.pull()) - 1
            policy.update(arm, MEANS[0, arm] + generator.standard_normal())
            always = always and 0 in policy.confidence_set
        left += not always
    assert not share_exceeds(left, 400, 0.3)


@pytest.mark.parametrize("policy", ["mucb", "fp-ucb", "crop"])
def test_regret_stays_bounded_where_it_can(policy: str) -> None:
    """At the third θ no other θ agrees on the best arm: at most 2 % of the regret comes late.

    Regret after 20,000 rounds of 300 runs, seed 24, whose second half would bring a regret that
    grows like log T more than 6 % of it.
    """
    assert lower_bound(KNOWN, 2).value == 0.0
    results = sb.simulate(
        KNOWN,
        policy,
        theta=2,
        horizon=20_000,
        runs=300,
        seed=24,
        checkpoints=[10_000, 20_000],
        progress="off",
    )
    half, whole = results.regret[0, 0].mean(axis=0)
    assert whole - half <= 0.02 * whole


def test_crop_explores_as_its_confidence_level_says() -> None:
    """The constant factor: alpha times the pulls of the lower bound, from T = 10³ to 10⁵.

    Each pull of the second arm adds 2 to the expected misfit of the rival, which must reach
    log(z t²): alpha log(100) / 2 more pulls from 10³ to 10⁵ rounds. 400 runs, seed 25, two-sided z
    test with error rate 1e-4.
    """
    known = sb.Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=1.0)
    rate = lower_bound(known, 0).rates[1]
    results = sb.simulate(
        known,
        "crop",
        theta=0,
        horizon=100_000,
        runs=400,
        seed=25,
        checkpoints=[1_000, 100_000],
        progress="off",
    )
    more = results.regret[0, 0, :, 1] - results.regret[0, 0, :, 0]  # a pull costs 1
    expected = 2.0 * rate * math.log(100.0)
    error = more.std(ddof=1) / math.sqrt(more.size)
    assert bound_on_z() * error < 0.1 * expected  # another alpha would be visible
    assert abs(more.mean() - expected) < bound_on_z() * error
