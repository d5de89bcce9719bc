"""The description of a policy: frozen, hashable, picklable, printed as the code that makes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.policies.labels import Parts, plain, write_label
from structuredbandits.policies.parameter_checks import read_parameters
from structuredbandits.structure.interaction_length import Length, read_length

if TYPE_CHECKING:
    from structuredbandits.confidence.confidence_set import ConfidenceParameters
    from structuredbandits.confidence.evidence import Evidence
    from structuredbandits.confidence.memory import Memory
    from structuredbandits.policies.policy import Policy
    from structuredbandits.policies.protocol import Moment
    from structuredbandits.structure import Structure


class Snapshot(NamedTuple):
    """A run at one moment, as `Algorithm.probabilities` sees it."""

    agent: Any
    memory: Memory
    block: np.ndarray  # (rows, arms) evidence
    moment: Moment
    addresses: np.ndarray  # of the run's generator

    @property
    def evidence(self) -> Evidence:
        """Named rows of the evidence."""
        from structuredbandits.confidence.evidence import rows_of  # loads Numba

        return rows_of(self.block)

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return int(self.block.shape[1])


@dataclass(frozen=True, repr=False, init=False)
class Algorithm:
    """A description of how to choose arms; `start` begins a run of it.

    Subclasses are frozen dataclasses whose fields are the parameters. They give `agent`, the named
    tuple that compiled code runs, and optionally `choice_probabilities`. Those that keep a
    confidence set also give `confidence_parameters` and `candidates`; an algorithm around another
    one delegates both.
    """

    #: Name on the command line, in files and on pages.
    name: ClassVar[str] = ""
    #: Whether a run needs rewards in [0, 1], unless the structure says which limits they have.
    needs_unit_rewards: ClassVar[bool] = False
    #: Whether it ignores the structure, so that Algorithm-C can be put around it.
    classical: ClassVar[bool] = False
    #: Whether a choice among one candidate may draw random numbers.
    random_index: ClassVar[bool] = True
    #: Whether `batch_probabilities.share` is registered for its agent on Gaussian structures.
    shares_are_compiled: ClassVar[bool] = False
    #: Whether its probabilities depend on the rewards received alone, not on pending pulls or time.
    depends_on_rewards_alone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the parameters; a subclass that checks more calls this first."""
        read_parameters(self)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> Any:
        """Named tuple for compiled code, good for the first ``rounds`` rounds.

        ``horizon`` is 0 when unknown.
        """
        raise TypeError(f"{type(self).__name__} has no compiled form")

    def refuses_other_rewards(self, structure: Structure) -> bool:
        """Whether a run on the structure needs rewards in [0, 1]; limited ones are rescaled."""
        return self.needs_unit_rewards and not structure.rewards.limited

    def compiles_shares(self, structure: Structure) -> bool:
        """Whether `batch_probabilities.share` is registered for its agent on the structure."""
        return self.shares_are_compiled

    def memory(self, structure: Structure) -> Memory:
        """Unfilled memory of a run; classical algorithms need none."""
        from structuredbandits.confidence.memory import new_memory

        return new_memory(0, 0)

    def check(self, structure: Structure) -> None:
        """Raise `InvalidPolicy` if the algorithm does not apply to the structure."""

    @property
    def external(self) -> Any:
        """The Python object that chooses among the candidates, None if that step is compiled."""
        return None

    @property
    def refutation_alpha(self) -> float | None:
        """Width of the test that refutes a structure, None for algorithms without one."""
        return None

    def confidence_parameters(self, structure: Structure) -> ConfidenceParameters | None:
        """The confidence set that a run on the structure keeps, None if it keeps none."""
        return None

    def candidates(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        """The competitive arms among the allowed ones, ascending: (candidates,).

        An arm is competitive if it is best among the allowed arms at some plausible θ. All of them
        are if no θ is plausible or no confidence set is kept.
        """
        return allowed

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray | None:
        """Probability of each candidate, (candidates,), or None if it is not known."""
        return None

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray | None:
        """Probability of each arm, (arms,), when only ``allowed`` ones may be pulled."""
        shares = self.choice_probabilities(snapshot, allowed)
        if shares is None:
            return None
        result = np.zeros(snapshot.n_arms)
        result[allowed] = shares
        return result

    def start(
        self,
        structure: Structure,
        *,
        seed: int | np.random.SeedSequence | None = None,
        horizon: int | None = None,
        length: Length | None = None,
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
            Number of rounds if it is certain, for the algorithms that use it.
        length
            How many interactions a subject has, for the algorithms that use it: the mean, or pairs
            of a length and its share.
        history
            Past (arm, reward) rows to start warm from.
        """
        from structuredbandits.policies.policy import Policy

        algorithm = self.with_length(length)
        return Policy(algorithm, structure, seed=seed, horizon=horizon, history=history)

    def with_length(self, length: Length | None) -> Algorithm:
        """The algorithm for subjects with this many interactions; its own length stays.

        Algorithms that do not plan ahead stay as they are.

        Examples
        --------
        >>> from structuredbandits.policies.classical.ucb import UCB
        >>> from structuredbandits.policies.structured.value_of_information import (
        ...     ValueOfInformation,
        ... )
        >>> ValueOfInformation().with_length(30).label, UCB().with_length(30).label
        ('value-of-information(length=30)', 'ucb')
        """
        if length is None:
            return self
        length = read_length(length)
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Algorithm):
                changes[field.name] = value.with_length(length)
            elif field.name == "length" and value is None:
                changes[field.name] = length
        if all(getattr(self, name) is value for name, value in changes.items()):
            return self
        return dataclasses.replace(self, **changes)

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
        return write_label(self.label_parts())

    def label_parts(self) -> Parts:
        """What the label is written from."""
        names = frozenset(field.name for field in dataclasses.fields(self))
        return Parts(self.name, self.changed, names)

    @property
    def changed(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }
