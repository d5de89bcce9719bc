"""The line numbers of keys and array elements in a TOML text.

Neither the standard library nor tomlkit reports where a value is. The text has been parsed before,
so this module assumes valid TOML.
"""

from __future__ import annotations

import bisect
import re

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'  # basic, multi-line; its content may end in one or two quotes
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}\n#]+")


def lines_of(text: str) -> dict[Path, int]:
    r"""The line, counted from 1, of every key and element in a valid TOML text.

    Examples
    --------
    >>> lines_of('runs = 5\n[[grid]]\nseed = [\n  1,\n  2,\n]')[("grid", 0, "seed", 1)]
    5
    """
    walk = _Walk(text)
    walk.document()
    return walk.lines


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._lengths: dict[Path, int] = {}  # of the arrays of tables
        self.lines: dict[Path, int] = {}

    def document(self) -> None:
        """Visit the whole text."""
        base: Path = ()
        self._skip()
        while self._place < len(self._text):
            if self._text[self._place] == "[":
                base = self._header()
            else:
                self._pair(base)
            self._skip()

    def _header(self) -> Path:
        double = self._text.startswith("[[", self._place)
        line = self._line()
        self._place += 2 if double else 1
        parts = self._dotted()
        self._place += 2 if double else 1
        base: Path = ()
        for part in parts[:-1]:
            base = self._inside((*base, part), line)
        base = (*base, parts[-1])
        if double:
            self._lengths[base] = self._lengths.get(base, 0) + 1
        return self._inside(base, line)

    def _inside(self, path: Path, line: int) -> Path:
        """The table at a path; for an array of tables, its last element."""
        self.lines.setdefault(path, line)
        if path in self._lengths:
            path = (*path, self._lengths[path] - 1)
            self.lines.setdefault(path, line)
        return path

    def _pair(self, base: Path) -> None:
        line = self._line()
        path = base
        for part in self._dotted():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self._place += 1  # the equals sign
        self._value(path)

    def _dotted(self) -> list[str]:
        parts = []
        while True:
            self._skip()
            quoted = _STRING.match(self._text, self._place)
            match = quoted or _BARE_KEY.match(self._text, self._place)
            if match is None:  # not TOML; the parser has refused it before
                raise ValueError(f"no key at line {self._line()}")
            parts.append(match.group()[1:-1] if quoted else match.group())
            self._place = match.end()
            self._skip()
            if self._text[self._place] != ".":
                return parts
            self._place += 1

    def _value(self, path: Path) -> None:
        self._skip()
        self.lines.setdefault(path, self._line())
        opening = self._text[self._place]
        if opening in "[{":
            self._place += 1
            self._members(path, "]" if opening == "[" else "}")
        else:
            match = _STRING.match(self._text, self._place) or _PLAIN.match(self._text, self._place)
            self._place = match.end() if match else self._place + 1

    def _members(self, path: Path, closing: str) -> None:
        number = 0
        while True:
            self._skip()
            if self._text[self._place] == closing:
                self._place += 1
                return
            if closing == "]":
                self._value((*path, number))
                number += 1
            else:
                self._pair(path)
            self._skip()
            if self._text[self._place] == ",":
                self._place += 1

    def _skip(self) -> None:
        match = _BLANK.match(self._text, self._place)
        self._place = match.end() if match else self._place

    def _line(self) -> int:
        return bisect.bisect_left(self._breaks, self._place) + 1
