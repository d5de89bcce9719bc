"""The hierarchical model of a learned structure, its means shrunk as far as noise warrants."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from structuredbandits.policies.structured.hierarchical_model import (
    ErrorModel,
    error_model,
    gaussian_model,
    implied_variance,
)
from structuredbandits.structure.shrinkage import shrink

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# Fewer θ say too little about how much an arm's means differ.
_FEWEST = 3


@lru_cache(maxsize=8)
def shrunken_model(
    structure: Structure, noise: float | None, use_prior: bool, doubt: float
) -> ErrorModel:
    """Tables of a structure, kept for the last few structures.

    Standard errors that are those of plain means (no counts, or count · error² is one number per
    arm) say how far each mean is moved to the overall mean of its arm. Others belong to means that
    were shrunk before, and stay. (doubt · standard error)² is added to the squared errors.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]], sigma=1.0,
    ...     standard_errors=[[0.9, 0.1], [0.9, 0.1], [0.1, 0.1]])
    >>> shrunken_model(known, None, True, 0.0).means[0].round(1)
    array([1.5, 2.5, 2. ])
    """
    if structure.rewards.is_bernoulli and noise is None:
        # Beta distributions are fitted across segments, which is the same shrinkage of rates.
        return error_model(structure, None, use_prior)
    model = gaussian_model(structure, noise, use_prior)
    if structure.standard_errors is None:
        return model
    means, errors = model.means, model.errors
    plain = structure.counts is None or implied_variance(structure) is not None
    if plain and structure.n_parameters >= _FEWEST:
        means, errors = np.empty_like(means), np.empty_like(errors)
        for arm in range(structure.n_arms):
            means[arm], errors[arm] = _shrunken(model.means[arm], model.errors[arm])
    return model._replace(means=means, errors=errors + doubt * doubt * model.errors)


def _shrunken(means: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of one arm after shrinkage; exact means stay."""
    noisy = variances > 0.0
    if not noisy.any() or (means == means[0]).all():
        return means, variances
    least = np.finfo(float).eps * (np.square(means - means.mean()).max() + variances.max())
    moved, deviations = shrink(means, np.maximum(variances, least))
    return np.where(noisy, moved, means), np.where(noisy, np.square(deviations), variances)
