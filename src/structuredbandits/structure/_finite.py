"""Finite sets Θ: a list of numbers, vectors or labels, such as the segments of a survey."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structuredbandits.errors import InvalidParameter, suggestion
from structuredbandits.structure.parameters import (
    FloatArray,
    Parameters,
    Theta,
    as_number,
    as_numbers,
    brief,
    default_names,
    read_only,
    show_theta,
)

_SAME_NUMBER = 1e-9


class Finite(Parameters):
    """A finite set of numbers, of vectors (tuples of numbers) or of labels.

    Parameters
    ----------
    values
        The members: all numbers, all texts, or all tuples of one length. A two-dimensional array
        gives one vector per row.
    names
        One name per part of a tuple, such as ("age", "occupation").
    aliases
        A second name for each member, such as its number in another system.

    Examples
    --------
    >>> levels = Finite([0.5, 1.0, 2.0])
    >>> levels.index(1.0), levels.nearest(1.7), levels.contains(1.7)
    (1, 2, False)
    >>> people = Finite([("18-24", "student"), ("25-34", "artist")], names=("age", "job"))
    >>> people.index(("25-34", "artist")), people.label(0), people.resolve("artist")
    (1, '18-24 student', ('25-34', 'artist'))
    >>> Finite(["low", "high"])
    Finite(['low', 'high'])
    """

    continuous = False

    def __init__(
        self,
        values: Iterable[object],
        names: Sequence[str] | None = None,
        aliases: Sequence[int | str] | None = None,
    ) -> None:
        members = _read_members(values)
        first = members[0]
        parts = len(first) if isinstance(first, tuple) else 1
        given = default_names(parts)
        if names is not None:
            given = tuple(str(name) for name in names)
            if isinstance(names, str) or len(given) != parts or len(set(given)) != parts:
                raise InvalidParameter(
                    f"names = {names!r} does not fit members such as {first!r}; give {parts} "
                    "different names."
                )
        numeric = all(_is_numeric(member) for member in members)
        second = None if aliases is None else _read_aliases(aliases, members, numeric)
        self._set(_members=members, _names=given, aliases=second, _numeric=numeric)

    aliases: tuple[int | str, ...] | None
    _members: tuple[Theta, ...]
    _names: tuple[str, ...]
    _numeric: bool

    @cached_property
    def points(self) -> FloatArray | None:
        """(parameters, dimension): the members as numbers, None for labels."""
        if not self._numeric:
            return None
        return read_only(np.array(self._members, dtype=float).reshape(len(self), -1))

    @property
    def dimension(self) -> int:
        """The number of parts of a member."""
        return len(self._names)

    @property
    def names(self) -> tuple[str, ...]:
        """One name per part of a member."""
        return self._names

    @property
    def spacing(self) -> tuple[float, ...]:
        """Empty: nothing lies between the members."""
        return ()

    @cached_property
    def _positions(self) -> dict[object, int]:
        return {member: i for i, member in enumerate(self._members)}

    @cached_property
    def _spellings(self) -> dict[str, int]:
        """Every text that identifies one member: its alias first, then its label."""
        spellings: dict[str, int] = {}
        for i, alias in enumerate(self.aliases or ()):
            spellings.setdefault(str(alias).casefold(), i)
        for i in range(len(self)):
            spellings.setdefault(self.label(i).casefold(), i)
        return spellings

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, position: int) -> Theta:
        return self._members[position]

    def resolve(self, theta: object) -> Theta:
        """Return the member that is meant; see `Parameters.resolve`."""
        found = self._find(theta)
        if found is None and isinstance(theta, str) and not self._numeric:
            words = theta.casefold().split()
            fits = [
                i for i in range(len(self)) if all(w in self.label(i).casefold() for w in words)
            ]
            if words and len(fits) > 1:
                some = ", ".join(repr(self.label(i)) for i in fits[:4])
                raise InvalidParameter(
                    f"θ = {theta!r} fits {len(fits)} members ({some}); write more of the label."
                )
            found = fits[0] if words and fits else None
        return self[self._or_raise(found, theta)]

    def contains(self, theta: object) -> bool:
        """Return whether θ is a member; a part of a label is not."""
        return self._find(theta) is not None

    def index(self, theta: object) -> int:
        """Return the position of a member, given as itself, its alias or its printed label."""
        return self._or_raise(self._find(theta), theta)

    def nearest(self, theta: object) -> int:
        """Return the position of the nearest number or vector; for labels, the position of θ."""
        numbers = as_numbers(theta, self.dimension)
        if self.points is None or numbers is None:
            return self.index(theta)
        return int(np.square(self.points - np.array(numbers)).sum(axis=1).argmin())

    def _find(self, theta: object) -> int | None:
        key = tuple(theta) if isinstance(theta, list | np.ndarray) else theta
        try:
            found = None if isinstance(key, bool) else self._positions.get(key)
        except TypeError:  # unhashable, so it cannot be a member
            return None
        if found is not None:
            return found
        if self.aliases is not None and isinstance(key, int) and not isinstance(key, bool):
            return self._spellings.get(str(key))
        if isinstance(key, str) and key.strip().casefold() in self._spellings:
            return self._spellings[key.strip().casefold()]
        numbers = as_numbers(theta, self.dimension)
        if self.points is None or numbers is None:
            return None
        near = self.nearest(numbers)
        width = np.ptp(self.points, axis=0)
        close = np.abs(self.points[near] - np.array(numbers)) <= _SAME_NUMBER * width
        return near if close.all() else None

    def _or_raise(self, found: int | None, theta: object) -> int:
        if found is not None:
            return found
        if as_numbers(theta, self.dimension) is not None and self.points is not None:
            hint = f"the nearest is {self.label(self.nearest(theta))}"
        else:
            hint = suggestion(show_theta(theta), [self.label(i) for i in range(len(self))])
        raise InvalidParameter(f"θ = {show_theta(theta)} is not in Θ; {hint.rstrip('?')}.")

    def describe(self) -> dict[str, Any]:
        """Return plain data; see `Parameters.describe`."""
        members = [list(m) if isinstance(m, tuple) else m for m in self._members]
        aliases = None if self.aliases is None else list(self.aliases)
        return {
            "kind": "finite",
            "values": members,
            "names": list(self._names),
            "aliases": aliases,
        }

    @property
    def _arguments(self) -> tuple[object, ...]:
        return (self._members, self._names, self.aliases)

    def __repr__(self) -> str:
        default = default_names(self.dimension)
        names = "" if self._names == default else f", names={self._names!r}"
        aliases = "" if self.aliases is None else f", aliases={list(self.aliases)!r}"
        return f"Finite({list(self._members)!r}{names}{aliases})"


def _read_members(values: Iterable[object]) -> tuple[Theta, ...]:
    if isinstance(values, str):
        raise InvalidParameter(f"Θ = {values!r} is a single text; give a list of labels.")
    if not isinstance(values, Iterable):
        raise InvalidParameter(
            f"Θ = {brief(values)} is not a list; give a list of values or labels."
        )
    members = _in_one_form([_read_member(value) for value in values])
    if not members:
        raise InvalidParameter("Θ is empty; give at least one value or label.")
    kinds = {_kind(member) for member in members}
    if len(kinds) > 1:
        raise InvalidParameter(
            f"Θ mixes {' and '.join(sorted(kinds))}; give only one kind, for instance all as text."
        )
    seen: set[Theta] = set()
    for member in members:
        if member in seen:
            raise InvalidParameter(f"θ = {show_theta(member)} appears twice; list each once.")
        seen.add(member)
    return members


def _in_one_form(members: list[Theta]) -> tuple[Theta, ...]:
    """Convert all numbers to int, or all to float, so that equal sets print equally."""
    numbers = [
        part
        for member in members
        for part in (member if isinstance(member, tuple) else (member,))
        if not isinstance(part, str)
    ]
    whole = all(float(x).is_integer() and abs(x) < 2**53 for x in numbers)

    def form(part: float | str) -> float | str:
        return part if isinstance(part, str) else int(part) if whole else float(part)

    return tuple(tuple(map(form, m)) if isinstance(m, tuple) else form(m) for m in members)


def _read_member(value: object) -> Theta:
    if isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim == 1):
        parts = tuple(_read_part(part, value) for part in value)
        if not parts:
            raise InvalidParameter("Θ holds an empty tuple; give at least one part.")
        return parts
    return _read_part(value, value)


def _read_part(part: object, value: object) -> float | str:
    if isinstance(part, str):
        if not part.strip():
            raise InvalidParameter(f"Θ holds an empty label in {value!r}; give it a name.")
        return str(part)
    number = as_number(part)
    if number is None:
        raise InvalidParameter(
            f"Θ holds {brief(value)}, which is neither a finite number nor a label nor a tuple of "
            "them; leave it out."
        )
    return number


def _kind(member: Theta) -> str:
    if isinstance(member, tuple):
        return f"tuples of {len(member)}"
    return "texts" if isinstance(member, str) else "numbers"


def _is_numeric(member: Theta) -> bool:
    parts = member if isinstance(member, tuple) else (member,)
    return not any(isinstance(part, str) for part in parts)


def _read_aliases(
    aliases: Sequence[int | str], members: tuple[Theta, ...], numeric: bool
) -> tuple[int | str, ...]:
    read = tuple(a if isinstance(a, str) else int(a) for a in aliases)
    if numeric or len(read) != len(members) or len({str(a) for a in read}) != len(read):
        raise InvalidParameter(
            f"aliases = {aliases!r} does not fit; give {len(members)} different second names, for "
            "labels only."
        )
    return read
