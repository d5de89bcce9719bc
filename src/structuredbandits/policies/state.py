"""A run as JSON: counts, sums, clock and generator, and nothing that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from structuredbandits.confidence.evidence import ROWS
from structuredbandits.confidence.memory import EMPTY_ROUNDS, REGISTERS_ROW, keeps_set
from structuredbandits.errors import DamagedFile, InvalidPolicy, WrongVersion
from structuredbandits.policies.arguments import (
    MOST_ROUNDS,
    arm_without_rewards,
    check_structure,
    too_large,
)

if TYPE_CHECKING:
    from structuredbandits.policies.policy import Policy
    from structuredbandits.structure import Structure

FORMAT = "structuredbandits.policy"
VERSION = 1
_STORED_ROWS = {"counts": 0, "sums": 1, "squares": 2, "pending": 5}

_Policy = TypeVar("_Policy", bound="Policy")


def state_of(policy: Policy) -> dict[str, Any]:
    """The run as plain JSON values."""
    from structuredbandits.policies.registry import algorithm_to_dict

    return {
        "format": FORMAT,
        "version": VERSION,
        "structure": policy.structure.digest,
        "policy": algorithm_to_dict(policy.algorithm),
        "arms": list(policy.structure.arms),
        **{name: policy.block[row].tolist() for name, row in _STORED_ROWS.items()},
        "clock": policy.clock.tolist(),
        "empty_rounds": policy.empty_rounds,
        "generator": policy.generator.bit_generator.state,
    }


def resume(cls: type[_Policy], structure: Structure, saved: dict[str, Any]) -> _Policy:
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
        policy = cls(algorithm_from_dict(saved["policy"]), structure)
        for name, row in _STORED_ROWS.items():
            policy.block[row] = _numbers(saved, name, structure.n_arms)
        counts, sums, squares = policy.block[:3]
        if too_large(sums, squares, counts):
            raise ValueError("sums are larger than rewards can be")
        idle = arm_without_rewards(sums, squares, counts)
        if idle is not None:
            raise ValueError(f"arm {structure.arms[idle]!r} has a sum, but no reward")
        policy.clock[:] = _clock(saved, int(counts.sum()))
        policy.generator.bit_generator.state = saved["generator"]
        empty_rounds = _whole("empty_rounds", saved["empty_rounds"])
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, InvalidPolicy):
            raise
        raise DamagedFile(f"the state of the policy is damaged ({problem}).") from None
    while max(policy.clock[0], policy.clock[1]) + 2 >= policy._rounds:
        policy._rounds *= 2
    policy._prepare(policy._rounds)
    policy._restore()
    if keeps_set(policy.memory):
        policy.memory.integers[REGISTERS_ROW, EMPTY_ROUNDS] = empty_rounds
    return policy


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


assert len(_STORED_ROWS) < ROWS
