"""The embedded problems by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from structuredbandits.errors import FileError, InvalidInput, suggestion
from structuredbandits.problems._dose import dose
from structuredbandits.problems._movielens import movielens
from structuredbandits.problems._paper_problems import curve, linear, plane
from structuredbandits.problems._pricing import pricing
from structuredbandits.problems._problem import Problem
from structuredbandits.structure import Structure, brief, read_structure

_BUILDERS: dict[str, Callable[..., Problem]] = {
    "setup": partial(curve, "setup"),
    "three-arms": partial(curve, "three-arms"),
    "two-arms": partial(curve, "two-arms"),
    "corner": partial(curve, "corner"),
    "informative": partial(curve, "informative"),
    "linear": linear,
    "plane": plane,
    "movielens": movielens,
    "pricing": pricing,
    "dose": dose,
}


class ProblemRow(NamedTuple):
    """One embedded problem in a table."""

    name: str
    arms: int
    parameters: int
    thetas: tuple[str, ...]
    title: str


def problem_names() -> tuple[str, ...]:
    """Return the names of the embedded problems.

    Examples
    --------
    >>> "movielens" in problem_names()
    True
    """
    return tuple(_BUILDERS)


def load_problem(name: str, /, **options: Any) -> Problem:
    """Return an embedded problem.

    Parameters
    ----------
    name
        One of `problem_names()`; case does not matter.
    options
        Options of the problem: `points` and `sound` for a continuous Θ, `split_seed` for
        "movielens".

    Examples
    --------
    >>> load_problem("three-arms").thetas
    (0.5, 1.5, 2.6)
    """
    key = str(name).strip().lower()
    if key not in _BUILDERS:
        raise InvalidInput(f"there is no problem {name!r}; {suggestion(name, _BUILDERS)}")
    builder = _BUILDERS[key]
    allowed = [
        p.name for p in inspect.signature(builder).parameters.values() if p.kind is p.KEYWORD_ONLY
    ]
    for option in options:
        if option not in allowed:
            raise InvalidInput(
                f"problem {key!r} has no option {option!r}; it has {', '.join(allowed)}."
            )
    return builder(**options)


def load_structure(source: str | PathLike[str], /, **options: Any) -> Structure:
    """Return the structure of an embedded problem, or read one from a file.

    Parameters
    ----------
    source
        An embedded name, or the path of a file written by `Structure.save`. A name takes
        precedence over a file of the same name; write "./name" for the file.
    options
        As in `load_problem`, for an embedded name.

    Notes
    -----
    Functions cannot be stored: a structure made from functions interpolates between grid points
    after it is read from a file.

    Examples
    --------
    >>> load_structure("three-arms")
    <Structure three-arms: 3 arms, 601 θ in [0, 6], sigma 2>
    """
    if isinstance(source, str) and source.strip().lower() in _BUILDERS:
        return load_problem(source, **options).structure
    if options:
        raise InvalidInput(
            f"options ({', '.join(options)}) need an embedded name, and {str(source)!r} is "
            "not one; leave them out."
        )
    if not isinstance(source, str | PathLike):
        raise InvalidInput(f"{source!r} is not a structure; give an embedded name or a file.")
    path = Path(source)
    if not str(source).strip() or not _exists(path):
        raise FileError(
            f"{brief(str(source))} is neither a file nor an embedded name; "
            f"{suggestion(brief(str(source)), _BUILDERS)}"
        )
    return read_structure(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # for example a name that is too long
        raise FileError(
            f"{brief(str(path))} cannot be read: {error.strerror}; give a shorter name."
        ) from error


def describe_problems() -> list[ProblemRow]:
    """Return one row per embedded problem.

    Examples
    --------
    >>> rows = describe_problems()
    >>> rows[0].name, rows[0].arms, rows[0].parameters, rows[0].thetas
    ('setup', 3, 601, ('3',))
    """
    rows = []
    for name in _BUILDERS:
        problem = load_problem(name)
        structure = problem.structure
        thetas = tuple(problem.label(theta) for theta in problem.thetas)
        rows.append(
            ProblemRow(name, structure.n_arms, structure.n_parameters, thetas, problem.title)
        )
    return rows
