"""A run as JSON: counts, sums, clock and generator; everything else follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structuredbandits.errors import DamagedFile, InvalidPolicy, WrongVersion
from structuredbandits.policies.run import Run
from structuredbandits.policies.run_arguments import (
    MOST_ROUNDS,
    arm_without_rewards,
    check_structure,
    too_large,
)

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

FORMAT = "structuredbandits.policy"
VERSION = 1
_STORED_ROWS = ("counts", "sums", "squares", "pending")


def state_of(run: Run) -> dict[str, Any]:
    """The run as plain JSON values."""
    from structuredbandits.policies.registry import algorithm_to_dict

    return {
        "format": FORMAT,
        "version": VERSION,
        "structure": run.structure.digest,
        "policy": algorithm_to_dict(run.algorithm),
        "arms": list(run.structure.arms),
        **run.state(),
    }


def resume(structure: Structure, saved: dict[str, Any]) -> Run:
    """The run that `state_of` described."""
    from structuredbandits.policies.registry import algorithm_from_dict

    check_structure(structure)
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise DamagedFile("this is not the state of a policy; give what state_dict() returned.")
    if saved.get("version") != VERSION:
        raise WrongVersion(
            f"the state has version {saved.get('version')!r}, this library reads {VERSION}; "
            "use the version that wrote it."
        )
    if saved.get("structure") != structure.digest:
        raise InvalidPolicy(
            "the state belongs to another structure; give the structure on which it was saved."
        )
    try:
        if saved["arms"] != list(structure.arms):
            raise ValueError(f"its arms are {saved['arms']!r}, not {list(structure.arms)!r}")
        algorithm = algorithm_from_dict(saved["policy"])
        algorithm.check(structure)
        rows = {name: _numbers(saved, name, structure.n_arms) for name in _STORED_ROWS}
        statistics = rows["sums"], rows["squares"], rows["counts"]
        if too_large(*statistics):
            raise ValueError("sums are larger than rewards can be")
        idle = arm_without_rewards(*statistics)
        if idle is not None:
            raise ValueError(f"arm {structure.arms[idle]!r} has a sum, but no reward")
        _, decided, horizon = _clock(saved, int(rows["counts"].sum()))
        run = Run(algorithm, structure, horizon=horizon)
        run.generator.bit_generator.state = saved["generator"]
        empty_rounds = _whole("empty_rounds", saved["empty_rounds"])
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, InvalidPolicy):
            raise
        raise DamagedFile(f"the state of the policy is damaged ({problem}).") from None
    run.restore(**rows, decided=decided)
    run.count_empty_rounds(empty_rounds)
    return run


def _numbers(saved: dict[str, Any], name: str, n_arms: int) -> np.ndarray:
    values = np.array(saved[name], dtype=float)
    if values.shape != (n_arms,) or not np.isfinite(values).all():
        raise ValueError(f"{name} must be {n_arms} finite numbers")
    if name != "sums" and (values < 0).any():
        raise ValueError(f"{name} must not be negative")
    if name in ("counts", "pending") and (values != np.floor(values)).any():
        raise ValueError(f"{name} must be whole numbers")
    return values


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} must be a whole number from 0 on")
    return value


def _clock(saved: dict[str, Any], received: int) -> list[int]:
    """Rewards received, decisions made and the horizon; the first must agree with the counts."""
    clock = [_whole("each number of clock", value) for value in saved["clock"]]
    if max(clock[:2], default=0) > MOST_ROUNDS:
        raise ValueError(f"clock holds {max(clock[:2])}, more rounds than a run can have")
    if len(clock) != 3 or clock[0] != received:
        raise ValueError(f"clock must be three numbers, of which the first is {received}")
    return clock
