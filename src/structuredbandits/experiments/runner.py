"""Run experiments, store the finished ones, and resume after an interruption."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structuredbandits._version import __version__
from structuredbandits.errors import FileError, InvalidInput
from structuredbandits.experiments._experiment_ids import load_experiment
from structuredbandits.experiments.experiment import (
    Claim,
    ExperimentRequest,
    Outcome,
    PaperExperiment,
)
from structuredbandits.plots import save
from structuredbandits.progress import Mode, Reporter, reporting
from structuredbandits.simulation import Results, simulate

FORMATS = ("png", "svg", "pdf")
_DRAWING_COST = 2_000_000  # rounds that take about as long as drawing the figures


@dataclass(frozen=True)
class Kept:
    """A finished experiment on disk."""

    experiment: PaperExperiment
    folder: Path
    pictures: tuple[str, ...]
    claims: tuple[Claim, ...]
    settings: dict[str, Any]
    runs: int
    seed: int


def run(
    id: str,
    *,
    runs: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    movielens: str | Path | None = None,
    progress: Mode = "auto",
) -> Outcome:
    """Run one experiment; its id, the seed and the version reproduce it exactly.

    ``movielens`` is a MovieLens folder of your own, for the experiment "people".

    Examples
    --------
    >>> outcome = run("corner")
    >>> outcome.claims[0].held, outcome.claims[0].statistic
    (True, 'C = 2, C̃ = 1, lower bound 0')
    """
    experiment = load_experiment(id)
    with reporting(progress, experiment.id, cost(experiment, runs)) as reporter:
        share = _Share(reporter, experiment, runs)
        return _work(experiment, runs, seed, n_jobs, share, _folder(movielens))


def cost(experiment: PaperExperiment, runs: int | None) -> int:
    """Return the cost of an experiment, in rounds of a simple policy."""
    rounds = experiment.rounds * _runs(experiment, runs)
    return int(experiment.weight * rounds) + _DRAWING_COST


def _runs(experiment: PaperExperiment, runs: int | None) -> int:
    if runs is not None and (isinstance(runs, bool) or not isinstance(runs, int) or runs < 1):
        raise InvalidInput(f"runs is {runs!r}; give a whole number of at least 1.")
    return experiment.runs if runs is None or experiment.runs == 0 else runs


def _folder(movielens: str | Path | None) -> Path | None:
    return None if movielens is None else Path(movielens).expanduser()


def _work(
    experiment: PaperExperiment,
    runs: int | None,
    seed: int,
    n_jobs: int,
    share: _Share,
    movielens: Path | None = None,
) -> Outcome:
    def simulate_and_report(*arguments: Any, **options: Any) -> Results:
        results = simulate(*arguments, **options)
        rounds = len(results.policies) * len(results.thetas) * results.runs * results.horizon
        share.advance(rounds)
        return results

    request = ExperimentRequest(
        _runs(experiment, runs), seed, n_jobs, simulate_and_report, movielens
    )
    outcome = experiment.work(request)
    share.finish()
    return outcome


def reproduce(
    ids: Sequence[str],
    out: str | Path,
    *,
    runs: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    picture_format: str = "png",
    movielens: str | Path | None = None,
    progress: Mode = "auto",
) -> list[Kept]:
    """Run experiments into a folder, one subfolder each; finished ones are skipped.

    Parameters
    ----------
    ids
        The IDs of the experiments.
    out
        The folder.
    runs
        Runs of every simulation; the paper's number if None.
    seed, n_jobs, progress
        As in `simulate`.
    picture_format
        "png", "svg" or "pdf"; a PNG is always written as well, for the report.
    movielens
        A MovieLens folder of your own (100K or 1M), for the experiment "people".
    """
    if picture_format not in FORMATS:
        raise InvalidInput(f"{picture_format!r} is not a format; give one of {', '.join(FORMATS)}.")
    chosen = [load_experiment(name) for name in ids]
    total = sum(cost(experiment, runs) for experiment in chosen)
    folder = Path(out)
    kept = []
    with reporting(progress, "reproducing", total) as reporter:
        for experiment in chosen:
            place = folder / experiment.id
            key = _key(experiment, runs, seed, picture_format, _folder(movielens))
            found = _read(experiment, place, key)
            if found is None:
                reporter.note(f"{experiment.id}: {experiment.title}")
                share = _Share(reporter, experiment, runs)
                outcome = _work(experiment, runs, seed, n_jobs, share, _folder(movielens))
                found = _write(experiment, place, key, outcome, runs, seed, picture_format)
            else:
                reporter.advance(cost(experiment, runs))
            kept.append(found)
    return kept


class _Share:
    """One experiment's share of the total progress, complete when the experiment ends."""

    def __init__(self, reporter: Reporter, experiment: PaperExperiment, runs: int | None) -> None:
        self._reporter, self._weight = reporter, experiment.weight
        self._left = cost(experiment, runs)

    def advance(self, rounds: int) -> None:
        """Record this many further simulated rounds."""
        steps = min(int(self._weight * rounds), self._left)
        self._left -= steps
        self._reporter.advance(steps)

    def finish(self) -> None:
        """Record that the figures are drawn."""
        self._reporter.advance(self._left)
        self._left = 0


def _key(
    experiment: PaperExperiment,
    runs: int | None,
    seed: int,
    picture_format: str,
    movielens: Path | None = None,
) -> str:
    text = f"{experiment.id}|{_runs(experiment, runs)}|{seed}|{picture_format}|{__version__}"
    if movielens is not None:
        text += f"|{movielens.resolve()}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _write(
    experiment: PaperExperiment,
    place: Path,
    key: str,
    outcome: Outcome,
    runs: int | None,
    seed: int,
    picture_format: str,
) -> Kept:
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, drawn in outcome.figures.items():
            for ending in dict.fromkeys(("png", picture_format)):
                save(drawn, place / f"{_slug(name)}.{ending}")
        outcome.table.to_csv(place / "table.csv", index=False)
        about = {
            "key": key,
            "pictures": [_slug(name) for name in outcome.figures],
            # A comparison of arrays gives a NumPy bool, which JSON cannot encode.
            "claims": [claim._replace(held=bool(claim.held))._asdict() for claim in outcome.claims],
            "settings": outcome.settings,
            "runs": _runs(experiment, runs),
            "seed": seed,
            "version": __version__,
        }
        # Written last and atomically: an experiment without it is run again.
        unfinished = place / ".outcome.json"
        text = json.dumps(about, indent=1, default=str, ensure_ascii=False)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(place / "outcome.json")
    except OSError as error:
        raise FileError(
            f"the folder {str(place)!r} cannot be written ({error.strerror or error}); choose "
            "another folder."
        ) from error
    found = _read(experiment, place, key)
    assert found is not None
    return found


def _read(experiment: PaperExperiment, place: Path, key: str) -> Kept | None:
    try:
        about = json.loads((place / "outcome.json").read_text(encoding="utf-8"))
        if about["key"] != key:
            return None
        return Kept(
            experiment,
            place,
            tuple(about["pictures"]),
            tuple(Claim(**claim) for claim in about["claims"]),
            about["settings"],
            about["runs"],
            about["seed"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")
