"""One decision for each of many subjects at once, from their stored statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits._compiled import addresses_of, new_generator
from structuredbandits.confidence.evidence import new_block
from structuredbandits.errors import InvalidInput, InvalidPolicy, InvalidReward
from structuredbandits.policies.arguments import allowed_arms, read_horizon
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
    if getattr(algorithm, "foreign", None) is not None:
        raise InvalidPolicy(
            f"{algorithm!r} chooses with a Python object, whose memory no statistics hold; give "
            "an algorithm such as Competitive(UCB())."
        )
    algorithm.check(structure)
    rounds = read_horizon(horizon)
    allowed = allowed_arms(structure, arms)
    blocks = _blocks(structure, counts, sums, squares, pending)
    if algorithm.needs_unit_rewards:
        _check_unit_sums(algorithm, structure.sign * blocks[:, 1], blocks[:, 0])
    decided = (blocks[:, 0] + blocks[:, 5]).sum(axis=1).astype(np.int64)
    generator = seed if isinstance(seed, np.random.Generator) else new_generator(seed)
    agent = algorithm.agent(structure, int(decided.max(initial=0)) + 2, rounds)
    memory = algorithm.memory(structure)
    chosen = decide_many(agent, memory, blocks, decided, rounds, allowed, addresses_of(generator))
    return np.asarray(chosen)


def _blocks(
    structure: Structure,
    counts: ArrayLike,
    sums: ArrayLike,
    squares: ArrayLike | None,
    pending: ArrayLike | None,
) -> np.ndarray:
    """The subjects' evidence: (subjects, rows, arms)."""
    seen = _numbers("counts", counts)
    if seen.ndim != 2 or seen.shape[1] != structure.n_arms:
        raise InvalidInput(
            f"counts has shape {seen.shape}; give (subjects, {structure.n_arms}) numbers."
        )
    blocks = np.repeat(new_block(structure.sigma)[None], len(seen), axis=0)
    given = {
        0: ("counts", seen),
        1: ("sums", sums),
        2: ("squares", squares),
        5: ("pending", pending),
    }
    for row, (name, values) in given.items():
        numbers = np.zeros_like(seen) if values is None else _numbers(name, values)
        if numbers.shape != seen.shape or not np.isfinite(numbers).all():
            raise InvalidInput(f"{name} must be {seen.shape} finite numbers, as counts are.")
        if name != "sums" and (numbers < 0).any():
            raise InvalidInput(f"{name} has a negative number; all must be at least 0.")
        blocks[:, row] = structure.sign * numbers if name == "sums" else numbers
    return blocks


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name} are not numbers; give a row a subject, a number an arm."
        ) from None


def _check_unit_sums(algorithm: Algorithm, sums: np.ndarray, counts: np.ndarray) -> None:
    wrong = (sums < 0.0) | (sums > counts)
    if wrong.any():
        raise InvalidReward(
            f"a sum is {sums[wrong][0]:g} for {counts[wrong][0]:g} rewards, but {algorithm.label} "
            "needs rewards between 0 and 1; scale them, or use an algorithm such as ts or kl-ucb."
        )
