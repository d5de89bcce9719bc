"""The results of a simulation: regret and reward at checkpoints, and final pulls, of every run."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from structuredbandits.simulation._result_files import read_results, write_results
from structuredbandits.structure.parameters import show_theta

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Results of `simulate`.

    Attributes
    ----------
    policies, thetas, arms
        Labels of the first axes.
    rounds : (checkpoints,)
        The rounds at which regret is recorded; the last is the horizon.
    regret, reward : (policies, thetas, runs, checkpoints)
        Cumulative regret against the best arm's true mean, and cumulative reward.
    pulls : (policies, thetas, runs, arms)
        Number of pulls of each arm at the horizon.
    empty_rounds : (policies, thetas, runs)
        Decisions made while no θ was plausible.
    seed, problem
        What is needed to repeat the simulation.
    """

    policies: tuple[str, ...]
    thetas: tuple[Any, ...]
    arms: tuple[str, ...]
    rounds: np.ndarray
    regret: np.ndarray
    reward: np.ndarray
    pulls: np.ndarray
    empty_rounds: np.ndarray
    seed: int
    problem: str | None = None

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(self.regret.shape[2])

    @property
    def horizon(self) -> int:
        """Number of rounds per run."""
        return int(self.rounds[-1])

    def to_frame(self) -> pd.DataFrame:
        """All results as flat rows: policy, theta, run, round, regret, reward."""
        import pandas as pd

        n_policies, n_thetas, n_runs, n_rounds = self.regret.shape
        each = n_runs * n_rounds
        names = np.repeat(np.array(self.policies, dtype=object), n_thetas * each)
        labels = np.array([theta_label(theta) for theta in self.thetas])
        labels = labels.astype(object) if labels.dtype.kind == "U" else labels
        return pd.DataFrame(
            {
                "policy": names,
                "theta": np.tile(np.repeat(labels, each), n_policies),
                "run": np.tile(np.repeat(np.arange(n_runs), n_rounds), n_policies * n_thetas),
                "round": np.tile(self.rounds, n_policies * n_thetas * n_runs),
                "regret": self.regret.ravel(),
                "reward": self.reward.ravel(),
            }
        )

    def mean(self) -> np.ndarray:
        """Mean regret: (policies, thetas, checkpoints)."""
        return np.asarray(self.regret.mean(axis=2))

    def standard_error(self) -> np.ndarray:
        """Standard error of the mean, NaN for one run: (policies, thetas, checkpoints)."""
        if self.runs == 1:
            return np.full(self.mean().shape, np.nan)
        return np.asarray(self.regret.std(axis=2, ddof=1) / np.sqrt(self.runs))

    def band(self) -> tuple[np.ndarray, np.ndarray]:
        """95 % confidence band of the mean, low and high: (policies, thetas, checkpoints)."""
        half = _NORMAL_95 * self.standard_error()
        return self.mean() - half, self.mean() + half

    def summary(self) -> pd.DataFrame:
        """One row per policy and θ: final regret, its standard error, and the reward."""
        import pandas as pd

        final = self.regret[..., -1]
        error = self.standard_error()[..., -1]
        rows = []
        for i, policy in enumerate(self.policies):
            for j, theta in enumerate(self.thetas):
                values = final[i, j]
                rows.append(
                    {
                        "policy": policy,
                        "theta": theta_label(theta),
                        "regret": values.mean(),
                        "standard_error": error[i, j],
                        "median": np.median(values),
                        "worst": values.max(),
                        "reward": self.reward[i, j, :, -1].mean(),
                        "empty_rounds": self.empty_rounds[i, j].mean(),
                    }
                )
        return pd.DataFrame(rows)

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw mean regret with its band, one panel per θ; save the figure if a path is given."""
        from structuredbandits.plots import regret_plot, save

        figure = regret_plot(self)
        if path is not None:
            save(figure, path)
        return figure

    def save(self, path: str | PathLike[str]) -> None:
        """Write to a .parquet file (complete, `load_results` reads it) or a .csv of `to_frame`.

        The .parquet file has the rows of `to_frame` and, where the round is the horizon, the
        columns `empty_rounds` and `pulls` (one number per arm).
        """
        write_results(self, path)

    def __repr__(self) -> str:
        return (
            f"<Results: {len(self.policies)} policies, {len(self.thetas)} θ, {self.runs} runs of "
            f"{self.horizon} rounds>"
        )


def theta_label(theta: object) -> Any:
    """A θ as shown in a table: numbers stay numbers, vectors and labels become text.

    Examples
    --------
    >>> theta_label(0.5), theta_label((0.9, 0.2)), theta_label(("18-24", "artist"))
    (0.5, '(0.9, 0.2)', '18-24 artist')
    """
    return theta if isinstance(theta, (int, float, str)) else show_theta(theta)


def load_results(path: str | PathLike[str]) -> Results:
    """Load results that `Results.save` wrote to a .parquet file.

    Examples
    --------
    >>> import tempfile
    >>> from structuredbandits.simulation import simulate
    >>> results = simulate("three-arms", "ucb", theta=0.5, horizon=100, runs=2)
    >>> path = tempfile.mkdtemp() + "/results.parquet"
    >>> results.save(path)
    >>> load_results(path)
    <Results: 1 policies, 1 θ, 2 runs of 100 rounds>
    """
    return Results(**read_results(path))
