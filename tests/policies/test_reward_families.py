"""Classical policies on structures whose rewards are Bernoulli or bounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.policies.max_of_betas import largest_of_betas
from tests.plain import classical
from tests.plain.classical import Choose
from tests.plain.random_problems import World, compare, limited_worlds
from tests.plain.run import PlainRun, Rule
from tests.statistical.agreement import assert_share

CLICKS = sb.Structure.from_table([[0.1, 0.3], [0.3, 0.1]], arms=["a", "b"], rewards="bernoulli")
SALES = sb.Structure.from_table(
    [[4.0, 6.0], [10.0, 3.0]], arms=["a", "b"], rewards="bernoulli", prize=[20, 30]
)
STARS = sb.Structure.from_table(
    [[2.0, 4.5]], arms=["a", "b"], rewards="bounded", limits=(1, 5), noise=[0.5, 1.0]
)


def pair(name: str, world: World, width: float) -> tuple[sb.Algorithm, Choose]:
    """A policy and its plain twin, with the likelihood of the structure's family."""
    facts, bernoulli = world.facts, world.structure.rewards.is_bernoulli
    limits = facts.limits
    made: dict[str, tuple[sb.Algorithm, Choose]] = {
        "ts": (
            sb.ThompsonSampling(beta=width),
            classical.thompson_beta(limits=limits, beta=width)
            if bernoulli
            else classical.thompson(width),
        ),
        "kl-ucb": (
            sb.KLUCB(c=width),
            classical.kl_ucb_bernoulli(width, limits=limits)
            if bernoulli
            else classical.kl_ucb(width),
        ),
        "ts-beta": (sb.ThompsonBeta(), classical.thompson_beta(limits=limits)),
        "kl-ucb-bernoulli": (
            sb.KLUCBBernoulli(c=width),
            classical.kl_ucb_bernoulli(width, limits=limits),
        ),
    }
    return made[name]


@pytest.mark.parametrize("name", ["ts", "kl-ucb", "ts-beta", "kl-ucb-bernoulli"])
@settings(max_examples=40)
@given(world=limited_worlds(), width=st.sampled_from([0.3, 1.0, 2.0]), around=st.booleans())
def test_every_decision_is_the_twins(name: str, world: World, width: float, around: bool) -> None:
    algorithm, choose = pair(name, world, width)
    rule = Rule("c", choose, 3.0017) if around else Rule("classical", choose)
    if around:
        algorithm = sb.Competitive(algorithm, alpha=3.0017)
    policy = algorithm.start(world.structure, seed=5)
    compare(policy, PlainRun(rule, world.facts, 5), world, rounds=40)


@pytest.mark.parametrize(("name", "other"), [("ts", "ts-beta"), ("kl-ucb", "kl-ucb-bernoulli")])
@pytest.mark.parametrize("known", [CLICKS, SALES, CLICKS.with_(minimize=True)])
def test_on_clicks_a_gaussian_policy_is_the_bernoulli_one(
    name: str, other: str, known: sb.Structure
) -> None:
    rng = np.random.default_rng(1)
    for suffix in ("", "-c"):
        first = sb.make_policy(name + suffix, known, seed=3)
        second = sb.make_policy(other + suffix, known, seed=3)
        for _ in range(100):
            arm = first.pull()
            assert second.pull() == arm
            reward = known.rewards.high[0 if arm == "a" else 1] * (rng.random() < 0.3)
            first.update(arm, reward)
            second.update(arm, reward)
        assert first.probabilities() == second.probabilities()


def test_the_noise_of_bounded_rewards_is_their_standard_deviation() -> None:
    """Two arms with one reward each: a difference of 1 with deviations of 0.5 and 1."""
    policy = sb.make_policy("ts", STARS, seed=0)
    policy.update("a", 2.0)
    policy.update("b", 3.0)
    from scipy.stats import norm

    expected = norm.cdf(1.0 / np.sqrt(0.5**2 + 1.0**2))
    assert policy.probabilities()["b"] == pytest.approx(expected, abs=1e-6)
    many = sb.probabilities_many("ts", STARS, [[1, 1]], [[2.0, 3.0]])
    assert many[0, 1] == pytest.approx(expected, abs=1e-3)


def test_a_policy_for_unit_rewards_takes_prizes_and_stars() -> None:
    for known, reward in ((SALES, 20.0), (STARS, 4.0)):
        for name in ("ts-beta", "kl-ucb-bernoulli"):
            policy = sb.make_policy(name, known, seed=0)
            policy.update("a", reward)
            assert policy.means[0] == reward
    results = sb.simulate(SALES, ["ts", "ts-beta"], theta=0, horizon=20, runs=2, progress="off")
    assert len(results.summary()) == 2


def test_shares_with_prizes_are_those_of_draws() -> None:
    """Two-sided, 20,000 draws with seed 7; the error rate of `assert_share` per arm."""
    won, lost = np.array([2.0, 2.0, 1.5]), np.array([1.0, 2.0, 30.0])
    prizes, offsets = np.array([20.0, 30.0, 200.0]), np.array([-5.0, -10.0, 0.0])
    shares = largest_of_betas(won, lost, offsets, prizes)
    draws = offsets + prizes * np.random.default_rng(7).beta(won, lost, (20_000, 3))
    for arm, share in enumerate(shares.tolist()):
        assert_share(int((draws.argmax(axis=1) == arm).sum()), 20_000, share)
