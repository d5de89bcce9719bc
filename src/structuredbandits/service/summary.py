"""An experiment at a glance: what was shown when, what it earned, and whether the structure fits.

This module reads and adds up. It must not know HTTP, nor who draws it.
"""

from __future__ import annotations

import itertools
import logging
import math
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, desc, select

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.answers import STATES, timestamp
from structuredbandits.service.catalogue import Catalogue
from structuredbandits.service.events import exported
from structuredbandits.service.experiments import Experiment, Version, now, require_experiment
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.tables import DEFAULTED, REWARDED
from structuredbandits.service.subject_state import SubjectState
from structuredbandits.service.tallies import (
    ARM,
    BEGIN,
    COUNT,
    LATE,
    REWARDS,
    SQUARES,
    STATE,
    VERSION,
    WEIGHTED,
    WEIGHTS,
    Seen,
    Tallies,
)

_log = logging.getLogger(__name__)
# So much of the log is compared with the baseline, and so many subjects with the structure.
_COMPARED_ROWS = 2_000
_COMPARED_SUBJECTS = 200
_BASELINE = "ts"
# Clocks of replicas may differ by so much.
_SKEW = 3_600 * 1_000_000


def summarise(
    connection: Connection,
    catalogue: Catalogue,
    tallies: Tallies,
    name: str,
    buckets: int,
    seconds: float = math.inf,
) -> dict[str, Any]:
    """Counts and allocation over time of an experiment, counted for so many seconds at most.

    What could not be counted by then is as it was before, and ``complete`` and ``as_of`` say so.
    """
    experiment = require_experiment(connection, name)
    seen = tallies.of(experiment).look(connection, seconds)
    arms = _arms(connection, catalogue, experiment, seen.sums)
    structure = catalogue.version(connection, experiment, experiment.version).structure
    return {
        "experiment": name,
        "now": timestamp(now()),
        "as_of": timestamp(seen.as_of) if seen.complete else None,
        "complete": seen.complete,
        "state": experiment.state,
        "policy": experiment.policy,
        "minimize": structure.minimize,
        "subjects": seen.subjects,
        **_totals(seen.sums),
        "arms": _by_arm(seen.sums, arms),
        "buckets": _timeline(seen, arms, buckets),
    }


class _Arms(NamedTuple):
    """The arm of each row of sums; versions may have other arms at the same position."""

    names: list[str]
    places: np.ndarray

    def shown(self, sums: np.ndarray, rows: np.ndarray) -> dict[str, int]:
        """How often each arm was shown, in some of the rows."""
        counts = np.bincount(self.places[rows], sums[rows, COUNT], len(self.names))
        return {self.names[k]: int(counts[k]) for k in np.flatnonzero(counts)}


def _arms(
    connection: Connection, catalogue: Catalogue, experiment: Experiment, sums: np.ndarray
) -> _Arms:
    pairs, rows = np.unique(sums[:, [VERSION, ARM]].astype(int), axis=0, return_inverse=True)
    told = [
        catalogue.version(connection, experiment, int(version)).structure.arms[int(arm)]
        for version, arm in pairs
    ]
    names = sorted(set(told))
    places = np.array([names.index(arm) for arm in told], dtype=np.int64)
    return _Arms(names, places[rows.reshape(-1)])


class _Earned(NamedTuple):
    """Sums over decisions whose reward counts."""

    settled: int
    rewards: float
    squares: float
    weighted: float  # rewards over probabilities
    weights: float  # ones over probabilities

    @classmethod
    def of(cls, sums: np.ndarray) -> _Earned:
        """What these groups of decisions earned."""
        counts = sums[np.isin(sums[:, STATE], (REWARDED, DEFAULTED))]
        added = counts[:, [COUNT, REWARDS, SQUARES, WEIGHTED, WEIGHTS]].sum(axis=0)
        return cls(int(added[0]), *(float(one) for one in added[1:]))

    @property
    def mean(self) -> float | None:
        """Mean reward."""
        return self.rewards / self.settled if self.settled else None

    @property
    def standard_error(self) -> float | None:
        """Of the mean, as if decisions were independent."""
        if self.settled < 2:
            return None
        mean = self.rewards / self.settled
        variance = max(self.squares / self.settled - mean * mean, 0.0)
        return math.sqrt(variance / (self.settled - 1))

    @property
    def uniform(self) -> float | None:
        """What arms shown with equal chance would have earned, by self-normalised weights."""
        return self.weighted / self.weights if self.settled else None


def _totals(sums: np.ndarray) -> dict[str, Any]:
    """Counts of all."""
    counts = {
        name: int(sums[sums[:, STATE] == state, COUNT].sum()) for state, name in STATES.items()
    }
    earned = _Earned.of(sums)
    return {
        "decisions": sum(counts.values()),
        "rewards": counts["rewarded"],
        "defaulted": counts["default"],
        "expired": counts["expired"],
        "pending": counts["pending"],
        "late": int(sums[:, LATE].sum()),
        "mean_reward": earned.mean,
        "standard_error": earned.standard_error,
        "uniform": earned.uniform,
    }


def _by_arm(sums: np.ndarray, arms: _Arms) -> list[dict[str, Any]]:
    """Counts of each arm that was shown."""
    rows = []
    for place, arm in enumerate(arms.names):
        own = sums[arms.places == place]
        earned = _Earned.of(own)
        rows.append(
            {
                "arm": arm,
                "decisions": int(own[:, COUNT].sum()),
                "rewards": earned.settled,
                "mean_reward": earned.mean,
            }
        )
    return rows


def _timeline(seen: Seen, arms: _Arms, buckets: int) -> list[dict[str, Any]]:
    """A row for each stretch of time, also where nothing happened."""
    if not seen.sums.size:
        return []
    cells = seen.sums[:, BEGIN].astype(np.int64) // seen.width
    first, last = int(cells.min()), int(cells.max())
    across = (last - first) // buckets + 1  # cells in a bucket
    places = (cells - first) // across
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange((last - first) // across + 2))
    rows = []
    for place, (begin, end) in enumerate(itertools.pairwise(ends)):
        inside = order[begin:end]
        earned = _Earned.of(seen.sums[inside])
        rows.append(
            {
                "start": timestamp((first + place * across) * seen.width),
                "decisions": arms.shown(seen.sums, inside),
                "rewards": earned.settled,
                "mean_reward": earned.mean,
                "uniform": earned.uniform,
            }
        )
    return rows


def compare(connection: Connection, catalogue: Catalogue, name: str) -> dict[str, Any]:
    """What an unstructured policy would have earned, and how well subjects fit the structure."""
    experiment = require_experiment(connection, name)
    version = catalogue.version(connection, experiment, experiment.version)
    who, table, stored = tables.subjects, tables.decisions, tables.structures
    # Nobody got the version before it was there: without that bound, everybody older is read where
    # few have it yet.
    since = connection.execute(
        select(stored.c.created).where(
            stored.c.experiment == name, stored.c.version == version.number
        )
    ).scalar_one()
    recent = connection.execute(
        select(who.c.number, who.c.state)
        .where(who.c.experiment == name, who.c.created >= since - _SKEW)
        .where(who.c.version == version.number)
        .order_by(desc(who.c.created))
        .limit(_COMPARED_SUBJECTS)
    ).all()
    rows: list[dict[str, Any]] = []
    for number, _ in recent:
        if len(rows) >= _COMPARED_ROWS:
            break
        found = connection.execute(
            select(table, who.c.name)
            .join(who, who.c.number == table.c.subject)
            .where(table.c.subject == number, table.c.reward.is_not(None))
            .order_by(table.c.round)
            .limit(_COMPARED_ROWS)
        ).mappings()
        rows += [exported(experiment, version.structure.arms, dict(row)) for row in found]
    states = [SubjectState.from_json(state) for _, state in recent]
    return {
        "baseline": baseline(experiment, version, rows),
        "health": health(version, [state for state in states if state.received]),
    }


def baseline(
    experiment: Experiment, version: Version, rows: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """An estimate, from the log, of Thompson sampling that does not know the structure."""
    import pandas as pd

    from structuredbandits.evaluation import evaluate

    if len(rows) < 2:
        return None
    frame = pd.DataFrame(rows)
    options: dict[str, Any] = {"structure": version.structure, "method": "dr", "progress": "off"}
    try:
        estimate = evaluate(frame, _BASELINE, horizon=experiment.settings.horizon, **options)
    except StructuredBanditsError as error:
        _log.info("no baseline: %s", error)
        return None
    return {
        "policy": _BASELINE,
        "estimate": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "logged": estimate.logged_value,
        "decisions": estimate.n,
        "how": f"What {_BASELINE}, which does not know the structure, would have earned in the "
        f"latest {estimate.n:,} settled decisions ({estimate.method}, 95 % interval).",
    }


def health(version: Version, states: list[SubjectState]) -> dict[str, Any]:
    """How many of the latest subjects fit the structure."""
    verdicts = [version.chooser.diagnose(state) for state in states]
    refuted = sum(one.refuted for one in verdicts)
    doubtful = sum(not one.refuted and one.surprise < 0.01 for one in verdicts)
    checked = len(verdicts)
    latest = f"latest {checked} subjects" if checked > 1 else "latest subject"
    if not checked:
        verdict, sentence = "untested", "No reward has come yet, so the structure is untested."
    elif refuted > 0.05 * checked:
        verdict = "refuted"
        sentence = (
            f"{refuted} of the {checked} latest subjects refute the structure: learn it anew."
        )
    elif refuted + doubtful > 0.1 * checked:
        verdict = "doubtful"
        sentence = f"{refuted + doubtful} of the {checked} latest subjects fit the structure badly."
    else:
        verdict, sentence = "fits", f"The structure fits the {latest}."
    return {
        "verdict": verdict,
        "sentence": sentence,
        "subjects_checked": checked,
        "doubtful": doubtful,
        "refuted": refuted,
    }
