"""The normal distribution of kernels, against SciPy."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from structuredbandits.policies.normal_distribution import TAIL, chance_and_density


def test_it_is_the_normal_distribution() -> None:
    points = np.concatenate(
        [
            np.random.default_rng(5).uniform(TAIL, 8.5, 20_000),
            np.arange(TAIL, 8.5, 1.0 / 128.0),  # the table's points, and those farthest from them
        ]
    )
    found = np.array([chance_and_density.py_func(point) for point in points])
    np.testing.assert_allclose(found[:, 0], norm.cdf(points), rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], norm.pdf(points), rtol=1e-12)
    assert chance_and_density.py_func(30.0) == (1.0, 0.0)
