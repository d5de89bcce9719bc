"""The shares of pulls that distinguish a θ soonest from all θ with another best arm."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from structuredbandits._compiled.lazy_rows import LazyTable
from structuredbandits.errors import StructuredBanditsError
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
        Equal shares if there is no rival.

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=1.0)
    >>> best_weights(known, 0)
    array([0., 1.])
    """
    best = int(structure.optimal[parameter].argmax())
    rivals = structure.means[~structure.optimal[:, best]]
    information = (structure.means[parameter] - rivals) ** 2 / (2.0 * structure.sigma**2)
    return maximin_shares(information, structure.n_arms)


def maximin_shares(information: np.ndarray, n_arms: int) -> np.ndarray:
    """Shares that maximise the smallest Σ_k share_k information_k over the rows.

    Without rows the shares are equal.

    Parameters
    ----------
    information
        (rivals, arms): information of one reward of each arm against each rival.
    """
    if len(information) == 0:
        return np.full(n_arms, 1.0 / n_arms)
    return _solve(information / information.max(axis=1).min())


def _solve(information: np.ndarray) -> np.ndarray:
    from scipy.optimize import linprog

    n_rivals, n_arms = information.shape
    # Variables w and z: maximise z such that Σ_k w_k information_k ≥ z for every rival.
    found = linprog(
        np.concatenate([np.zeros(n_arms), [-1.0]]),
        A_ub=np.column_stack([-information, np.ones(n_rivals)]),
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
def weights_on_demand(structure: Structure) -> LazyTable:
    """The shares at every θ, computed when a θ is first estimated."""
    return LazyTable(
        structure.n_parameters, structure.n_arms, lambda row: best_weights(structure, row)
    )
