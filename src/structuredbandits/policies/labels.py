"""The text of a policy's label: one function that writes it, one parser that reads it.

A label is a name with parameters: ``ucb-c(alpha=2)``. Values are numbers, True, False, None,
strings in quotes, tuples, lists, and labels (``fallback=ucb(alpha=2)``). Two further forms exist:

``ucb(alpha=1)-c(alpha=3)``
    The first parentheses hold parameters of the inner algorithm alone.
``ucb-c(floor=0.1)(robust=1)``
    Further parentheses hold wrappers, the innermost first. Within one pair of parentheses
    ``robust`` is always inside ``floor``.

The label is part of a policy's seed, so the text of a label never changes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from structuredbandits.errors import InvalidPolicy

#: The parameters of each wrapper; the first one stands for the wrapper itself.
ROBUST = ("robust", "refute", "fallback")
FLOOR = ("floor",)
_EXAMPLE = "write for example ucb-c(alpha=2)"
_DEEPEST = 20
_LONGEST_SHOWN = 80
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)"
)
_ESCAPE = r"""\\(?:[\\'"abfnrtv]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_STRING = re.compile(rf"""'(?:[^'\\\n\r]|{_ESCAPE})*'|"(?:[^"\\\n\r]|{_ESCAPE})*\"""")
_ASCII = re.compile(r"[A-Za-z0-9_-]*")
_WORDS = {"True": True, "False": False, "None": None}


class Nested(NamedTuple):
    """A label that is the value of a parameter."""

    text: str


class Parts(NamedTuple):
    """What a label is written from."""

    head: str
    """The name, with the inner algorithm's own parameters in the explicit form."""
    settings: Mapping[str, Any]
    """Parameters that differ from their defaults."""
    names: frozenset[str]
    """All parameters that the head has."""
    wrappers: tuple[Mapping[str, Any], ...] = ()
    """Parameters of what is around it, the innermost first."""

    def inside(self, settings: Mapping[str, Any]) -> Parts:
        """The same with one more wrapper around it."""
        return self._replace(wrappers=(*self.wrappers, settings))


class Label(NamedTuple):
    """A label as it was read."""

    name: str
    own: dict[str, Any] | None
    """In the explicit form: the parameters of the inner algorithm alone."""
    suffix: str
    """In the explicit form: what follows them, such as "-c-kl"."""
    groups: tuple[dict[str, Any], ...]
    """The parameters in each of the following parentheses."""


def plain(value: Any) -> Any:
    """A parameter without NumPy around it, so that it prints as it is typed."""
    return value.item() if isinstance(value, np.generic) else value


def write_settings(settings: Mapping[str, Any]) -> str:
    """Parameters as a label has them in parentheses, in full: equal labels mean equal values.

    Examples
    --------
    >>> write_settings({"alpha": 2.0, "gamma": 1 / 3, "fallback": Nested("ucb(alpha=2)")})
    'alpha=2,gamma=0.3333333333333333,fallback=ucb(alpha=2)'
    """
    return ",".join(f"{key}={_write_value(value)}" for key, value in settings.items())


def _write_value(value: Any) -> str:
    if isinstance(value, Nested):
        return value.text
    return repr(plain(value)).removesuffix(".0")


def write_label(parts: Parts) -> str:
    """The label of an algorithm; `read_label` reads it.

    Examples
    --------
    >>> ucb = Parts("ucb-c", {"alpha": 2.0}, frozenset({"alpha"}))
    >>> write_label(ucb)
    'ucb-c(alpha=2)'
    >>> write_label(ucb.inside({"robust": 1.0}).inside({"floor": 0.1}))
    'ucb-c(alpha=2,robust=1,floor=0.1)'
    >>> write_label(ucb.inside({"floor": 0.1}).inside({"robust": 1.0}))
    'ucb-c(alpha=2,floor=0.1)(robust=1)'
    """
    if not parts.wrappers and not (parts.settings.keys() & {"robust", "floor"}):
        text = write_settings(parts.settings)
        return f"{parts.head}({text})" if text else parts.head
    groups: list[dict[str, Any]] = [dict(parts.settings)]
    for wrapper in parts.wrappers:
        words = ROBUST if "robust" in wrapper else FLOOR
        taken = parts.names if len(groups) == 1 else frozenset[str]()
        last = groups[-1]
        # A group is read as "robust" inside "floor", whatever their order is.
        nests = "floor" not in last and not ("robust" in last and "robust" in wrapper)
        if nests and not taken.intersection(words):
            last.update(wrapper)
        else:
            groups.append(dict(wrapper))
    if len(groups) == 1 and parts.settings.keys() & {"robust", "floor"}:
        groups.append({})  # so that the first group is read as the head's own
    return parts.head + "".join(f"({write_settings(group)})" for group in groups)


def read_label(text: str) -> Label:
    """Read a label; its names are not looked up.

    Examples
    --------
    >>> read_label("ucb-g(groups=(('a', 'b'), ('c',)))").groups
    ({'groups': (('a', 'b'), ('c',))},)
    >>> read_label("ucb(alpha=1)-c-kl(d=2)")
    Label(name='ucb', own={'alpha': 1.0}, suffix='-c-kl', groups=({'d': 2.0},))
    """
    reader = _Reader(text)
    label = reader.label()
    reader.skip_spaces()
    if reader.here:
        reader.fail(f"{reader.here!r} is not expected")
    return label


def split_labels(text: str) -> list[str]:
    """The labels in a list with commas between them.

    Examples
    --------
    >>> split_labels("ucb, ts-c(beta=2,floor=0.1), ucb-g(groups=(('a,', 'b'),))")
    ['ucb', 'ts-c(beta=2,floor=0.1)', "ucb-g(groups=(('a,', 'b'),))"]
    >>> split_labels("always Children's,always Women's (70's),ucb")
    ["always Children's", "always Women's (70's)", 'ucb']
    """
    pieces, start = [], 0
    for position, depth in _depths(text):
        if depth == 0 and text[position] == ",":
            pieces.append(text[start:position])
            start = position + 1
    return [piece.strip() for piece in (*pieces, text[start:]) if piece.strip()]


def split_settings(label: str) -> tuple[str, str]:
    """A label's name without its parentheses, and all of its parentheses.

    Examples
    --------
    >>> split_settings("ucb(alpha=1)-c(fallback=ts(beta=2))")
    ('ucb-c', '(alpha=1)(fallback=ts(beta=2))')
    """
    name: list[str] = []
    settings: list[str] = []
    for position, depth in _depths(label):
        (settings if depth else name).append(label[position])
    return "".join(name), "".join(settings)


def _depths(text: str) -> list[tuple[int, int]]:
    """Position of each character, and the number of brackets around it, itself included."""
    found: list[tuple[int, int]] = []
    depth, position = 0, 0
    while position < len(text):
        # Elsewhere a quote is an apostrophe: a list may also name arms, as "always Children's".
        begins = depth > 0 and text[position - 1] in "=([, "
        string = _STRING.match(text, position) if begins else None
        if string is not None:
            found += [(place, depth) for place in range(position, string.end())]
            position = string.end()
            continue
        depth += text[position] in "(["
        found.append((position, depth))
        depth = max(0, depth - (text[position] in ")]"))
        position += 1
    return found


def is_name(text: str) -> bool:
    """Whether a label can have this name: letters, digits and dashes.

    Examples
    --------
    >>> is_name("kl-ucb"), is_name("my policy"), is_name("")
    (True, False, False)
    """
    return bool(text) and all(map(_in_name, text))


def _in_name(character: str) -> bool:
    return character == "-" or f"a{character}".isidentifier()


def shorten(text: str) -> str:
    """A label as a message shows it."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")


class _Reader:
    """A recursive-descent parser: one method per part of the grammar."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    @property
    def here(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def fail(self, reason: str) -> NoReturn:
        raise InvalidPolicy(
            f"policy {shorten(self.text)} cannot be read: {reason} at character {self.at + 1}; "
            f"{_EXAMPLE}."
        )

    def skip_spaces(self) -> None:
        while self.here.isspace():
            self.at += 1

    def word(self) -> str:
        start = self.at
        self.at = _ASCII.match(self.text, start).end()  # type: ignore[union-attr]  # may be empty
        while self.here and _in_name(self.here):
            self.at += 1
        return self.text[start : self.at]

    def label(self) -> Label:
        self.skip_spaces()
        name = self.word()
        if not name:
            self.fail("a name is expected")
        groups: list[dict[str, Any]] = []
        own, suffix = None, ""
        while True:
            before = self.at
            self.skip_spaces()
            if self.here == "(":
                groups.append(self.group())
            elif self.here == "-" and len(groups) == 1 and not suffix:
                own, suffix = groups.pop(), self.word()
            else:
                self.at = before
                return Label(name, own, suffix, tuple(groups))

    def group(self) -> dict[str, Any]:
        """Parameters in parentheses."""
        self.at += 1
        settings: dict[str, Any] = {}
        while True:
            self.skip_spaces()
            if self.here == ",":
                self.at += 1
            elif self.here == ")":
                self.at += 1
                return settings
            elif not self.here:
                self.fail("')' is missing")
            else:
                self.setting(settings)

    def setting(self, settings: dict[str, Any]) -> None:
        start = self.at
        while self.here and f"a{self.here}".isidentifier():
            self.at += 1
        key = self.text[start : self.at]
        self.skip_spaces()
        if not key.isidentifier() or self.here != "=":
            self.at = start
            self.fail("name=value is expected")
        if key in settings:
            raise InvalidPolicy(f"policy {shorten(self.text)} gives {key} twice; give it once.")
        self.at += 1
        value = self.value()
        settings[key] = _as_float(value) if _is_whole(value) else value
        self.end_of_value()

    def end_of_value(self) -> None:
        self.skip_spaces()
        if self.here and self.here not in ",)]":
            self.fail(f"',' or ')' is expected, not {self.here!r}")

    def value(self) -> Any:
        self.skip_spaces()
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail("there are too many brackets inside one another")
        found = self.bracketed() if self.here and self.here in "([" else self.single()
        self.depth -= 1
        return found

    def bracketed(self) -> Any:
        """A tuple, a list, or one value in parentheses."""
        closing = ")" if self.here == "(" else "]"
        self.at += 1
        items: list[Any] = []
        comma = False
        while True:
            self.skip_spaces()
            if self.here == closing:
                self.at += 1
                if closing == "]":
                    return items
                return items[0] if len(items) == 1 and not comma else tuple(items)
            if self.here == "," and items and not comma:
                comma = True
                self.at += 1
                continue
            if not self.here or self.here in ",)]" or (items and not comma):
                self.fail(f"{closing!r} is expected")
            items.append(self.value())
            comma = False
            self.end_of_value()

    def single(self) -> Any:
        """A string, a number, True, False, None or a label."""
        string = _STRING.match(self.text, self.at)
        if string is not None:
            try:
                value = ast.literal_eval(string.group())
            except (SyntaxError, ValueError):  # a number of no character, such as \U00110000
                self.fail("the string is not valid")
            self.at = string.end()
            return value
        number = _NUMBER.match(self.text, self.at)
        if number is not None and not self._goes_on(number.end()):
            value = self.number(number.group())
            self.at = number.end()
            return value
        start = self.at
        word = self.word()
        if word in _WORDS:
            return _WORDS[word]
        self.at = start
        if not word:
            self.fail("a value is expected")
        return self.label()

    def _goes_on(self, end: int) -> bool:
        following = self.text[end : end + 1]
        return bool(following) and _in_name(following)

    def number(self, text: str) -> int | float:
        try:
            if re.fullmatch(r"[+-]?(?:0[xX].*|[0-9_]+)", text):
                whole = int(text, 0)
                float(whole)
                return whole
            return float(text)
        except OverflowError:
            self.fail("the number is too large")
        except ValueError:  # 007, or 1__0
            self.fail("the number is not valid")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _as_float(value: int) -> int | float:
    """A whole number as a float, where that is exact."""
    return float(value) if float(value) == value else value
