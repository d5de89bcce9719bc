"""How much a reward varies, as the hierarchical policies take it from a structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.policies.structured.hierarchical_model import reward_variance


def test_noise_comes_from_counts_and_errors_of_plain_means() -> None:
    counts = np.array([[4.0, 9.0], [25.0, 1.0], [0.0, 16.0]])
    with np.errstate(divide="ignore"):
        errors = np.where(counts > 0, 0.6 / np.sqrt(counts), 0.7)
    known = {"sigma": 2.0, "counts": counts}
    table = np.arange(6.0).reshape(3, 2)
    structure = sb.Structure.from_table(table, standard_errors=errors, **known)
    np.testing.assert_allclose(reward_variance(structure), 0.36)
    per_arm = sb.Structure.from_table(table, standard_errors=errors * [1.0, 3.0], **known)
    np.testing.assert_allclose(reward_variance(per_arm), [0.36, 3.24])
    np.testing.assert_allclose(reward_variance(per_arm, noise=0.5), 0.25)


def test_noise_is_sigma_where_there_are_no_counts_or_errors() -> None:
    without = sb.Structure.from_table([[1.0, 0.0]], sigma=[1.0, 2.0])
    np.testing.assert_allclose(reward_variance(without), [1.0, 4.0])
    exact = sb.Structure.from_table(
        [[1.0, 0.0]], sigma=[1.0, 2.0], counts=[[3, 3]], standard_errors=[[0.0, 0.0]]
    )
    np.testing.assert_allclose(reward_variance(exact), [1.0, 4.0])


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    """Rewards of known noise, 1 for arm a and 3 for arm b, in cells of very different sizes."""
    generator = np.random.default_rng(20)
    parts = []
    for segment in range(30):
        for arm, noise in (("a", 1.0), ("b", 3.0)):
            number = 3 + int(generator.integers(0, 60))
            rewards = generator.normal(0.2 * generator.normal(), noise, number)
            parts.append(pd.DataFrame({"who": segment, "arm": arm, "paid": rewards}))
    return pd.concat(parts, ignore_index=True)


class TestNoiseOfLearnedStructures:
    def learn(self, log: pd.DataFrame, **options: Any) -> sb.Structure:
        return sb.learn_structure(log, arm="arm", reward="paid", segment="who", **options)

    @pytest.mark.parametrize("estimate", ["raw", "shrink", "bounds"])
    @pytest.mark.parametrize("sigma", [None, "per-arm"])
    def test_is_what_the_rewards_show(
        self, log: pd.DataFrame, estimate: str, sigma: str | None
    ) -> None:
        """Over 1,700 rewards the variance is known to 4 %; six of these are allowed."""
        structure = self.learn(log, estimate=estimate, sigma=sigma)
        expected = [1.0, 9.0] if sigma == "per-arm" else [5.0, 5.0]
        np.testing.assert_allclose(reward_variance(structure), expected, rtol=0.25)
        np.testing.assert_allclose(reward_variance(structure), structure.sigma**2)

    def test_is_not_the_bound_that_sigma_may_be(self, log: pd.DataFrame) -> None:
        structure = self.learn(log, estimate="raw", sigma="range")
        assert structure.sigma.min() > 5.0
        np.testing.assert_allclose(reward_variance(structure), 5.0, rtol=0.25)

    def test_is_never_less_because_means_were_shrunken(self, log: pd.DataFrame) -> None:
        """Shrunken errors are smaller than noise / √count, and would pass for less noise."""
        structure = self.learn(log, estimate="shrink")
        assert structure.counts is not None
        assert structure.standard_errors is not None
        implied = structure.counts * structure.standard_errors**2
        assert np.median(implied) < 0.5 * structure.sigma[0] ** 2
        np.testing.assert_allclose(reward_variance(structure), structure.sigma**2)

    def test_cells_that_were_filled_say_nothing(self, log: pd.DataFrame) -> None:
        sparse = log[~((log["who"] == 3) & (log["arm"] == "b"))]
        structure = self.learn(sparse, empty="arm-mean", min_count=8)
        np.testing.assert_allclose(reward_variance(structure), structure.sigma**2)
