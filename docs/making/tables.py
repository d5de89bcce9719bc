"""Pages of the reference that the library writes itself: commands, policies, problems, errors.

This module turns what the library says of itself into Markdown. It must not add anything to it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from structuredbandits import errors
from structuredbandits.cli import policies as listing
from structuredbandits.cli.app import NAME, app
from structuredbandits.policies.registry import make_algorithm, policy_names
from structuredbandits.problems.catalogue import describe_problems


def commands() -> str:
    """Every command with its arguments, options and examples, in the order of `--help`."""
    top = typer.main.get_command(app)
    return "\n".join(
        part for name, command in _leaves(top, NAME) for part in _command(name, command)
    )


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for key, part in below.items():
        yield from _leaves(part, f"{name} {key}")


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"## {name.removeprefix(NAME + ' ')}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    context = typer.Context(command, info_name=name)
    usage = command.collect_usage_pieces(context)
    yield f"```text\n{name} {' '.join(usage)}\n```\n"
    rows = [row for parameter in command.params if (row := _parameter(parameter, context))]
    if rows:
        yield "\n".join(["| argument or option | what it does |", "|---|---|", *rows]) + "\n"
    if command.epilog:
        lines = [line.strip() for line in command.epilog.splitlines()]
        shown = "\n".join(line for line in lines if line.startswith(NAME))
        yield f"Examples:\n\n```text\n{shown}\n```\n"


def _parameter(parameter: Any, context: Any) -> str:
    record = parameter.get_help_record(context)
    if record is None:
        return ""
    name, text = (" ".join(part.split()) for part in record)
    return f"| `{name}` | {_cell(text)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def policy_table() -> str:
    """Every policy with its parameters and its rule."""
    names = [name for name in policy_names() if make_algorithm(name).name == name]
    bases = [name for name in names if make_algorithm(name).classical]
    parts = [
        "## Base policies\n",
        _table("name and parameters", "index of an arm, or rule", map(_policy, bases)),
        "## Suffixes\n",
        "A suffix after a base policy adds the structure, as in `ucb-c` or `ts-c-kl`.\n",
        _table("suffix", "what it adds", ((f"`{s}`", t) for s, t in listing._SUFFIXES.items())),
        "## Structured policies\n",
        _table("name and parameters", "rule", (_policy(n) for n in names if n not in bases)),
    ]
    return "\n".join(parts)


def _policy(name: str) -> tuple[str, str]:
    label, rule = listing._row(name)
    return f"`{label}`", rule


def _table(first: str, second: str, rows: Any) -> str:
    lines = [f"| {name} | {_cell(text)} |" for name, text in rows]
    return "\n".join([f"| {first} | {second} |", "|---|---|", *lines]) + "\n"


def problem_table() -> str:
    """Every embedded problem."""
    lines = [
        f"| `{row.name}` | {row.arms} | {row.parameters:,} | {_cell(row.title)} | "
        f"{_cell('; '.join(row.thetas[:4]))}{' ...' if len(row.thetas) > 4 else ''} |"
        for row in describe_problems()
    ]
    head = ["| name | arms | θ | what it is | θ to try |", "|---|---|---|---|---|"]
    return "\n".join([*head, *lines]) + "\n"


def error_tree() -> str:
    """The tree of exceptions as its module draws it."""
    drawn = inspect.cleandoc(errors.__doc__ or "").split("::", 1)[1]
    return f"```text\n{inspect.cleandoc(drawn.strip(chr(10)))}\n```\n"
