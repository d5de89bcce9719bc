"""One decision for each of many subjects at once, from their stored statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits._compiled import addresses_of, new_generator
from structuredbandits.confidence.evidence import new_block
from structuredbandits.errors import InvalidInput
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.policies.steps import decide_many

if TYPE_CHECKING:
    from structuredbandits.policies.algorithm import Algorithm
    from structuredbandits.structure import Structure


def pull_many(
    policy: str | Algorithm,
    structure: Structure,
    counts: ArrayLike,
    sums: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    pending: ArrayLike | None = None,
    arms: Sequence[str | int] | None = None,
    horizon: int | None = None,
    seed: int | np.random.Generator | None = None,
) -> np.ndarray:
    """Choose an arm for each of many subjects.

    Parameters
    ----------
    policy, structure
        As in `make_policy`.
    counts, sums : (subjects, arms)
        Rewards received of each arm, and their sum.
    squares : (subjects, arms), optional
        Sums of squared rewards, for the algorithms that use the variance.
    pending : (subjects, arms), optional
        Pulls whose reward has not come yet.
    arms
        Allowed arms; all if None.
    horizon, seed
        As in `make_policy`.

    Returns
    -------
    (subjects,) int array
        Positions in ``structure.arms``.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> structure = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=0.1)
    >>> pull_many("ucb-c", structure, counts=[[1, 0], [0, 1]], sums=[[1.0, 0], [0, 2.0]], seed=7)
    array([0, 1])
    """
    algorithm = make_algorithm(policy)
    algorithm.check(structure)
    seen = np.asarray(counts, dtype=float)
    if seen.ndim != 2 or seen.shape[1] != structure.n_arms:
        raise InvalidInput(
            f"counts has shape {seen.shape}; give (subjects, {structure.n_arms}) numbers."
        )
    zeros = np.zeros_like(seen)
    rows = {
        0: ("counts", seen),
        1: ("sums", structure.sign * np.asarray(sums, dtype=float)),
        2: ("squares", zeros if squares is None else np.asarray(squares, dtype=float)),
        5: ("pending", zeros if pending is None else np.asarray(pending, dtype=float)),
    }
    blocks = np.repeat(new_block(structure.sigma)[None], len(seen), axis=0)
    for row, (name, values) in rows.items():
        if values.shape != seen.shape or not np.isfinite(values).all():
            raise InvalidInput(f"{name} must be {seen.shape} finite numbers, as counts are.")
        if name != "sums" and (values < 0).any():
            raise InvalidInput(f"{name} has a negative number; all must be at least 0.")
        blocks[:, row] = values
    decided = (seen + rows[5][1]).sum(axis=1).astype(np.int64)
    rounds = int(max(decided.max(initial=0), seen.sum(axis=1).max(initial=0))) + 2
    allowed = np.arange(structure.n_arms)
    if arms is not None:
        allowed = np.array(sorted({structure.arm_index(arm) for arm in arms}), dtype=np.int64)
        if allowed.size == 0:
            raise InvalidInput("no arm is allowed; name at least one, or leave arms out for all.")
    generator = seed if isinstance(seed, np.random.Generator) else new_generator(seed)
    agent = algorithm.agent(structure, rounds, horizon or 0)
    memory = algorithm.memory(structure)
    chosen = decide_many(
        agent, memory, blocks, decided, horizon or 0, allowed, addresses_of(generator)
    )
    return np.asarray(chosen)
