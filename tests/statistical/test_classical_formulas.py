"""Every classical formula against the formula of its paper, including all constants.

The stored statistics are random, so a constant that is wrong by one percent changes some decisions,
and the boundary between two arms is tested to nine digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

import structuredbandits as sb
from tests.statistical import independent_policies
from tests.statistical.agreement import assert_share
from tests.statistical.independent_policies import Floats, Rule, Runs

HORIZON = 20_000
SIGMA = np.array([0.5, 1.0, 2.0, 0.7])
DETERMINISTIC: dict[str, Rule] = {
    "ucb": independent_policies.ucb(),
    "ucb(alpha=0.7)": independent_policies.ucb(0.7),
    "kl-ucb": independent_policies.kl_ucb(),
    "kl-ucb(c=3)": independent_policies.kl_ucb(3.0),
    "moss": independent_policies.moss,
    "imed": independent_policies.imed,
    "bayes-ucb": independent_policies.bayes_ucb,
    "ucb-tuned": independent_policies.ucb_tuned,
}
# Policies whose index is the mean and something that does not depend on it.
ADDITIVE = sorted(set(DETERMINISTIC) - {"imed"})


def structure_of(sigma: Floats) -> sb.Structure:
    """A structure of which classical policies use only σ."""
    return sb.Structure.from_table(np.zeros((1, len(sigma))), sigma=sigma)


def random_statistics(received: int, sigma: Floats, n_subjects: int, seed: int) -> Runs:
    """Subjects with a given number of rewards each, at least one per arm, and similar means."""
    generator = np.random.default_rng(seed)
    n_arms = len(sigma)
    counts = 1.0 + generator.multinomial(
        received - n_arms, generator.dirichlet(np.ones(n_arms), n_subjects)
    )
    means = generator.normal(0.0, 2.0, counts.shape) * sigma / np.sqrt(counts)
    variances = sigma**2 * generator.gamma(1.0, 0.5, counts.shape)
    squares = counts * (variances + means**2)
    return Runs(counts, counts * means, squares, sigma, HORIZON, generator, received)


def decisions(policy: str, runs: Runs, horizon: int | None = HORIZON) -> np.ndarray:
    structure = structure_of(np.asarray(runs.sigma))
    return sb.pull_many(
        policy, structure, runs.counts, runs.sums, squares=runs.squares, horizon=horizon, seed=0
    )


def everyone(runs: Runs) -> np.ndarray:
    return np.ones(runs.counts.shape, dtype=bool)


def share_of_equal_decisions(policy: str, rule: Rule, runs: Runs) -> float:
    """Compared for subjects whose two best arms differ by more than rounding."""
    scores = rule(runs, everyone(runs))
    ordered = np.sort(scores, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-9
    assert clear.mean() > 0.99
    return float((decisions(policy, runs) == scores.argmax(axis=1))[clear].mean())


@pytest.mark.parametrize("received", [4, 7, 100, 15_000])
@pytest.mark.parametrize("policy", DETERMINISTIC)
def test_decisions_are_those_of_the_paper(policy: str, received: int) -> None:
    runs = random_statistics(received, SIGMA, n_subjects=5000, seed=received)
    assert share_of_equal_decisions(policy, DETERMINISTIC[policy], runs) == 1.0


@pytest.mark.parametrize("policy", DETERMINISTIC)
def test_a_sigma_that_is_off_by_two_percent_is_noticed(policy: str) -> None:
    """The test above can fail: its decisions depend on every constant except σ."""
    runs = random_statistics(100, SIGMA, n_subjects=5000, seed=1)
    rule = DETERMINISTIC[policy]

    def wrong(seen: Runs, candidates: np.ndarray) -> Floats:
        return rule(replace(seen, sigma=1.02 * SIGMA), candidates)

    assert share_of_equal_decisions(policy, wrong, runs) < 0.999


@pytest.mark.parametrize("policy", ADDITIVE)
def test_two_arms_change_places_where_the_indices_are_equal(policy: str) -> None:
    for received in (3, 50, 8000):
        runs = random_statistics(received, SIGMA[1:3], n_subjects=300, seed=received)
        scores = DETERMINISTIC[policy](runs, everyone(runs))
        boundary = runs.means[:, 0] + scores[:, 1] - scores[:, 0]
        variances = runs.squares[:, 0] / runs.counts[:, 0] - runs.means[:, 0] ** 2
        for side, arm in ((-1e-8, 1), (1e-8, 0)):
            mean = boundary + side
            runs.sums[:, 0] = runs.counts[:, 0] * mean
            runs.squares[:, 0] = runs.counts[:, 0] * (variances + mean**2)
            np.testing.assert_array_equal(decisions(policy, runs), arm)


def test_imed_weighs_what_is_lost_against_the_logarithm_of_the_count() -> None:
    runs = random_statistics(500, SIGMA[1:3], n_subjects=500, seed=5)
    few, many = runs.counts.min(axis=1), runs.counts.max(axis=1)
    kept = few < many
    runs.counts = np.stack([few, many], axis=1)[kept]
    leader = 0.3
    # n (0.3 - m)² / (2 sigma²) + log n of the arm behind equals the log n of the leader.
    boundary = leader - SIGMA[1] * np.sqrt(2 * np.log((many / few)[kept]) / few[kept])
    runs.squares = np.zeros_like(runs.counts)
    for side, arm in ((-1e-9, 1), (1e-9, 0)):
        means = np.stack([boundary + side, np.full(kept.sum(), leader)], axis=1)
        runs.sums = runs.counts * means
        np.testing.assert_array_equal(decisions("imed", runs), arm)


def test_moss_without_a_horizon_uses_the_rounds_so_far() -> None:
    runs = random_statistics(200, SIGMA, n_subjects=5000, seed=6)
    runs.horizon = runs.rounds
    scores = independent_policies.moss(runs, everyone(runs))
    np.testing.assert_array_equal(decisions("moss", runs, horizon=None), scores.argmax(axis=1))


def test_moss_has_no_bonus_beyond_its_share_of_the_horizon() -> None:
    structure = structure_of(np.ones(2))
    # T/(K n) = 1 for the first arm: its index is its mean. The second has a bonus of
    # 2 sqrt(log(100/64)/32) = 0.236.
    counts = np.array([[50.0, 32.0]])
    bonus = 2 * math.sqrt(math.log(100 / 64) / 32)
    for above, arm in ((bonus + 1e-9, 0), (bonus - 1e-9, 1)):
        chosen = sb.pull_many("moss", structure, counts, counts * [above, 0.0], horizon=100, seed=0)
        assert chosen.tolist() == [arm]


def test_bayes_ucb_with_c_uses_the_horizon() -> None:
    c = 2.0
    structure = structure_of(np.ones(2))
    counts = np.array([[3.0, 40.0]])
    level = 1 - 1 / (44 * math.log(1000) ** c)
    wide, narrow = (float(stats.norm.ppf(level, scale=1 / math.sqrt(n))) for n in (3, 40))
    for side, arm in ((-1e-9, 1), (1e-9, 0)):
        sums = counts * [narrow - wide + side, 0.0]
        chosen = sb.pull_many(f"bayes-ucb(c={c})", structure, counts, sums, horizon=1000, seed=0)
        assert chosen.tolist() == [arm]


# -- Bernoulli KL-UCB, against scipy's root finding ------------------------------------------------


def largest_plausible(mean: float, count: float, level: float) -> float:
    """The largest q with count · kl(mean, q) <= level, by Brent's method."""

    def excess(q: float) -> float:
        divergence = special.rel_entr(mean, q) + special.rel_entr(1 - mean, 1 - q)
        return float(count * divergence - level)

    top = 1 - 1e-15
    return top if excess(top) <= 0 else float(optimize.brentq(excess, mean, top, xtol=1e-14))


@pytest.mark.parametrize("c", [0.0, 3.0])
def test_bernoulli_kl_ucb_changes_arms_where_the_divergence_says(c: float) -> None:
    generator = np.random.default_rng(8)
    structure = structure_of(np.full(2, 0.5))
    policy = f"kl-ucb-bernoulli(c={c})"
    compared = 0
    for _ in range(80):
        counts = generator.integers(1, 400, 2).astype(float)
        received = counts.sum()
        level = math.log(received) + c * math.log(math.log(received))
        mean = generator.uniform(0.02, 0.9)
        target = largest_plausible(mean, counts[1], level)
        if not largest_plausible(1e-12, counts[0], level) < target < 1 - 1e-9:
            continue  # the other arm is above (or below) at every mean that it can have
        boundary = float(
            optimize.brentq(
                lambda m, n=counts[0], at=level, to=target: largest_plausible(m, n, at) - to,
                1e-12,
                target,
                xtol=1e-14,
            )
        )
        for side, arm in ((-1e-7, 1), (1e-7, 0)):
            sums = counts * [boundary + side, mean]
            assert sb.pull_many(policy, structure, [counts], [sums], seed=0).tolist() == [arm]
        compared += 1
    assert compared > 40


# -- Thompson sampling, against the law of its choice ----------------------------------------------

DRAWS = 200_000


def share_of_first_arm(
    policy: str, counts: list[float], means: list[float], sigma: list[float], seed: int
) -> int:
    each = np.tile(np.array(counts), (DRAWS, 1))
    chosen = sb.pull_many(
        policy, structure_of(np.array(sigma)), each, each * np.array(means), seed=seed
    )
    return int((chosen == 0).sum())


@pytest.mark.parametrize(
    ("counts", "means", "sigma"),
    [
        ([4, 25], [1.0, 0.8], [2.0, 2.0]),
        ([100, 9], [0.0, 0.4], [2.0, 0.5]),
        ([1, 1], [0, 1], [1, 1]),
    ],
)
def test_gaussian_thompson_draws_from_the_posterior_of_the_mean(
    counts: list[float], means: list[float], sigma: list[float]
) -> None:
    """Error rate 1e-4 each; one draw beats another with a known probability."""
    hits = share_of_first_arm("ts", counts, means, sigma, seed=11)

    def share(deviation: Callable[[float, float], float]) -> float:
        both = math.hypot(*(deviation(s, n) for s, n in zip(sigma, counts, strict=True)))
        return float(stats.norm.cdf((means[0] - means[1]) / both))

    assert_share(hits, DRAWS, share(lambda s, n: s / math.sqrt(n)))
    if max(counts) > 1:  # the two well-known mistakes are far away
        for wrong in (share(lambda s, n: s), share(lambda s, n: s / n)):
            with pytest.raises(AssertionError, match="not"):
                assert_share(hits, DRAWS, wrong)


def test_beta_of_gaussian_thompson_multiplies_the_variance() -> None:
    hits = share_of_first_arm("ts(beta=4)", [4, 25], [1.0, 0.8], [2.0, 2.0], seed=12)
    deviation = 2 * math.hypot(2 / 2, 2 / 5)
    assert_share(hits, DRAWS, float(stats.norm.cdf(0.2 / deviation)))


@pytest.mark.parametrize(
    ("counts", "successes"), [([10, 30], [6, 15]), ([0, 5], [0, 4]), ([3, 900], [0, 90])]
)
def test_beta_thompson_draws_from_beta_with_one_added_on_both_sides(
    counts: list[float], successes: list[float]
) -> None:
    """Error rate 1e-4 each; an unseen arm is drawn from the uniform prior."""
    each, sums = (np.tile(np.array(x, dtype=float), (DRAWS, 1)) for x in (counts, successes))
    chosen = sb.pull_many("ts-beta", structure_of(np.full(2, 0.5)), each, sums, seed=13)

    def share(prior: float) -> float:
        first, second = (
            stats.beta(s + prior, n - s + prior) for s, n in zip(successes, counts, strict=True)
        )
        middle = float(second.mean())
        integrand = lambda x: float(first.sf(x) * second.pdf(x))  # noqa: E731
        value, _ = integrate.quad(integrand, 0, 1, points=[middle], limit=500)
        return float(value)

    hits = int((chosen == 0).sum())
    assert_share(hits, DRAWS, share(1.0))
    with pytest.raises(AssertionError, match="not"):
        assert_share(hits, DRAWS, share(2.0))


# -- ε-greedy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "rate"),
    [("epsilon-greedy", 0.1), ("epsilon-greedy(epsilon=0.6,decay=100)", 0.6 * 100 / 130)],
)
def test_epsilon_greedy_explores_at_its_rate(policy: str, rate: float) -> None:
    """Error rate 1e-4: any of three arms with probability ε, else the best after 30 rewards."""
    each = np.tile([10.0, 5.0, 15.0], (DRAWS, 1))
    chosen = sb.pull_many(policy, structure_of(np.ones(3)), each, each * [0.1, 0.9, 0.3], seed=14)
    for arm, share in enumerate((rate / 3, 1 - rate + rate / 3, rate / 3)):
        assert_share(int((chosen == arm).sum()), DRAWS, share)
