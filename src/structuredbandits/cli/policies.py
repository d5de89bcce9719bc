"""`structuredbandits policies`: the names that `--policies` understands.

This module knows how they are listed. It must not know how they choose.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from structuredbandits.policies.algorithm import Algorithm

_LETTERS = {
    "mu_hat": "μ̂",
    "mu_k": "μ_k",
    "sigma": "σ",
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    " <= ": " ≤ ",
}
_SUFFIXES = {
    "-c": "Algorithm-C: choose only among arms that are best at some plausible θ",
    "-c-kl": "... and now and then pull the arm whose mean varies most over the plausible θ",
    "-c-entropy": "... or the arm whose mean has the largest Shannon entropy over them",
    "-c-differential": "... or the largest differential entropy",
    "-c-random": "... or any arm",
    "-cj": "Algorithm-C with the joint confidence set, which looks at all arms' rewards together",
}


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print all names as JSON.")] = False,
) -> None:
    """List the policies and how their names are made."""
    from structuredbandits.cli.display import print_json, print_table
    from structuredbandits.policies.registry import make_algorithm, policy_names

    names = policy_names()
    if as_json:
        print_json([_entry(name) for name in names])
        return
    whole = [name for name in names if make_algorithm(name).name == name]
    bases = [name for name in whole if make_algorithm(name).classical]
    others = [name for name in whole if name not in bases]
    print_table(["base policy", "index of an arm, or rule"], map(_row, bases))
    print_table(["structured policy", "rule"], map(_row, others))
    print_table(["after a base policy", "what it adds"], _SUFFIXES.items())
    print("μ̂_k, n_k: mean and number of arm k's rewards; t: rounds so far; T: horizon.")
    print(
        "Parameters go in parentheses: ucb-c(alpha=2). Several names: ucb,ts,ts-c. Every one: all"
    )


def _row(name: str) -> tuple[str, str]:
    from structuredbandits.policies.registry import make_algorithm

    algorithm = make_algorithm(name)
    settings = ", ".join(f"{key}={value}" for key, value in _settings(algorithm).items())
    return (f"{name}({settings})" if settings else name), _line(algorithm)


def _entry(name: str) -> dict[str, Any]:
    from structuredbandits.policies.registry import make_algorithm

    algorithm = make_algorithm(name)
    return {"name": name, "classical": bool(algorithm.classical), "code": repr(algorithm)}


def _settings(algorithm: Algorithm) -> dict[str, Any]:
    values = {f.name: getattr(algorithm, f.name) for f in dataclasses.fields(algorithm)}
    return {
        name: f"{value:g}" if isinstance(value, float) else value
        for name, value in values.items()
        if value is not None
    }


def _line(algorithm: Algorithm) -> str:
    """The first line of its documentation, with the mathematics in its own letters."""
    line = (inspect.getdoc(algorithm) or "").splitlines()[0]
    for text, letter in _LETTERS.items():
        line = line.replace(text, letter)
    return line.replace("*mean*", "mean").rstrip(".")
