"""How to divide pulls among arms so that a θ is told from all θ with another best arm soonest."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.policies.structured.hand_back import RowsOnDemand
from structuredbandits.structure import Structure


def best_weights(structure: Structure, parameter: int) -> np.ndarray:
    """Shares of pulls that maximise the information against the hardest rival.

    w = argmax over the simplex of min over λ of Σ_k w_k (mu_k(θ) − mu_k(λ))² / (2 sigma_k²), where
    λ runs over the θ at which the best arm of θ is not the best.

    Parameters
    ----------
    structure
        What is known.
    parameter
        Position of θ in Θ.

    Returns
    -------
    (arms,) array
        Even shares if there is no rival.

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=1.0)
    >>> best_weights(known, 0)
    array([0., 1.])
    """
    best = int(structure.optimal[parameter].argmax())
    rivals = structure.means[~structure.optimal[:, best]]
    n_arms = structure.n_arms
    if len(rivals) == 0:
        return np.full(n_arms, 1.0 / n_arms)
    told = (structure.means[parameter] - rivals) ** 2 / (2.0 * structure.sigma**2)
    return _solve(told / told.max(axis=1).min())


def _solve(told: np.ndarray) -> np.ndarray:
    from scipy.optimize import linprog

    n_rivals, n_arms = told.shape
    # Of the variables w and z, z is made as large as Σ_k w_k told_k ≥ z allows for every rival.
    found = linprog(
        np.concatenate([np.zeros(n_arms), [-1.0]]),
        A_ub=np.column_stack([-told, np.ones(n_rivals)]),
        b_ub=np.zeros(n_rivals),
        A_eq=np.concatenate([np.ones(n_arms), [0.0]])[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * n_arms + [(None, None)],
        method="highs",
    )
    if found.x is None:
        raise StructuredBanditsError(
            f"the best shares of pulls could not be computed ({found.message}); rescale the means."
        )
    shares = np.maximum(found.x[:n_arms], 0.0)
    return np.asarray(shares / shares.sum())


@lru_cache(maxsize=8)
def weights_on_demand(structure: Structure) -> RowsOnDemand:
    """The shares at every θ, computed when a θ is first estimated."""
    return RowsOnDemand(
        structure.n_parameters, structure.n_arms, lambda row: best_weights(structure, row)
    )
