"""Worlds that a structure allows: true means drawn from what is known of them, with rewards."""

from __future__ import annotations

import numpy as np

from structuredbandits.environments import Environment, Gaussian, default_environment
from structuredbandits.policies.structured.belief import prior_of
from structuredbandits.policies.structured.hierarchical_model import reward_variance
from structuredbandits.structure import Finite, FloatArray, Structure
from structuredbandits.structure.shrinkage import shrink

# A squared standard error this near to (variance of a reward) / count is that of a plain mean.
_SAME = 1e-5


def believed_means(structure: Structure) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of the true means at every θ: (parameters, arms) each.

    Plain means of segments contain their sampling noise: spread around them, true means would
    differ more between segments than they do. Such cells are therefore first moved towards the
    mean of their arm, as ``estimate="shrink"`` does. Means that are shrunken already, and those
    without counts, are used as they are.

    Examples
    --------
    >>> noisy = Structure.from_table([[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0]], sigma=2.0,
    ...     counts=np.full((3, 2), 1), standard_errors=np.full((3, 2), 2.0))
    >>> believed_means(noisy)[0][:, 0].round(1)
    array([ 0. ,  1.1, -1.1])
    """
    errors, counts = structure.standard_errors, structure.counts
    if errors is None:
        return structure.means, np.zeros(structure.means.shape)
    if counts is None or structure.parameters.continuous:
        return structure.means, errors
    variance = reward_variance(structure)
    plain = (counts > 0) & np.isclose(errors**2 * counts, variance, rtol=_SAME, atol=0.0)
    means, deviations = structure.means.copy(), errors.copy()
    for arm in range(structure.n_arms):
        rows = plain[:, arm]
        if rows.sum() > 1:
            moved = shrink(structure.means[rows, arm], errors[rows, arm] ** 2)
            means[rows, arm], deviations[rows, arm] = moved
    return means, deviations


def draw_true_means(structure: Structure, runs: int, seed: int) -> FloatArray:
    """Draw true means that the structure allows: (runs, arms).

    θ is drawn from the prior (or the grid weights); means are drawn from `believed_means`, or
    evenly between bounds, within the limits of the rewards.

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=1.0, prior=[1, 0])
    >>> draw_true_means(known, runs=2, seed=0)
    array([[1., 0.], [1., 0.]])
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 1,)))
    weights = prior_of(structure)
    drawn = generator.choice(structure.n_parameters, size=runs, p=weights / weights.sum())
    centres, deviations = believed_means(structure)
    half = 0.5 * (structure.upper[drawn] - structure.lower[drawn])
    means = centres[drawn] + (2.0 * generator.random(half.shape) - 1.0) * half
    if structure.standard_errors is not None:
        means += deviations[drawn] * generator.standard_normal(means.shape)
    if structure.rewards.limited:
        means = np.clip(means, structure.rewards.low, structure.rewards.high)
    return np.asarray(means)


def worlds(structure: Structure, means: FloatArray) -> Environment:
    """Return rewards around true means (worlds, arms), of the structure's family; θ is the row."""
    noise = np.sqrt(reward_variance(structure))
    truths = Structure.from_table(
        means,
        Finite(range(len(means))),
        structure.arms,
        sigma=structure.sigma,
        minimize=structure.minimize,
        rewards=structure.rewards,
        noise=noise,
    )
    if structure.rewards.limited:
        return default_environment(truths)
    return Gaussian(truths, sigma=noise.tolist())
