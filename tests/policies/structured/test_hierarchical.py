"""The hierarchical policies against plain formulas, their limits, and themselves resumed."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

import structuredbandits as sb
from structuredbandits.environments import Gaussian
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.structured.hierarchical_index import gittins_bonus
from structuredbandits.policies.structured.hierarchical_model import widened
from structuredbandits.simulation.seeds import policy_sequence

FloatArray = NDArray[np.float64]
ALGORITHMS: list[Algorithm] = [
    sb.Hierarchical(),
    sb.Hierarchical(noise=0.7, use_prior=False, spread=0.5),
    sb.HierarchicalIndex(),
    sb.HierarchicalCompetitive(alpha=1.0),
]
EACH = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.label)


def learned(
    seed: int, *, arms: int = 5, thetas: int = 7, error: float = 0.3, minimize: bool = False
) -> sb.Structure:
    """A random map with errors of different sizes, counts and a prior."""
    generator = np.random.default_rng(seed)
    shape = (thetas, arms)
    counts = generator.integers(2, 40, shape)
    return sb.Structure.from_table(
        generator.normal(0.0, 1.0, shape),
        sigma=1.5,
        counts=counts,
        standard_errors=error / np.sqrt(counts),
        prior=generator.random(thetas) + 0.1,
        minimize=minimize,
    )


def largest(means: FloatArray, deviations: FloatArray) -> FloatArray:
    """Probability that each normal draw is the largest, on a very fine grid."""
    low, high = (means - 7 * deviations).max(), (means + 7 * deviations).max()
    places = np.arange(low, high, deviations.min() / 10)[:, None]
    z = (places - means) / deviations
    densities, distributions = np.exp(-0.5 * z * z) / deviations, ndtr(z)
    others = [np.delete(distributions, arm, axis=1).prod(axis=1) for arm in range(means.size)]
    shares = (densities * np.array(others).T).sum(axis=0)
    return np.asarray(shares / shares.sum())


class Plain:
    """The model's formulas, one θ and one arm at a time."""

    def __init__(
        self, structure: sb.Structure, noise: float, use_prior: bool, doubt: float = 1.0
    ) -> None:
        assert structure.standard_errors is not None
        self.maps = structure.sign * structure.means
        self.errors = (doubt * structure.standard_errors) ** 2
        share = structure.prior if use_prior else None
        self.prior = np.ones(len(self.maps)) if share is None else share
        self.noise, self.sign = noise**2, structure.sign
        self.rewards: list[list[float]] = [[] for _ in structure.arms]

    def update(self, arm: int, reward: float) -> None:
        self.rewards[arm].append(self.sign * reward)

    def weights(self) -> FloatArray:
        """Posterior of θ: the mean reward of an arm is N(map, error + noise / n)."""
        logs = np.log(self.prior)
        for theta in range(len(self.maps)):
            for arm, rewards in enumerate(self.rewards):
                if rewards:
                    variance = self.errors[theta, arm] + self.noise / len(rewards)
                    distance = np.mean(rewards) - self.maps[theta, arm]
                    logs[theta] += -0.5 * (math.log(variance) + distance**2 / variance)
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def belief(self, theta: int, arm: int) -> tuple[float, float]:
        """Mean and variance of a mean: precisions add up."""
        error, rewards = self.errors[theta, arm], self.rewards[arm]
        if error == 0.0 or not rewards:
            return float(self.maps[theta, arm]), float(error)
        precision = 1.0 / error + len(rewards) / self.noise
        mean = (self.maps[theta, arm] / error + sum(rewards) / self.noise) / precision
        return float(mean), 1.0 / precision

    def shares(self, spread: float) -> FloatArray:
        total = np.zeros(len(self.rewards))
        for theta, weight in enumerate(self.weights()):
            beliefs = [self.belief(theta, arm) for arm in range(len(self.rewards))]
            means, variances = np.array(beliefs).T
            total += weight * largest(means, spread * np.sqrt(variances))
        return total

    def indices(self, rounds: float) -> FloatArray:
        values = []
        for arm in range(len(self.rewards)):
            beliefs = np.array([self.belief(theta, arm) for theta in range(len(self.maps))])
            weights = self.weights()
            mean = float(weights @ beliefs[:, 0])
            variance = float(weights @ (beliefs[:, 1] + (beliefs[:, 0] - mean) ** 2))
            bonus = gittins_bonus.py_func(rounds * variance / self.noise)
            values.append(mean + math.sqrt(variance) * bonus)
        return np.array(values)


def play(policy: sb.Policy, rewards: FloatArray, rounds: int) -> list[str]:
    chosen = []
    for t in range(rounds):
        arm = policy.pull()
        chosen.append(arm)
        policy.update(arm, rewards[t, policy.structure.arm_index(arm)])
    return chosen


# -- formulas --------------------------------------------------------------------------------------


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_thompson_shares_are_those_of_the_plain_formulas(seed: int, minimize: bool) -> None:
    structure = learned(seed, minimize=minimize)
    policy = sb.Hierarchical(noise=0.8, spread=0.9).start(structure, seed=seed)
    plain = Plain(structure, 0.8, use_prior=True)
    generator = np.random.default_rng(seed + 10)
    for step in range(40):
        if step % 5 == 0:
            shares = list(policy.probabilities().values())
            np.testing.assert_allclose(shares, plain.shares(0.9), atol=2e-6)
        arm, reward = int(generator.integers(5)), float(generator.normal())
        policy.update(arm, reward)
        plain.update(arm, reward)


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_index_is_that_of_the_plain_formulas(seed: int, minimize: bool) -> None:
    structure = learned(seed, minimize=minimize)
    policy = sb.HierarchicalIndex(noise=0.8, use_prior=True, doubt=1.5).start(
        structure, seed=seed, horizon=300
    )
    plain = Plain(structure, 0.8, use_prior=True, doubt=1.5)
    rewards = np.random.default_rng(seed + 10).normal(0.0, 1.0, (60, 5))
    clear = 0
    for step in range(60):
        indices = plain.indices(rounds=300 - step)
        first, second = np.sort(indices)[[-1, -2]]
        arm = structure.arm_index(policy.pull())
        if first - second > 1e-7:
            clear += 1
            assert arm == int(np.argmax(indices)), step
        policy.update(arm, rewards[step, arm])
        plain.update(arm, rewards[step, arm])
    assert clear > 50


def test_without_a_horizon_three_times_the_past_is_to_come() -> None:
    structure = learned(1)
    policy = sb.HierarchicalIndex(noise=0.8).start(structure)
    plain = Plain(structure, 0.8, use_prior=False, doubt=2.0)
    for step in range(20):
        arm = structure.arm_index(policy.pull())
        assert arm == int(np.argmax(plain.indices(3.0 * (step + 1))))
        policy.update(arm, 0.1)
        plain.update(arm, 0.1)


def test_the_boundary_solves_its_stopping_problem() -> None:
    """Backward induction over a random walk in the variance of the belief, at three values of s.

    In steps of one unit the boundary is lower by 0.583 standard deviations of a step (Chernoff and
    Petkau's correction), which is added back; what remains is the table's rounding.
    """
    for s, steps in ((1.0, 4000), (30.0, 6000), (1000.0, 20000)):
        assert _solved(s, steps) == pytest.approx(gittins_bonus.py_func(s), rel=0.03)


def _solved(s: float, steps: int) -> float:
    """The boundary at s, with reward variance 1 and one unit of precision in the end."""
    # From variance 1 + s (precision 1/(1+s)) down to 1, in steps of equal variance.
    step = s / steps
    root = math.sqrt(step)
    width = 4 * steps if steps < 5000 else 6000
    places = np.arange(-width, width + 1) * root
    value = np.zeros(places.size)
    variance = 1.0
    for _ in range(steps):
        variance += step
        pulls = 1.0 / (variance - step) - 1.0 / variance
        inner = 0.5 * (value[2:] + value[:-2])
        value[1:-1] = np.maximum(0.0, places[1:-1] * pulls + inner)
        value[-1] = places[-1] * (1.0 - 1.0 / variance)
    first = int(np.flatnonzero(value > 0.0)[0])
    return float(-places[first] + 0.583 * root) / math.sqrt(1.0 + s)


def test_the_boundary_grows_and_has_its_known_ends() -> None:
    values = [gittins_bonus.py_func(10.0**power) for power in np.linspace(-6, 12, 400)]
    assert (np.diff(values) >= 0).all()
    assert values[0] == pytest.approx(0.639 * 1e-3, rel=0.01)
    assert gittins_bonus.py_func(0.0) == 0.0


# -- limits ----------------------------------------------------------------------------------------


def test_with_an_exact_map_it_is_posterior_sampling() -> None:
    structure = learned(3, error=0.0)
    hierarchical = sb.Hierarchical(noise=1.5).start(structure, seed=3)
    posterior = sb.PosteriorSampling().start(structure, seed=3)
    generator = np.random.default_rng(4)
    for _ in range(50):
        np.testing.assert_allclose(
            list(hierarchical.probabilities().values()),
            list(posterior.probabilities().values()),
            atol=1e-9,
        )
        arm, reward = int(generator.integers(5)), float(generator.normal())
        hierarchical.update(arm, reward)
        posterior.update(arm, reward)


def test_with_a_worthless_map_it_is_thompson_sampling_after_one_pull_of_each_arm() -> None:
    structure = learned(5, error=1e7)
    hierarchical = sb.Hierarchical(noise=1.5).start(structure, seed=5)
    thompson = sb.ThompsonSampling().start(structure, seed=5)
    generator = np.random.default_rng(6)
    for step in range(60):
        arm = step if step < 5 else int(generator.integers(5))
        reward = float(generator.normal())
        hierarchical.update(arm, reward)
        thompson.update(arm, reward)
        if step >= 4:
            np.testing.assert_allclose(
                list(hierarchical.probabilities().values()),
                list(thompson.probabilities().values()),
                atol=1e-5,  # the quadrature of Thompson's own shares
            )


def test_wide_bounds_leave_the_competitive_version_as_it_was() -> None:
    structure = learned(7)
    rewards = np.random.default_rng(8).normal(0.0, 1.0, (80, 5))
    plain = sb.Hierarchical().start(structure, seed=1)
    competitive = sb.HierarchicalCompetitive(errors=100.0).start(structure, seed=1)
    assert play(plain, rewards, 80) == play(competitive, rewards, 80)


def test_the_competitive_version_keeps_the_set_of_its_bounds() -> None:
    structure = learned(9)
    algorithm = sb.HierarchicalCompetitive(alpha=0.5, errors=1.0)
    policy = algorithm.start(structure, seed=2)
    twin = sb.Competitive(sb.UCB(), alpha=0.5).start(widened(structure, 1.0), seed=2)
    rewards = structure.means[2] + np.random.default_rng(3).normal(0.0, 0.5, (150, 5))
    fewer = 0
    for t in range(150):
        arm = policy.pull()
        assert policy.competitive_arms == twin.competitive_arms
        assert arm in twin.competitive_arms
        assert list(policy.confidence_set) == list(twin.confidence_set)
        assert sum(policy.probabilities().values()) == pytest.approx(1.0)
        fewer += len(twin.competitive_arms) < 5
        for run in (policy, twin):
            run.update(arm, rewards[t, structure.arm_index(arm)])
    assert fewer > 50


# -- contracts -------------------------------------------------------------------------------------


@EACH
def test_stored_runs_resume_with_the_same_decisions(algorithm: Algorithm) -> None:
    structure = learned(11)
    rewards = np.random.default_rng(4).normal(0.0, 1.0, (200, 5))
    policy = algorithm.start(structure, seed=3, horizon=500)
    play(policy, rewards, 60)
    policy.pull()  # one reward is still to come
    stored = json.loads(json.dumps(policy.state_dict()))
    twins = [sb.Policy.from_state(structure, stored), pickle.loads(pickle.dumps(policy))]
    went_on = play(policy, rewards, 140)
    for twin in twins:
        assert twin.algorithm == algorithm
        assert play(twin, rewards, 140) == went_on


@EACH
def test_simulation_is_the_interactive_loop(algorithm: Algorithm) -> None:
    structure = learned(12)
    results = sb.simulate(structure, [algorithm], theta=4, horizon=300, runs=2, seed=9)
    sequence = policy_sequence(9, 1, algorithm.label, 4)
    policy = algorithm.start(structure, seed=sequence, horizon=300)
    rewards = Gaussian(structure).rewards(4, seed=9, run=1)
    for _ in range(300):
        arm = policy.pull()
        policy.update(arm, rewards.draw(arm))
    np.testing.assert_array_equal(results.pulls[0, 0, 1], policy.counts)


@EACH
def test_only_allowed_arms_are_pulled(algorithm: Algorithm) -> None:
    structure = learned(13)
    policy = algorithm.start(structure, seed=3)
    for arms in ([0], [1, 3], [4, 2, 0]):
        names = {structure.arms[arm] for arm in arms}
        assert policy.pull(arms) in names
        shares = policy.probabilities(arms)
        assert {arm for arm, share in shares.items() if share > 0} <= names
        assert sum(shares.values()) == pytest.approx(1.0)


@EACH
def test_names_make_the_same_algorithm(algorithm: Algorithm) -> None:
    assert sb.make_algorithm(algorithm.label) == algorithm


def test_errors_are_told() -> None:
    bare = sb.Structure.from_table([[1.0, 0.0]], sigma=1.0)
    for name in ("hierarchical", "hierarchical-index", "hierarchical-c"):
        with pytest.raises(sb.InvalidPolicy, match="standard errors"):
            sb.make_policy(name, bare)
    for bad in (0.0, -1.0, math.nan, math.inf, True):
        with pytest.raises(sb.InvalidPolicy, match="noise"):
            sb.Hierarchical(noise=bad)
        with pytest.raises(sb.InvalidPolicy, match="doubt"):
            sb.HierarchicalIndex(doubt=bad)
        with pytest.raises(sb.InvalidPolicy, match="errors"):
            sb.HierarchicalCompetitive(errors=bad)
