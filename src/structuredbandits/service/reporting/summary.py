"""The summary of an experiment: allocation over time, rewards, and fit of the structure."""

from __future__ import annotations

import itertools
import logging
import math
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, desc, select

from structuredbandits.confidence.refutation import pooled_evidence
from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.decisions.explanation import STATES, timestamp
from structuredbandits.service.experiments.experiment_cache import ExperimentCache
from structuredbandits.service.experiments.stored_experiment import (
    StoredExperiment,
    Version,
    require_experiment,
)
from structuredbandits.service.reporting.aggregates import (
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
    AggregateCache,
    Totals,
)
from structuredbandits.service.reporting.event_log import exported
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import now
from structuredbandits.service.storage.tables import DEFAULTED, REWARDED
from structuredbandits.service.subjects.subject_state import SubjectState

_log = logging.getLogger(__name__)
# How many rows of the log the baseline uses, and how many subjects the health check.
_COMPARED_ROWS = 2_000
_COMPARED_SUBJECTS = 200
_BASELINE = "ts"
# Clocks of replicas may differ by this much.
_SKEW = 3_600 * 1_000_000


def summarise(
    connection: Connection,
    experiment_cache: ExperimentCache,
    aggregates: AggregateCache,
    name: str,
    buckets: int,
    seconds: float = math.inf,
) -> dict[str, Any]:
    """Counts and allocation over time of an experiment, counted for at most ``seconds``.

    What could not be counted in time keeps its previous value, see ``complete`` and ``as_of``.
    """
    experiment = require_experiment(connection, name)
    seen = aggregates.of(experiment).look(connection, seconds)
    arms = _arms(connection, experiment_cache, experiment, seen.sums)
    structure = experiment_cache.version(connection, experiment, experiment.version).structure
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
    connection: Connection,
    experiment_cache: ExperimentCache,
    experiment: StoredExperiment,
    sums: np.ndarray,
) -> _Arms:
    pairs, rows = np.unique(sums[:, [VERSION, ARM]].astype(int), axis=0, return_inverse=True)
    pairs_arms = [
        experiment_cache.version(connection, experiment, int(version)).structure.arms[int(arm)]
        for version, arm in pairs
    ]
    names = sorted(set(pairs_arms))
    places = np.array([names.index(arm) for arm in pairs_arms], dtype=np.int64)
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


def _timeline(seen: Totals, arms: _Arms, buckets: int) -> list[dict[str, Any]]:
    """A row for each stretch of time, also where nothing happened."""
    if not seen.sums.size:
        return []
    bins = seen.sums[:, BEGIN].astype(np.int64) // seen.width
    first, last = int(bins.min()), int(bins.max())
    across = (last - first) // buckets + 1  # bins in a bucket
    places = (bins - first) // across
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


def compare(connection: Connection, experiment_cache: ExperimentCache, name: str) -> dict[str, Any]:
    """What an unstructured policy would have earned, and how well subjects fit the structure."""
    experiment = require_experiment(connection, name)
    version = experiment_cache.version(connection, experiment, experiment.version)
    who, table, stored = tables.subjects, tables.decisions, tables.structures
    # No subject has the version from before it existed: without this bound all older subjects are
    # read while few have it.
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
    experiment: StoredExperiment, version: Version, rows: list[dict[str, Any]]
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
    if estimate.interval == "none":
        _log.info("no baseline: %s", estimate.reason)
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
    """How well the latest subjects fit the structure, by their pooled evidence against it."""
    checked = len(states)
    logs, limit = version.chooser.evidence(states)
    refuted = int((logs >= limit).sum())
    doubtful = int((logs >= 0.5 * limit).sum()) - refuted
    together = pooled_evidence(logs)
    latest = f"latest {checked} subjects" if checked > 1 else "latest subject"
    if not checked:
        verdict, sentence = "untested", "No reward has come yet, so the structure is untested."
    elif together >= limit:
        verdict = "refuted"
        sentence = f"The rewards of the {latest} refute the structure: re-learn it."
    elif together >= 0.5 * limit:
        verdict = "doubtful"
        sentence = f"The rewards of the {latest} fit the structure badly."
    else:
        verdict, sentence = "fits", f"The structure fits the {latest}."
    return {
        "verdict": verdict,
        "sentence": sentence,
        "subjects_checked": checked,
        "doubtful": doubtful,
        "refuted": refuted,
    }
