"""Each arm's mean over the whole population: what is known of an arm without any θ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits.policies.structured.hierarchical_model import model_with_bounds

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class Population(NamedTuple):
    """The belief about each arm's true mean before any reward; costs are negated."""

    means: np.ndarray  # (arms,)
    variances: np.ndarray  # (arms,)
    noise: np.ndarray  # (arms,) variance of one reward


def population_of(structure: Structure, noise: float | None = None) -> Population:
    """Mean and variance of every arm's true mean, over θ and over the structure's errors.

    θ has the structure's prior; the variance is that between θ plus the mean squared standard
    error (for bounds, of a uniform distribution between them).

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0, prior=[3, 1],
    ...     standard_errors=[[0.5, 0.5], [0.5, 0.5]])
    >>> population_of(known).means, population_of(known).variances
    (array([0.75, 0.5 ]), array([0.4375, 1.    ]))
    """
    model = model_with_bounds(structure, noise)
    prior = np.exp(model.log_prior)
    means = model.means @ prior
    between = (model.means - means[:, None]) ** 2
    return Population(means, (between + model.errors) @ prior, model.noise)
