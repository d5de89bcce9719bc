"""The rewards of real persons: everyone's own, and nothing where they have none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structuredbandits.environments._reward_stream import RewardStream, TableLaw
from structuredbandits.errors import InvalidInput, InvalidStructure, UnknownArm
from structuredbandits.structure import Finite, FloatArray, Parameters, read_only
from structuredbandits.structure.validation import arm_names, as_floats

IntArray = NDArray[np.int64]


class Persons:
    """Each person's own rewards; the θ are the persons.

    A person can be shown only arms that it has rewards of, see `allowed`. An arm is shown once, or
    its rewards are drawn with replacement.

    Parameters
    ----------
    subjects, arms, rewards
        (rows,): who, which arm, and the reward; one row is one reward.
    repeat
        Whether an arm can be shown to a person more than once. If not, the arms that are allowed
        shrink with every reward.
    all_arms
        The names of the arms in their order; sorted names of those that occur if None.

    Examples
    --------
    >>> people = Persons(["ann", "ann", "bob"], ["war", "art", "art"], [2, 5, 1], repeat=False)
    >>> people.arms, people.means_at("bob")
    (('art', 'war'), array([ 1., nan]))
    >>> stream = people.rewards("ann", seed=0)
    >>> stream.allowed, stream.draw("war"), stream.allowed
    (('art', 'war'), 2.0, ('art',))
    """

    arms: tuple[str, ...]
    parameters: Parameters
    repeat: bool
    _subjects: IntArray
    _codes: IntArray
    _values: FloatArray
    _starts: IntArray

    def __init__(
        self,
        subjects: ArrayLike | Sequence[object],
        arms: ArrayLike | Sequence[object],
        rewards: ArrayLike,
        *,
        repeat: bool = True,
        all_arms: Sequence[str] | None = None,
    ) -> None:
        import pandas as pd

        values = as_floats(rewards, "rewards")
        who = pd.Series(list(np.asarray(subjects, dtype=object)))
        shown = pd.Series(list(np.asarray(arms, dtype=object))).astype(str)
        if values.ndim != 1 or not len(values) == len(who) == len(shown):
            raise InvalidStructure(
                f"subjects, arms and rewards have {len(who)}, {len(shown)} and {values.size} "
                "entries; give one of each per row."
            )
        if not values.size or not np.isfinite(values).all():
            raise InvalidStructure("rewards must be a list of finite numbers, with at least one.")
        subject_codes, names = pd.factorize(who, sort=False)
        if (subject_codes < 0).any():
            raise InvalidStructure("a subject is missing; leave out rows without a subject.")
        known = sorted(set(shown)) if all_arms is None else list(all_arms)
        positions = {name: k for k, name in enumerate(arm_names(known, len(known)))}
        arm_codes = shown.map(positions)
        if arm_codes.isna().any():
            unknown = shown[arm_codes.isna()].iloc[0]
            raise UnknownArm(f"the arm {unknown!r} is not one of all_arms; add it or its name.")
        codes = arm_codes.to_numpy(dtype=np.int64)
        order = np.lexsort((codes, subject_codes))
        self._set(
            tuple(positions),
            Finite([_plain(name) for name in names], names=("person",)),
            repeat,
            np.asarray(subject_codes, dtype=np.int64)[order],
            np.asarray(codes[order], dtype=np.int64),
            values[order],
        )

    def _set(
        self,
        arms: tuple[str, ...],
        parameters: Parameters,
        repeat: bool,
        subjects: IntArray,
        codes: IntArray,
        values: FloatArray,
    ) -> None:
        cells = subjects * len(arms) + codes
        self.__dict__.update(
            arms=arms,
            parameters=parameters,
            repeat=bool(repeat),
            _subjects=subjects,
            _codes=codes,
            _values=read_only(values),
            # The rewards of person i and arm k are those from _starts[i K + k] to the next start.
            _starts=np.searchsorted(cells, np.arange(len(parameters) * len(arms) + 1)),
        )

    @property
    def n_persons(self) -> int:
        """The number of persons."""
        return len(self.parameters)

    @property
    def counts(self) -> IntArray:
        """(persons, arms): the number of rewards."""
        numbers = np.diff(self._starts)
        return np.asarray(numbers.reshape(self.n_persons, len(self.arms)), dtype=np.int64)

    def means_at(self, theta: object) -> FloatArray:
        """Return the mean rewards (arms,) of a person; NaN for arms without rewards."""
        return np.array([own.mean() if own.size else np.nan for own in self._own(theta)])

    def allowed(self, theta: object) -> tuple[str, ...]:
        """Return the arms that a person has rewards of."""
        own = self._own(theta)
        return tuple(arm for arm, rewards in zip(self.arms, own, strict=True) if rewards.size)

    def rewards(self, theta: object, seed: int, run: int = 0) -> PersonStream:
        """Return the rewards of one run with a person, one at a time."""
        return PersonStream(self.arms, self._own(theta), self.repeat, seed, run)

    def quantile_table(self, theta: object) -> tuple[FloatArray, FloatArray]:
        """Return (arms, values) cumulative probabilities and the (values,) in increasing order.

        Only for persons with rewards of all arms, drawn with replacement: the simulator allows all
        arms in every round.
        """
        own = self._own(theta)
        missing = [arm for arm, rewards in zip(self.arms, own, strict=True) if not rewards.size]
        if missing or not self.repeat:
            reason = f"has no rewards of {missing[0]!r}" if missing else "sees every arm once"
            raise InvalidInput(
                f"person {theta!r} {reason}, and simulations allow all arms in every round; use "
                "persons with rewards of all arms and repeat=True, or a loop over rewards()."
            )
        values = np.unique(np.concatenate(own))
        cumulative = np.array([(rewards[:, None] <= values).mean(axis=0) for rewards in own])
        return cumulative, values

    def draws(self, number: int, seed: int = 0) -> FloatArray:
        """Return (persons, arms, number) rewards, drawn for all persons; NaN where there are none.

        Every policy that is tried on them faces the same rewards: the j-th of an arm is the same,
        whatever was shown before. Without ``repeat`` there is one per arm.
        """
        generator = np.random.default_rng(seed)
        starts, values = self._starts, self._values
        sizes = np.diff(starts)
        shape = (len(sizes), number if self.repeat else 1)
        places = (generator.random(shape) * sizes[:, None]).astype(np.int64) + starts[:-1, None]
        drawn = np.where(sizes[:, None] > 0, values[np.minimum(places, len(values) - 1)], np.nan)
        return np.asarray(drawn.reshape(self.n_persons, len(self.arms), shape[1]))

    def of(self, persons: ArrayLike) -> Persons:
        """Return the environment of the persons at these positions."""
        chosen = np.unique(np.asarray(persons, dtype=np.int64))
        codes = np.searchsorted(chosen, self._subjects)
        kept = np.isin(self._subjects, chosen)
        return _persons(
            self.arms,
            Finite([self.parameters[int(i)] for i in chosen], names=("person",)),
            self.repeat,
            codes[kept],
            self._codes[kept],
            self._values[kept],
        )

    def split(self, folds: int = 2, seed: int = 0) -> list[tuple[Persons, Persons]]:
        """Return pairs (to learn from, to try on); a person is tried on in exactly one of them.

        Parameters
        ----------
        folds
            The number of pairs; the share of persons to try on is 1 / folds.
        seed
            Equal seeds give equal pairs.
        """
        if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
            raise InvalidInput(f"folds = {folds!r} is not a whole number of at least 2.")
        if folds > self.n_persons:
            raise InvalidInput(f"{self.n_persons} persons cannot be split into {folds} parts.")
        order = np.random.default_rng(seed).permutation(self.n_persons)
        everyone = np.arange(self.n_persons)
        return [
            (self.of(np.setdiff1d(everyone, part)), self.of(part))
            for part in np.array_split(order, folds)
        ]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the columns person, arm and reward: a log to learn from.

        Examples
        --------
        >>> Persons(["ann", "bob"], ["war", "art"], [2, 1]).to_frame()
          person  arm  reward
        0    ann  war     2.0
        1    bob  art     1.0
        """
        import pandas as pd

        labels = np.array([self.parameters.label(i) for i in range(self.n_persons)], dtype=object)
        return pd.DataFrame(
            {
                "person": labels[self._subjects],
                "arm": np.array(self.arms, dtype=object)[self._codes],
                "reward": self._values,
            }
        )

    def _own(self, theta: object) -> list[FloatArray]:
        """Return the rewards of a person, one array per arm."""
        row = self.parameters.index(self.parameters.resolve(theta)) * len(self.arms)
        starts = self._starts[row : row + len(self.arms) + 1]
        values = self._values
        return [values[a:b] for a, b in pairwise(starts)]

    @cached_property
    def _key(self) -> tuple[object, ...]:
        rows = (self._subjects.tobytes(), self._codes.tobytes(), self._values.tobytes())
        return (self.arms, self.parameters, self.repeat, rows)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Persons) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[object, tuple[Any, ...]]:
        parts = (self.parameters, self.repeat, self._subjects, self._codes, self._values)
        return _persons, (self.arms, *parts)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("persons cannot be changed; make new ones.")

    def __repr__(self) -> str:
        shown = "drawn with replacement" if self.repeat else "every arm once"
        return f"<Persons: {self.n_persons:,}, {len(self.arms)} arms, {shown}>"


class PersonStream(RewardStream):
    """The rewards of one run with one person; the allowed arms shrink if arms are shown once.

    Parameters
    ----------
    arms
        The names of the arms.
    own
        The person's rewards, one array per arm.
    repeat
        Whether rewards are drawn with replacement.
    seed, run
        Whole numbers from 0 on; together they determine the random numbers.
    """

    def __init__(
        self, arms: Sequence[str], own: Sequence[FloatArray], repeat: bool, seed: int, run: int
    ) -> None:
        values = np.unique(np.concatenate(own))
        cumulative = np.array(
            [
                (rewards[:, None] <= values).mean(axis=0) if rewards.size else 0.0 * values
                for rewards in own
            ]
        )
        super().__init__(arms, TableLaw(cumulative, values), seed, run)
        self._arms, self._repeat = tuple(arms), repeat
        self._free = [bool(rewards.size) for rewards in own]

    @property
    def allowed(self) -> tuple[str, ...]:
        """The arms that can be shown next."""
        return tuple(arm for arm, free in zip(self._arms, self._free, strict=True) if free)

    def draw(self, arm: str | int) -> float:
        """Return the next reward, of an allowed arm given by its name or its position."""
        place = self._position(arm)
        if not self._free[place]:
            raise InvalidInput(
                f"the arm {self._arms[place]!r} is not allowed: the person has no reward of it, or "
                "was shown it before; choose among `allowed`."
            )
        self._free[place] = self._repeat
        return super().draw(place)


def _persons(arms: tuple[str, ...], *parts: Any) -> Persons:
    made = Persons.__new__(Persons)
    made._set(arms, *parts)
    return made


def _plain(value: object) -> Any:
    return value.item() if isinstance(value, np.generic) else value
