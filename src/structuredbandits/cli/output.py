"""Tables and JSON on the standard output."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# Width of output to a file or a pipe.
_PLAIN_WIDTH = 100


def console() -> Console:
    """A console on the current standard output."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PLAIN_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """Print a table; the columns named in ``right`` are right-aligned numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(
            Text(name),
            justify="right" if name in right else "left",
            no_wrap=place == 0 or name in right,
            style="bold" if place == 0 else None,
        )
    for row in rows:
        # As text and not as markup, since a label may contain square brackets.
        table.add_row(*(Text(value) for value in row))
    console().print(table)


def print_json(value: Any) -> None:
    """Print plain data as JSON in ASCII, which every terminal can show."""
    print(json.dumps(_without_nan(value), indent=2, allow_nan=False))


def _without_nan(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return value
