"""An experiment at a glance: what was shown when, what it earned, and whether the structure fits.

This module reads and adds up. It must not know HTTP, nor who draws it.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, desc, func, select

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.answers import STATES, timestamp
from structuredbandits.service.catalogue import Catalogue
from structuredbandits.service.events import exported
from structuredbandits.service.experiments import Experiment, Version, now, require_experiment
from structuredbandits.service.storage import tables
from structuredbandits.service.subject_state import SubjectState

_log = logging.getLogger(__name__)
# So much of the log is compared with the baseline, and so many subjects with the structure.
_COMPARED_ROWS = 2_000
_COMPARED_SUBJECTS = 200
_BASELINE = "ts"


def summarise(
    connection: Connection, catalogue: Catalogue, name: str, buckets: int
) -> dict[str, Any]:
    """Counts and allocation over time of an experiment."""
    experiment = require_experiment(connection, name)
    table = tables.decisions
    first, last = connection.execute(
        select(func.min(table.c.created), func.max(table.c.created)).where(
            table.c.experiment == name
        )
    ).one()
    subjects = connection.execute(
        select(func.count())
        .select_from(tables.subjects)
        .where(tables.subjects.c.experiment == name)
    ).scalar_one()
    begin = experiment.created if first is None else int(first)
    end = now() if last is None else int(last)
    width = max((end - begin) // buckets + 1, 1)
    bucket = ((table.c.created - begin) // width).label("bucket")
    statement = (
        select(
            bucket,
            table.c.version,
            table.c.arm,
            table.c.state,
            func.count(),
            func.sum(table.c.reward),
            func.sum(table.c.reward * table.c.reward),
            func.sum(table.c.reward / table.c.probability),
            func.sum(1.0 / table.c.probability),
            func.count(table.c.late_reward),
        )
        .where(table.c.experiment == name)
        .group_by(bucket, table.c.version, table.c.arm, table.c.state)
    )
    counted = _Counted(buckets)
    for place, number, arm, state, count, *sums, late in connection.execute(statement):
        arms = catalogue.version(connection, experiment, number).structure.arms
        counted.add(int(place), arms[arm], STATES[state], count, sums, late)
    return {
        "experiment": name,
        "now": timestamp(now()),
        "state": experiment.state,
        "policy": experiment.policy,
        "subjects": subjects,
        **counted.totals(),
        "arms": counted.by_arm(),
        "buckets": counted.timeline(begin, width),
    }


class _Earned:
    """Sums over decisions whose reward counts."""

    def __init__(self) -> None:
        self.count = 0
        self.sums = [0.0, 0.0, 0.0, 0.0]  # rewards, squares, rewards and ones over probabilities

    def add(self, count: int, sums: list[float | None]) -> None:
        """Take in one group."""
        self.count += count
        self.sums = [a + float(b or 0.0) for a, b in zip(self.sums, sums, strict=True)]

    @property
    def mean(self) -> float | None:
        """Mean reward."""
        return self.sums[0] / self.count if self.count else None

    @property
    def standard_error(self) -> float | None:
        """Of the mean, as if decisions were independent."""
        if self.count < 2:
            return None
        mean = self.sums[0] / self.count
        variance = max(self.sums[1] / self.count - mean * mean, 0.0)
        return math.sqrt(variance / (self.count - 1))

    @property
    def uniform(self) -> float | None:
        """What arms shown with equal chance would have earned, by self-normalised weights."""
        return self.sums[2] / self.sums[3] if self.count else None


class _Counted:
    """Adds up groups of decisions."""

    def __init__(self, buckets: int) -> None:
        self._places = buckets
        self._late = 0
        self._states: dict[str, int] = defaultdict(int)
        self._all = _Earned()
        self._arms: dict[str, _Earned] = defaultdict(_Earned)
        self._shown: dict[str, int] = defaultdict(int)
        self._shown_then: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._earned_then: dict[int, _Earned] = defaultdict(_Earned)

    def add(
        self, place: int, arm: str, state: str, count: int, sums: list[float | None], late: int
    ) -> None:
        """Take in one group."""
        self._states[state] += count
        self._late += late
        self._shown[arm] += count
        self._shown_then[place][arm] += count
        if state in ("rewarded", "default"):
            for earned in (self._all, self._arms[arm], self._earned_then[place]):
                earned.add(count, sums)

    def totals(self) -> dict[str, Any]:
        """Counts of all."""
        return {
            "decisions": sum(self._states.values()),
            "rewards": self._states["rewarded"],
            "defaulted": self._states["default"],
            "expired": self._states["expired"],
            "pending": self._states["pending"],
            "late": self._late,
            "mean_reward": self._all.mean,
            "standard_error": self._all.standard_error,
            "uniform": self._all.uniform,
        }

    def by_arm(self) -> list[dict[str, Any]]:
        """Counts of each arm that was shown."""
        return [
            {
                "arm": arm,
                "decisions": count,
                "rewards": self._arms[arm].count,
                "mean_reward": self._arms[arm].mean,
            }
            for arm, count in sorted(self._shown.items())
        ]

    def timeline(self, begin: int, width: int) -> list[dict[str, Any]]:
        """A row for each stretch of time, also where nothing happened."""
        last = max(self._shown_then, default=-1)
        return [
            {
                "start": timestamp(begin + place * width),
                "decisions": dict(sorted(self._shown_then[place].items())),
                "rewards": self._earned_then[place].count,
                "mean_reward": self._earned_then[place].mean,
                "uniform": self._earned_then[place].uniform,
            }
            for place in range(min(last + 1, self._places))
        ]


def compare(connection: Connection, catalogue: Catalogue, name: str) -> dict[str, Any]:
    """What an unstructured policy would have earned, and how well subjects fit the structure."""
    experiment = require_experiment(connection, name)
    version = catalogue.version(connection, experiment, experiment.version)
    who, table = tables.subjects, tables.decisions
    recent = connection.execute(
        select(who.c.number, who.c.state)
        .where(who.c.experiment == name, who.c.version == version.number)
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
    if not checked:
        verdict, sentence = "untested", "No reward has come yet, so the structure is untested."
    elif refuted > 0.05 * checked:
        verdict = "refuted"
        sentence = (
            f"{refuted} of the latest {checked} subjects refute the structure: learn it anew."
        )
    elif refuted + doubtful > 0.1 * checked:
        verdict = "doubtful"
        sentence = f"{refuted + doubtful} of the latest {checked} subjects fit the structure badly."
    else:
        verdict, sentence = "fits", f"The structure fits the latest {checked} subjects."
    return {
        "verdict": verdict,
        "sentence": sentence,
        "subjects_checked": checked,
        "doubtful": doubtful,
        "refuted": refuted,
    }
