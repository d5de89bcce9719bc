"""Every structured policy against its plain twin: the same probabilities in hundreds of states."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import structuredbandits as sb
from tests.policies.structured import plain
from tests.policies.structured.plain import Seen

SIGMA = np.array([1.0, 0.7, 1.3, 1.0])


def states(
    policy: sb.Policy, theta: object, *, steps: int = 120, seed: int = 5
) -> Iterator[tuple[Seen, np.ndarray]]:
    """Feed a policy rewards of random arms; give what it saw and its probabilities, with masks."""
    generator = np.random.default_rng(seed)
    structure = policy.structure
    truth = structure.means_at(theta)
    n_arms = structure.n_arms
    counts, sums = np.zeros(n_arms), np.zeros(n_arms)
    for step in range(steps):
        allowed = np.arange(n_arms)
        if step % 3 == 2:
            allowed = np.sort(
                generator.choice(n_arms, size=generator.integers(1, n_arms + 1), replace=False)
            )
        seen = Seen(counts.copy(), structure.sign * sums, allowed)
        shares = policy.probabilities([structure.arms[arm] for arm in allowed])
        yield seen, np.array([shares[arm] for arm in structure.arms])
        arm = int(generator.integers(n_arms)) if step % 2 else int(generator.integers(2))
        reward = truth[arm] + structure.sigma[arm] * generator.standard_normal()
        counts[arm] += 1
        sums[arm] += reward
        policy.update(arm, reward)


def assert_twins(
    policy: sb.Policy, theta: object, twin: Callable[[Seen], np.ndarray], *, steps: int = 120
) -> None:
    compared = set()
    for seen, shares in states(policy, theta, steps=steps):
        expected = twin(seen)
        np.testing.assert_allclose(shares, expected, atol=1e-9)
        compared.add(int(expected.argmax()))
    assert len(compared) > 1  # the test saw the policy change its mind


@pytest.fixture(scope="module")
def table() -> sb.Structure:
    generator = np.random.default_rng(11)
    means = generator.normal(size=(25, 4))
    return sb.Structure.from_table(means, sigma=SIGMA, prior=generator.uniform(1, 3, size=25))


@pytest.fixture(scope="module")
def safe_or_better() -> sb.Structure:
    """Arm 1 is never bad; which other arm beats it, if any, can only be found out by trying."""
    generator = np.random.default_rng(12)
    means = generator.normal(0.0, 0.3, size=(7, 4))
    means[:, 0] = 1.0
    for row in range(1, 7):
        means[row, 1 + row % 3] = 1.5 + 0.1 * row
    return sb.Structure.from_table(means, sigma=SIGMA, prior=[12, 1, 1, 1, 1, 1, 1])


@pytest.fixture(scope="module")
def linear() -> sb.Structure:
    features = [[2.0, 1.0], [1.0, 1.5], [3.0, -1.0], [0.2, 0.1]]
    return sb.Structure.linear(features, sb.Box([(-1, 1), (-1, 1)], points=9), sigma=1.5)


def curves(**options: object) -> sb.Structure:
    functions = {
        "up": lambda x: 2 * x - 0.1 * x**2,
        "down": lambda x: 3 - x**2 / 3,
        "slow": lambda x: 1 + 0.5 * x,
        "fast": lambda x: 4 - 3 * x,
    }
    return sb.Structure.from_functions(
        functions, sb.Interval(0, 3, points=301), sigma=SIGMA, **options
    )  # type: ignore[arg-type]


def test_posterior_sampling(table: sb.Structure) -> None:
    policy = sb.PosteriorSampling().start(table, seed=1)
    assert table.prior is not None
    prior = table.prior
    assert_twins(policy, 7, lambda seen: plain.posterior_sampling(table.means, SIGMA, prior, seen))


def test_posterior_sampling_without_the_structures_prior(table: sb.Structure) -> None:
    policy = sb.PosteriorSampling(uniform_prior=True).start(table, seed=1)
    even = np.full(25, 1 / 25)
    assert_twins(policy, 7, lambda seen: plain.posterior_sampling(table.means, SIGMA, even, seen))


def test_posterior_sampling_of_costs(table: sb.Structure) -> None:
    costs = table.with_(minimize=True)
    policy = sb.PosteriorSampling().start(costs, seed=1)
    assert costs.prior is not None
    prior = costs.prior
    assert_twins(policy, 7, lambda seen: plain.posterior_sampling(-costs.means, SIGMA, prior, seen))


def test_posterior_pulls_as_often_as_it_says(table: sb.Structure) -> None:
    """4,000 pulls in one state; error rate 1e-4 (chi-square), seed 3."""
    from tests.statistical.agreement import assert_frequencies

    policy = sb.PosteriorSampling().start(table, seed=3)
    policy.update("1", 0.3)
    shares = policy.probabilities()
    pulled = [policy.pull() for _ in range(4000)]
    assert_frequencies([pulled.count(arm) for arm in shares], list(shares.values()))


def test_ids_minimises_the_information_ratio(safe_or_better: sb.Structure) -> None:
    table = safe_or_better
    policy = sb.IDS().start(table, seed=1)
    assert table.prior is not None
    mixed = 0
    for seen, shares in states(policy, 0, steps=40):
        regret, gain = plain.regret_and_gain(table.means, SIGMA, table.prior, seen)
        share = shares[seen.allowed]
        assert abs(shares.sum() - 1) < 1e-9
        assert (share > 0).sum() <= 2
        if gain.max() <= table.tolerance**2:
            assert share[regret.argmin()] == 1.0
            continue
        ratio = (share @ regret) ** 2 / (share @ gain)
        assert ratio <= plain.least_ratio(regret, gain) * (1 + 1e-6) + 1e-12
        mixed += int((share > 0).sum() == 2)
    assert mixed > 3


def test_ids_pulls_as_often_as_it_says(safe_or_better: sb.Structure) -> None:
    """4,000 pulls in one state; error rate 1e-4 (chi-square), seed 3."""
    from tests.statistical.agreement import assert_frequencies

    table = safe_or_better
    policy = sb.IDS().start(table, seed=3)
    shares = policy.probabilities()
    assert max(shares.values()) < 1.0
    pulled = [policy.pull() for _ in range(4000)]
    assert_frequencies([pulled.count(arm) for arm in shares], list(shares.values()))


def test_joint_set_and_the_arms_it_leaves(table: sb.Structure) -> None:
    policy = sb.Competitive(sb.UCB(), alpha=0.5, confidence="joint").start(table, seed=1)
    sizes = set()
    for seen, shares in states(policy, 7):
        mask = plain.joint_set(table.means, SIGMA, 0.5, seen)
        np.testing.assert_array_equal(policy.confidence_set.mask, mask)
        sizes.add(int(mask.sum()))
        inside = table.means[mask][:, seen.allowed]
        candidates = seen.allowed[np.unique(inside.argmax(axis=1))]
        with np.errstate(divide="ignore", invalid="ignore"):
            index = seen.means + np.sqrt(3) * np.sqrt(2 * seen.log_t) * SIGMA / np.sqrt(seen.counts)
        index = np.where(seen.counts > 0, index, np.inf)
        narrowed = Seen(seen.counts, seen.sums, candidates)
        np.testing.assert_allclose(shares, plain.one_of_the_largest(index, narrowed), atol=1e-9)
    assert len(sizes) > 5
    assert policy.empty_rounds == 0


def test_linear_greedy(linear: sb.Structure) -> None:
    policy = sb.LinearGreedy().start(linear, seed=1)
    points, features = linear.parameters.points, linear.features
    assert points is not None
    assert features is not None
    sigma, nothing = linear.sigma, np.zeros(4)
    assert_twins(
        policy,
        (0.5, 0.3),
        lambda seen: plain.linear_greedy(points, features, nothing, sigma, seen),
    )


def test_linear_greedy_with_a_constant_in_each_arm() -> None:
    slopes, offsets = np.array([[1.0], [-1.0], [0.5], [0.0]]), np.array([0.0, 1.5, 0.3, 0.7])
    theta = np.linspace(0, 3, 31)
    known = sb.Structure.from_table(
        offsets + theta[:, None] * slopes.T, sb.Finite(theta.tolist()), sigma=SIGMA
    )
    assert_twins(
        sb.LinearGreedy().start(known, seed=1),
        0.8,
        lambda seen: plain.linear_greedy(theta[:, None], slopes, offsets, SIGMA, seen),
    )


def test_oful(linear: sb.Structure) -> None:
    policy = sb.OFUL(delta=0.05, ridge=0.3).start(linear, seed=1)
    features = linear.features
    assert features is not None
    assert_twins(
        policy,
        (0.5, 0.3),
        lambda seen: plain.oful(features, 1.5, np.sqrt(2.0), 0.05, 0.3, seen),
    )


def test_oful_of_costs_is_oful_of_the_negated_features(linear: sb.Structure) -> None:
    features = linear.features
    assert features is not None
    assert_twins(
        sb.OFUL().start(linear.with_(minimize=True), seed=1),
        (0.5, 0.3),
        lambda seen: plain.oful(-features, 1.5, np.sqrt(2.0), 0.01, 1.0, seen),
    )


def test_glm_ucb(linear: sb.Structure) -> None:
    policy = sb.GLMUCB(alpha=2.0).start(linear, seed=1)
    features = linear.features
    assert features is not None
    sigma = linear.sigma
    assert_twins(policy, (0.5, 0.3), lambda seen: plain.glm_ucb(features, sigma, 2.0, seen))


@pytest.mark.parametrize("costs", [False, True])
def test_glm_ucb_with_the_logistic_link(costs: bool) -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [-0.5, 0.2]])
    known = sb.Structure.linear(
        features,
        sb.Box([(-1, 1), (-1, 1)], points=9),
        sigma=0.5,
        link="logistic",
        minimize=costs,
    )
    ranges = np.stack([known.means.min(axis=0), known.means.max(axis=0)], axis=1)
    sigma = known.sigma

    def twin(seen: Seen) -> np.ndarray:
        if not costs:
            return plain.glm_ucb(features, sigma, 0.01, seen, ranges)
        # A cost of mean g(z) is a gain of mean -g(z) = g(-z) - 1: the shift changes no decision.
        shifted = Seen(seen.counts, seen.sums + seen.counts, seen.allowed)
        return plain.glm_ucb(-features, sigma, 0.01, shifted, 1 - ranges[:, ::-1])

    assert_twins(sb.GLMUCB(alpha=0.01).start(known, seed=1), (0.5, 0.3), twin)


def test_glm_ucb_is_ucb_for_orthogonal_arms() -> None:
    known = sb.Structure.linear(
        np.diag([1.0, 2.0, 0.5]), sb.Box([(-1, 1)] * 3, points=3), sigma=0.8
    )
    glm, ucb = sb.GLMUCB().start(known, seed=1), sb.UCB().start(known, seed=1)
    generator = np.random.default_rng(0)
    for _ in range(60):
        assert glm.probabilities() == pytest.approx(ucb.probabilities())
        arm, reward = int(generator.integers(3)), float(generator.normal())
        glm.update(arm, reward)
        ucb.update(arm, reward)


def test_wagp() -> None:
    known = curves()
    theta = known.parameters.axes[0]
    assert_twins(
        sb.WAGP().start(known, seed=1),
        0.9,
        lambda seen: plain.regional(theta, known.means, [[0, 1, 2, 3]], seen),
    )


def test_wagp_on_a_finite_set_takes_the_nearest_member() -> None:
    theta = np.array([0.0, 0.4, 1.0, 1.3, 2.2, 3.0])
    means = np.stack([theta, 3 - theta, 0.5 * theta + 1, 1 + theta**2 / 9], axis=1)
    known = sb.Structure.from_table(means, sb.Finite(theta.tolist()), sigma=SIGMA)
    assert_twins(
        sb.WAGP().start(known, seed=1),
        1.0,
        lambda seen: plain.regional(theta, means, [[0, 1, 2, 3]], seen, between=False),
    )


def test_ucb_g_finds_its_constants_in_the_curves() -> None:
    known = curves()
    theta = known.parameters.axes[0]
    slopes = np.abs(np.diff(known.means, axis=0) / np.diff(theta)[:, None])
    groups = [[0, 2], [1, 3]]
    radius = [
        (np.sqrt(2.0) * SIGMA[group].max(), slopes[:, group].min(), slopes[:, group].max(), 1.0)
        for group in groups
    ]
    policy = sb.UCBG(alpha=2.0, groups=(("up", "slow"), ("down", "fast"))).start(known, seed=1)
    assert_twins(policy, 0.9, lambda seen: plain.regional(theta, known.means, groups, seen, radius))


def test_ucb_g_with_given_hoelder_constants() -> None:
    known = curves()
    theta = known.parameters.axes[0]
    groups = [[0, 1], [2], [3]]
    radius = [(np.sqrt(3.0) * SIGMA[group].max(), 0.4, 1.7, 0.8 / 1.25) for group in groups]
    policy = sb.UCBG(
        groups=(("up", "down"), ("slow",), ("fast",)), d1=0.4, d2=1.7, gamma1=1.25, gamma2=0.8
    ).start(known, seed=1)
    assert_twins(policy, 0.9, lambda seen: plain.regional(theta, known.means, groups, seen, radius))


@pytest.mark.parametrize(("gamma", "epsilon"), [(0.0, 0.01), (0.5, 0.6)])
def test_ossb(gamma: float, epsilon: float) -> None:
    # Whole numbers, so that rivals which agree on the best arm's mean exist.
    generator = np.random.default_rng(2)
    means = generator.integers(0, 4, size=(20, 4)) + np.array([0.0, 0.1, 0.2, 0.3])
    known = sb.Structure.from_table(means, sigma=SIGMA)
    rates = np.array([plain.lower_bound_rates(means, SIGMA, row) for row in range(20)])
    assert (rates.max(axis=1) > 0).sum() > 5
    assert_twins(
        sb.OSSB(gamma=gamma, epsilon=epsilon).start(known, seed=1),
        3,
        lambda seen: plain.ossb(means, SIGMA, gamma, epsilon, seen),
        steps=300,
    )


@pytest.fixture(scope="module")
def hypotheses() -> sb.Structure:
    """Some θ agree on arm 1, the best one of most of them, and some are far away."""
    generator = np.random.default_rng(13)
    means = generator.normal(0.0, 0.5, size=(14, 4))
    means[:9, 0] = 1.0
    means[4, 1], means[5, 2], means[6, 3], means[7, 1] = 1.4, 1.3, 1.7, 1.9
    means[9:, 0] = [0.3, 0.6, 1.6, 1.9, 2.2]
    return sb.Structure.from_table(means, sigma=SIGMA / 2)


@pytest.mark.parametrize("theta", [0, 2, 5, 12])
def test_crop(hypotheses: sb.Structure, theta: int) -> None:
    known = hypotheses.with_(sigma=2 * SIGMA)
    twin = plain.Crop(known.means, known.sigma)
    policy = sb.CROP().start(known, seed=1)
    for seen, shares in states(policy, theta, steps=80):
        np.testing.assert_allclose(shares, twin(seen), atol=1e-9)


def test_every_branch_of_crop_is_compared(hypotheses: sb.Structure) -> None:
    """CROP chooses for itself at two θ, and meets all four branches."""
    table, sigma, branches = hypotheses.means, hypotheses.sigma, set()
    twin, generator = plain.Crop(table, sigma), np.random.default_rng(14)
    for theta in (1, 2):
        policy = sb.CROP().start(hypotheses, seed=1)
        counts, sums = np.zeros(4), np.zeros(4)
        for _ in range(160):
            expected = twin(Seen(counts.copy(), sums.copy(), np.arange(4)))
            branches.add(twin.branch)
            assert list(policy.probabilities().values()) == pytest.approx(expected, abs=1e-9)
            arm = int(policy.pull()) - 1
            reward = table[theta, arm] + sigma[arm] * generator.standard_normal()
            policy.update(arm, reward)
            counts[arm] += 1
            sums[arm] += reward
    assert branches == {"exploit", "conflict", "feasible", "fallback"}


def test_crop_of_costs(hypotheses: sb.Structure) -> None:
    costs = hypotheses.with_(minimize=True)
    twin = plain.Crop(-costs.means, costs.sigma)
    assert_twins(sb.CROP().start(costs, seed=1), 3, twin, steps=60)


def test_crop_resolves_a_conflict_first() -> None:
    """The first two θ ask for different exploration; arm 2 tells them apart, arm 3 does not."""
    means = np.array([[1.0, 0.0, 0.3], [1.0, 0.8, 0.3], [1.0, 0.4, 1.2], [1.0, 1.3, 0.3]])
    known = sb.Structure.from_table(means, sigma=1.0)
    policy, twin = sb.CROP().start(known, seed=1), plain.Crop(means, np.ones(3))
    nothing = np.zeros(3)
    assert list(twin(Seen(nothing, nothing, np.arange(3)))) == [0.5, 0.5, 0.0]
    assert twin.branch == "conflict"
    assert list(policy.probabilities().values()) == [0.5, 0.5, 0.0]
    for seen, shares in states(policy, 1, steps=60):
        np.testing.assert_allclose(shares, twin(seen), atol=1e-9)
