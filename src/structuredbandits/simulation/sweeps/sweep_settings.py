"""The settings of a sweep, from a TOML file or a mapping; errors give file and line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from structuredbandits.errors import FileError, InvalidInput, suggestion
from structuredbandits.simulation.sweeps import _toml_lines as lines

#: Keys that a `[[grid]]` may set; at the top of the file they apply to every grid.
GRID_KEYS = (
    "problem",
    "policies",
    "theta",
    "horizon",
    "seed",
    "runs",
    "checkpoints",
    "runs_per_task",
)
TOP_KEYS = ("grid", *GRID_KEYS, "until", "max_runs")


@dataclass(frozen=True)
class SweepSettings:
    """Keys and values, with their lines.

    Attributes
    ----------
    values
        The keys and values.
    name
        The name of the file, or "" for a mapping.
    folder
        The folder to which paths in the settings are relative.
    """

    values: Mapping[str, Any]
    name: str = ""
    folder: Path = field(default_factory=Path)
    line_of: Mapping[lines.Path, int] = field(default_factory=dict)

    def refuse(self, path: lines.Path, complaint: str) -> NoReturn:
        """Raise `InvalidInput` with the file and line of a value."""
        raise InvalidInput(self.place(path) + complaint)

    def place(self, path: lines.Path) -> str:
        """File and line of a key, or of the nearest enclosing table."""
        if not self.name:
            return ""
        while path and path not in self.line_of:
            path = path[:-1]
        return f"{self.name}, line {self.line_of[path]}: " if path else f"{self.name}: "

    @contextmanager
    def at(self, path: lines.Path) -> Iterator[None]:
        """Add file and line to errors that the library raises in the block."""
        try:
            yield
        except (InvalidInput, FileError) as error:
            raise type(error)(self.place(path) + str(error)) from error

    def blocks(self) -> list[dict[str, lines.Path]]:
        """For each grid, the paths of its keys, including those that it inherits from the top."""
        for key in self.values:
            self._known(key, (key,), TOP_KEYS)
        shared: dict[str, lines.Path] = {key: (key,) for key in GRID_KEYS if key in self.values}
        if "grid" not in self.values:
            return [shared]
        grids = self.values["grid"]
        if not isinstance(grids, Sequence) or not grids:
            self.refuse(("grid",), f"grid is {grids!r}; write one table [[grid]] per grid.")
        found = []
        for number, block in enumerate(grids):
            if not isinstance(block, Mapping):
                self.refuse(("grid", number), f"{block!r} is not a grid; write a table [[grid]].")
            own: dict[str, lines.Path] = {key: ("grid", number, key) for key in block}
            for key, path in own.items():
                self._known(key, path, GRID_KEYS)
            found.append(shared | own)
        return found

    def _known(self, key: object, path: lines.Path, known: Sequence[str]) -> None:
        if key in known:
            return
        if key in TOP_KEYS:
            self.refuse(
                path, f"{key} applies to the whole sweep; move it above the first [[grid]]."
            )
        self.refuse(path, f"there is no key {key!r}; {suggestion(key, known)}")

    def value(self, path: lines.Path) -> Any:
        """The value at a path."""
        found: Any = self.values
        for part in path:
            found = found[part]
        return found

    def items(self, path: lines.Path) -> list[tuple[lines.Path, Any]]:
        """The elements of a list, or a single value, each with its path."""
        value = self.value(path)
        if not isinstance(value, list):
            return [(path, value)]
        if not value:
            self.refuse(path, f"{path[-1]} is an empty list; give at least one.")
        return [((*path, number), element) for number, element in enumerate(value)]

    def whole(self, path: lines.Path, value: Any, least: int = 1) -> int:
        """Check that a value is a whole number."""
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            key = next(part for part in reversed(path) if isinstance(part, str))
            self.refuse(path, f"{key} is {value!r}; give a whole number of at least {least}.")
        return value


def read_settings(grid: Mapping[str, Any] | str | PathLike[str]) -> SweepSettings:
    """Read settings from a mapping, or from the TOML file at a path."""
    if isinstance(grid, Mapping):
        return SweepSettings(grid)
    if not isinstance(grid, str | PathLike):
        raise InvalidInput(f"{grid!r} is not a grid; give the path of a TOML file, or a mapping.")
    path = Path(grid)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}; check the name.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not text in UTF-8; save it in that encoding.") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(_syntax(path.name, text, str(error))) from error
    # Line ends are normalised as the TOML parser does.
    return SweepSettings(values, path.name, path.parent, lines.lines_of(text.replace("\r\n", "\n")))


def _syntax(name: str, text: str, complaint: str) -> str:
    match = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)", complaint)
    line = match.group(1) if match and match.group(1) else str(text.count("\n") + 1)
    said = complaint[: match.start()] if match else complaint
    return f"{name}, line {line}: this is not TOML ({said.lower()}); write key = value."


def read_share(until: object) -> float | None:
    """The requested relative standard error: "2%", 0.02, or None.

    Examples
    --------
    >>> read_share("2%"), read_share(0.05), read_share(None)
    (0.02, 0.05, None)
    """
    if until is None:
        return None
    share = None
    if isinstance(until, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*%\s*", until)
        if match and match.group(1).count(".") <= 1 and match.group(1) != ".":
            share = float(match.group(1)) / 100
    elif isinstance(until, (int, float)) and not isinstance(until, bool):
        share = float(until)
    if share is None or not 0 < share < 1:
        raise InvalidInput(f"until is {until!r}; give a fraction of the regret such as '2%'.")
    return share
