"""The description of a policy: frozen, hashable, picklable, printed as the code that makes it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidPolicy

if TYPE_CHECKING:
    from structuredbandits.confidence.memory import Memory
    from structuredbandits.policies.policy import Policy
    from structuredbandits.policies.protocol import Moment
    from structuredbandits.structure import Structure


def is_number(value: object) -> bool:
    """Whether a parameter is a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def require_positive(algorithm: str, **values: float) -> None:
    """Refuse parameters that are not positive finite numbers."""
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise InvalidPolicy(
                f"{algorithm} needs a positive finite {name}, not {value!r}; "
                f"give for example {name}=1.0."
            )


class Snapshot(NamedTuple):
    """A run at one moment, as `Algorithm.probabilities` sees it."""

    agent: Any
    memory: Memory
    block: np.ndarray  # (rows, arms) evidence
    moment: Moment
    addresses: np.ndarray  # of the run's generator


@dataclass(frozen=True, repr=False, init=False)
class Algorithm:
    """A way to choose arms, as a value; `start` makes a run of it.

    Subclasses are frozen dataclasses whose fields are the parameters. They give `agent`, the named
    tuple that compiled code runs, and optionally `choice_probabilities`.
    """

    #: Name on the command line, in files and on pages.
    name: ClassVar[str] = ""
    #: Whether a run needs rewards in [0, 1].
    needs_unit_rewards: ClassVar[bool] = False
    #: Whether it ignores the structure, so that Algorithm-C can be put around it.
    classical: ClassVar[bool] = False

    def agent(self, structure: Structure, rounds: int, horizon: int) -> Any:
        """Named tuple for compiled code, good for the first ``rounds`` rounds.

        ``horizon`` is 0 when unknown.
        """
        raise TypeError(f"{type(self).__name__} has no compiled form")

    def memory(self, structure: Structure) -> Memory:
        """Unfilled memory of a run; classical algorithms need none."""
        from structuredbandits.confidence.memory import new_memory

        return new_memory(0, 0)

    def check(self, structure: Structure) -> None:
        """Raise `InvalidPolicy` if the algorithm does not apply to the structure."""

    def set_structure(self, structure: Structure) -> Structure:
        """The structure over which a run keeps its confidence set, if it keeps one."""
        return structure

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray | None:
        """Probability of each candidate, (candidates,), or None where it cannot be told."""
        return None

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray | None:
        """Probability of each arm, (arms,), when only ``allowed`` ones may be pulled."""
        shares = self.choice_probabilities(snapshot, allowed)
        if shares is None:
            return None
        result = np.zeros(snapshot.block.shape[1])
        result[allowed] = shares
        return result

    def start(
        self,
        structure: Structure,
        *,
        seed: int | np.random.SeedSequence | None = None,
        horizon: int | None = None,
        history: Iterable[tuple[str | int, float]] = (),
    ) -> Policy:
        """Begin a run on a structure.

        Parameters
        ----------
        structure
            What is known; a classical algorithm reads only its arms and sigma.
        seed
            Seed of the run's own randomness; equal seeds and rewards give equal decisions.
        horizon
            Number of rounds, for the algorithms that use it.
        history
            Past (arm, reward) rows to start warm from.
        """
        from structuredbandits.policies.policy import Policy

        return Policy(self, structure, seed=seed, horizon=horizon, history=history)

    def __repr__(self) -> str:
        arguments = [f"{key}={plain(value)!r}" for key, value in self.changed.items()]
        return f"{type(self).__name__}({', '.join(arguments)})"

    @property
    def label(self) -> str:
        """Name with the parameters that differ from their defaults, as `make_policy` reads it.

        Examples
        --------
        >>> from structuredbandits.policies.classical.ucb import UCB
        >>> UCB().label, UCB(alpha=2.0).label
        ('ucb', 'ucb(alpha=2)')
        """
        return settings_label(self.name, self.changed)

    @property
    def changed(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }


def plain(value: Any) -> Any:
    """A parameter without NumPy around it, so that it prints as it is typed."""
    return value.item() if isinstance(value, np.generic) else value


def join_settings(settings: Mapping[str, Any]) -> str:
    """Parameters as a name has them in parentheses: in full, so that equal names mean equal values.

    Examples
    --------
    >>> join_settings({"alpha": 2.0, "gamma": 1 / 3, "pull_each_arm_first": True})
    'alpha=2,gamma=0.3333333333333333,pull_each_arm_first=True'
    """
    return ",".join(
        f"{key}={repr(plain(value)).removesuffix('.0')}" for key, value in settings.items()
    )


def settings_label(name: str, settings: Mapping[str, Any]) -> str:
    """A name with parameters in parentheses, if there are any."""
    return f"{name}({join_settings(settings)})" if settings else name
