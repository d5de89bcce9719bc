"""`PaperExperiment`, its request, its outcome and the claims that it checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from structuredbandits.simulation import Results


PAPER, HERE = "paper", "here"


class Claim(NamedTuple):
    """A statement, whether it held here, and the statistic that decides."""

    text: str
    held: bool
    statistic: str
    of: str = PAPER
    """The source of the statement: the paper, or this library."""


class ExperimentRequest(NamedTuple):
    """The arguments with which an experiment is run."""

    runs: int
    seed: int
    n_jobs: int
    simulate: Callable[..., Results]
    movielens: Path | None = None
    """A MovieLens folder of the user's own."""


@dataclass(frozen=True)
class PaperExperiment:
    """One figure of the paper, or several related ones.

    Parameters
    ----------
    id
        A short ID, as typed on the command line.
    title
        A title of one line.
    shows
        What the figures show, in one or two sentences.
    runs
        Runs in the paper's setting; 0 if nothing is simulated.
    rounds
        The rounds of all its simulations with one run each, for the progress bar.
    weight
        The duration of one round, relative to a round of a simple policy on three arms.
    work
        The function that turns a request into an outcome.
    """

    id: str
    title: str
    shows: str
    runs: int
    rounds: int
    work: Callable[[ExperimentRequest], Outcome]
    weight: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """The result: figures by name, a table, the claims and the settings."""

    figures: dict[str, Figure]
    table: pd.DataFrame
    claims: tuple[Claim, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def figure(self) -> Figure:
        """The main figure."""
        return next(iter(self.figures.values()))
