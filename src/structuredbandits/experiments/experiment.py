"""What an experiment is and what it gives.

This module knows the form only: no figure, no problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from structuredbandits.simulation import Results


PAPER, HERE = "paper", "here"


class Claim(NamedTuple):
    """Something that is said, whether it came out here, and the number that decides."""

    text: str
    held: bool
    statistic: str
    of: str = PAPER
    """Who says it: the paper, or this library beyond it."""


class Request(NamedTuple):
    """How an experiment is to be run."""

    runs: int
    seed: int
    n_jobs: int
    simulate: Callable[..., Results]


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper, or a few that belong together.

    Parameters
    ----------
    id
        Short, as it is typed.
    title
        One line.
    shows
        What the pictures show, in a sentence or two.
    runs
        Runs in the paper's setting; 0 if nothing is simulated.
    rounds
        Rounds of all its simulations with one run each, for the progress bar.
    weight
        How long one of them takes, compared with a round of a simple policy on three arms.
    work
        From a request to an outcome.
    """

    id: str
    title: str
    shows: str
    runs: int
    rounds: int
    work: Callable[[Request], Outcome]
    weight: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What came out: pictures by name, the numbers, the claims and the settings."""

    figures: dict[str, Figure]
    table: pd.DataFrame
    claims: tuple[Claim, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def figure(self) -> Figure:
        """The main picture."""
        return next(iter(self.figures.values()))
