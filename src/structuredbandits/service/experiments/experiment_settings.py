"""The settings of an experiment, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import orjson

from structuredbandits.errors import InvalidInput, UnknownArm, suggestion
from structuredbandits.structure.interaction_length import Length, read_length

_PAYLOAD_BYTES = 65_536


@dataclass(frozen=True)
class ExperimentSettings:
    """The settings of an experiment.

    Examples
    --------
    >>> ExperimentSettings(floor=2)
    Traceback (most recent call last):
    structuredbandits.errors.InvalidInput: floor is 2; give a probability from 0 to 1.
    """

    horizon: int | None = None
    floor: float = 0.0
    reward_deadline_seconds: float | None = None
    default_reward: float | None = None
    retention_days: float | None = None
    on_database_failure: Literal["refuse", "prior"] = "refuse"
    sticky_seconds: float = 1800.0
    payloads: dict[str, Any] | None = None
    length: Length | None = None

    def __post_init__(self) -> None:
        if self.horizon is not None and not 1 <= self.horizon <= 10**9:
            raise InvalidInput(f"horizon is {self.horizon!r}; give 1 to 1,000,000,000 rounds.")
        object.__setattr__(self, "length", read_length(self.length))
        if not 0.0 <= self.floor <= 1.0:
            raise InvalidInput(f"floor is {self.floor!r}; give a probability from 0 to 1.")
        for name, largest in (("reward_deadline_seconds", 1e9), ("retention_days", 36_500.0)):
            value = getattr(self, name)
            if value is not None and not 0.0 < value <= largest:
                raise InvalidInput(f"{name} is {value!r}; give above 0, at most {largest:,.0f}.")
        if self.default_reward is not None:
            if not math.isfinite(self.default_reward):
                raise InvalidInput(
                    f"default_reward is {self.default_reward!r}; give a finite number."
                )
            if self.reward_deadline_seconds is None:
                raise InvalidInput(
                    "default_reward needs reward_deadline_seconds, after which it counts."
                )
        if not 0.0 <= self.sticky_seconds <= 1e9:
            raise InvalidInput(
                f"sticky_seconds is {self.sticky_seconds!r}; give 0 to 1,000,000,000 seconds."
            )
        size = _json_size(self.payloads)
        if size > _PAYLOAD_BYTES:
            raise InvalidInput(
                f"the payloads have {size:,} bytes of JSON; give at most {_PAYLOAD_BYTES:,}."
            )
        if self.on_database_failure not in ("refuse", "prior"):
            raise InvalidInput(
                f"on_database_failure is {self.on_database_failure!r}; give 'refuse' or 'prior'."
            )

    def to_json(self) -> str:
        """As stored: later settings only where they are set, so that older replicas read it."""
        content = asdict(self)
        for name in ("sticky_seconds", "payloads", "length"):
            if content[name] == getattr(ExperimentSettings, name):
                del content[name]
        return orjson.dumps(content).decode()


def _json_size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError as error:
        raise InvalidInput(f"the payloads are not JSON: {error}.") from None


def check_payloads(payloads: Iterable[str] | None, arms: tuple[str, ...]) -> None:
    """Refuse payloads of arms that the structure does not have."""
    for arm in payloads or ():
        if arm not in arms:
            raise UnknownArm(
                f"there is a payload for {arm[:80]!r}, but no such arm; {suggestion(arm, arms)}."
            )
