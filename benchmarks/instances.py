"""The structures that the benchmarks use: smooth random means, reproducible from NumPy's seed 0."""

from __future__ import annotations

import numpy as np

import structuredbandits as sb

SIGMA = 2.0


def smooth_structure(n_arms: int, n_parameters: int) -> sb.Structure:
    """mu_k(θ) = 2.5 + Σ_j c_kj sin(jθ/2 + φ_kj)/1.5 for j = 1..4, on an even grid over [0, 6]."""
    generator = np.random.default_rng(0)
    weights = generator.normal(size=(n_arms, 4))
    phases = generator.uniform(0, 6, size=(n_arms, 4))
    theta = np.linspace(0, 6, n_parameters)[:, None]
    means = np.full((n_parameters, n_arms), 2.5)
    for j in range(4):
        means += weights[:, j] * np.sin((j + 1) * theta / 2 + phases[:, j]) / 1.5
    return sb.Structure.from_table(means, sigma=SIGMA)


def rate_structures(
    n_arms: int, n_parameters: int, low: float, high: float
) -> tuple[sb.Structure, sb.Structure]:
    """The smooth means rescaled to rates: with normal rewards of σ = 1/2, and with 0/1 rewards."""
    smooth = smooth_structure(n_arms, n_parameters)
    shares = (smooth.means - smooth.means.min()) / np.ptp(smooth.means)
    rates = low + (high - low) * shares
    return (
        sb.Structure.from_table(rates, sigma=0.5),
        sb.Structure.from_table(rates, rewards="bernoulli"),
    )


def true_parameter(structure: sb.Structure) -> object:
    """θ* at a third of the grid."""
    return structure.parameters[structure.n_parameters // 3]
