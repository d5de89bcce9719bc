"""The policy table: one row per registered algorithm, as the command line and the docs show it."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, NamedTuple

from structuredbandits.policies.registration import description_of, registered

if TYPE_CHECKING:
    from structuredbandits.policies.algorithm import Algorithm

#: What a suffix adds to the name of a classical policy.
SUFFIXES = {
    "-c": "Algorithm-C: choose only among arms that are best at some plausible θ",
    "-c-kl": "... and sometimes pull the arm whose mean varies most over the plausible θ",
    "-c-entropy": "... or the arm whose mean has the largest Shannon entropy over them",
    "-c-differential": "... or the largest differential entropy",
    "-c-random": "... or any arm",
    "-cj": "Algorithm-C with the joint confidence set, which combines the rewards of all arms",
}
_LETTERS = {
    "mu_hat": "μ̂",
    "mu_k": "μ_k",
    "sigma": "σ",
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    " <= ": " ≤ ",
}


class PolicyRow(NamedTuple):
    """What the library says about a policy."""

    name: str
    call: str
    """The name with all parameters and their defaults."""
    classical: bool
    summary: str
    use: str
    needs: tuple[str, ...]
    reference: str
    rule: str
    """The index of an arm, or how an arm is chosen."""


def describe_policies(*, built_in: bool = False) -> list[PolicyRow]:
    """One row per registered algorithm, without what a suffix adds.

    Parameters
    ----------
    built_in
        True to leave out custom algorithms.

    Examples
    --------
    >>> row = describe_policies()[0]
    >>> row.call, row.rule
    ('ucb(alpha=3)', 'μ̂_k + sqrt(2 α σ_k² log t / n_k)')
    """
    return [_row(name, kind) for name, kind in registered(built_in=built_in).items()]


def _row(name: str, algorithm: type[Algorithm]) -> PolicyRow:
    about = description_of(algorithm)
    return PolicyRow(
        name,
        _call(name, algorithm),
        bool(algorithm.classical),
        about.summary,
        about.use,
        about.needs,
        about.reference,
        _rule(algorithm),
    )


def _call(name: str, algorithm: type[Algorithm]) -> str:
    values = [(field.name, field.default) for field in dataclasses.fields(algorithm)]
    settings = [
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in values
        if value is not None
    ]
    return f"{name}({', '.join(settings)})" if settings else name


def _rule(algorithm: type[Algorithm]) -> str:
    """The first line of its documentation, with the mathematics in its own letters."""
    line = (inspect.getdoc(algorithm) or "").partition("\n")[0]
    for text, letter in _LETTERS.items():
        line = line.replace(text, letter)
    return line.replace("*mean*", "mean").rstrip(".")
