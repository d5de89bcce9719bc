"""mTS and mmTS of "Latent bandits revisited" (Hong et al., NeurIPS 2020) are policies of ours.

Both papers' algorithms are written here as their pseudo-code has them, reward by reward: a weight
per latent state, multiplied by the likelihood of each reward.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import structuredbandits as sb

SIGMA = np.array([0.8, 1.2, 1.0])


@pytest.fixture(scope="module")
def latent() -> sb.Structure:
    generator = np.random.default_rng(31)
    means = generator.normal(size=(6, 3))
    errors = generator.uniform(0.1, 0.6, size=(6, 3))
    return sb.Structure.from_table(
        means, sigma=SIGMA, standard_errors=errors, prior=generator.uniform(1, 3, size=6)
    )


def rewards(rounds: int) -> list[tuple[int, float]]:
    generator = np.random.default_rng(32)
    return [(int(generator.integers(3)), float(generator.normal())) for _ in range(rounds)]


def largest_draw(means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Probability that each of some normal draws is the largest: (arms,)."""
    ends = means.min() - 9 * deviations.max(), means.max() + 9 * deviations.max()
    x = np.linspace(*ends, 4001)
    below = stats.norm.cdf(x[:, None], means, deviations)
    density = stats.norm.pdf(x[:, None], means, deviations)
    others = np.array([np.delete(below, arm, axis=1).prod(axis=1) for arm in range(len(means))])
    return np.asarray(np.trapezoid(density * others.T, x, axis=0))


def test_mts_is_posterior_sampling(latent: sb.Structure) -> None:
    """Draw the state from its posterior, pull the arm that is best in it."""
    assert latent.prior is not None
    policy, weights = sb.make_policy("mts", latent, seed=1), latent.prior.copy()
    best = latent.means.argmax(axis=1)
    for arm, reward in rewards(60):
        expected = [weights[best == k].sum() for k in range(3)]
        assert list(policy.probabilities().values()) == pytest.approx(expected, abs=1e-9)
        policy.update(arm, reward)
        weights *= stats.norm.pdf(reward, latent.means[:, arm], SIGMA[arm])
        weights /= weights.sum()


def test_mmts_is_the_hierarchical_policy(latent: sb.Structure) -> None:
    """Draw the state, then its uncertain model, and pull the arm with the best drawn mean.

    Each model of a state is a normal posterior per arm; the weight of a state is multiplied by the
    density of the reward that its models predict.
    """
    assert latent.prior is not None
    assert latent.standard_errors is not None
    policy, weights = sb.make_policy("mmts", latent, seed=1), latent.prior.copy()
    means, variances = latent.means.copy(), latent.standard_errors**2
    for arm, reward in rewards(40):
        expected = sum(
            weight * largest_draw(mean, np.sqrt(variance))
            for weight, mean, variance in zip(weights, means, variances, strict=True)
        )
        shares = np.array(list(policy.probabilities().values()))
        np.testing.assert_allclose(shares, expected, atol=1e-6)
        policy.update(arm, reward)
        noise = SIGMA[arm] ** 2
        predicted = np.sqrt(variances[:, arm] + noise)
        weights *= stats.norm.pdf(reward, means[:, arm], predicted)
        weights /= weights.sum()
        precision = 1 / variances[:, arm] + 1 / noise
        means[:, arm] = (means[:, arm] / variances[:, arm] + reward / noise) / precision
        variances[:, arm] = 1 / precision


def test_the_names_stand_for_the_policies() -> None:
    assert sb.make_algorithm("mTS") == sb.PosteriorSampling()
    assert sb.make_algorithm("mmts") == sb.Hierarchical()
    assert sb.make_algorithm("mmts(spread=2)").label == "hierarchical(spread=2)"
