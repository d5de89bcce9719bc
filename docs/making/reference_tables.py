"""Reference pages that are made from the library: commands, policies, problems, errors."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import typer

from structuredbandits import errors
from structuredbandits.cli.main import NAME, app
from structuredbandits.policies.policy_descriptions import SUFFIXES, PolicyRow, describe_policies
from structuredbandits.policies.registration import registered
from structuredbandits.problems._catalogue import describe_problems


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
    """Every built-in policy: what it does, when to use it, what it needs, its rule and reference.

    Policies that another page's example has defined in the same process are left out.
    """
    rows = describe_policies(built_in=True)
    base, structured = [r for r in rows if r.classical], [r for r in rows if not r.classical]
    parts = [
        "## Base policies\n",
        _uses(base),
        "## Suffixes\n",
        "A suffix after a base policy adds the structure, as in `ucb-c` or `ts-c-kl`.\n",
        _table(("suffix", "what it adds"), ((f"`{s}`", text) for s, text in SUFFIXES.items())),
        "## Structured policies\n",
        _uses(structured),
        "## Rules and references\n",
        _table(
            ("name", "index of an arm, or rule", "reference"),
            ((f"`{row.name}`", row.rule, row.reference) for row in rows),
        ),
    ]
    return "\n".join(parts)


def _uses(rows: list[PolicyRow]) -> str:
    return _table(
        ("name and parameters", "what it does", "use it for", "needs"),
        ((f"`{row.call}`", row.summary, row.use, ", ".join(row.needs)) for row in rows),
    )


def policy_reference(*, classical: bool) -> str:
    """The reference entries of the built-in policies, which mkdocstrings turns into text."""
    return "\n".join(
        f"::: structuredbandits.{kind.__name__}\n    options:\n      inherited_members: false\n"
        for kind in registered(built_in=True).values()
        if kind.classical == classical
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose first column is Markdown already."""
    lines = [f"| {first} | {' | '.join(map(_cell, others))} |" for first, *others in rows]
    head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return "\n".join([*head, *lines]) + "\n"


def problem_table() -> str:
    """Every embedded problem."""
    rows = [
        (
            f"`{row.name}`",
            f"{row.arms}",
            f"{row.parameters:,}",
            row.title,
            "; ".join(row.thetas[:4]) + (" ..." if len(row.thetas) > 4 else ""),
        )
        for row in describe_problems()
    ]
    return _table(("name", "arms", "θ", "what it is", "θ to try"), rows)


def error_tree() -> str:
    """The tree of exceptions as its module draws it."""
    drawn = inspect.cleandoc(errors.__doc__ or "").split("::", 1)[1]
    return f"```text\n{inspect.cleandoc(drawn.strip(chr(10)))}\n```\n"
