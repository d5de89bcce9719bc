"""Hidden kinds of visitors, learned from who liked what, without labels.

The number of kinds is chosen on held-out subjects; the result is an ordinary structure whose Θ are
the kinds, with their shares as prior and standard errors of their means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.learning._cells import Engine
from structuredbandits.learning._choice_replay import replay as replay_choices
from structuredbandits.learning._factors import fit_factors
from structuredbandits.learning._mixture import (
    Mixture,
    fit_labelled,
    fit_mixture,
    standard_errors,
)
from structuredbandits.learning._subject_table import IntArray, SubjectTable, read_subjects
from structuredbandits.learning.people_models import Model, belief_of
from structuredbandits.progress import Mode, reporting
from structuredbandits.structure import Finite, FloatArray, Structure

EVERYBODY = "the same for everybody"
SEGMENTS = "segments"
_WITH_LEVEL = " with a personal level"
_LEVEL_ONLY = "only a personal level"
_N_FACTORS = (0, 1, 2, 3, 4, 6, 8, 12)
_CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 30)
_HELD_OUT = 0.2
_SUBJECTS_PER_KIND = 20
_LARGEST_TABLE = 4000
_MOST_SUBJECTS = 200_000
_MOST_FOR_COMPARISON = 20_000  # subjects from which models that are only compared are learned
_FIRST_CHOICES = (5, 10, 20)
_RESTARTS = 4


class ModelScore(NamedTuple):
    """How well one model predicts the held-out subjects."""

    model: str
    log_score: float
    """Mean log likelihood per held-out subject."""
    difference: float
    """Mean difference from the model without kinds."""
    standard_error: float
    """Of the difference, over subjects."""
    first_choices: dict[int, float]
    """Mean reward of the first 5, 10 and 20 choices by replay on the subjects' own rewards."""


class Kind(NamedTuple):
    """One kind of visitor."""

    share: float
    likes: tuple[str, ...]
    """Arms that it rates above the average visitor, beyond doubt (two standard errors)."""
    dislikes: tuple[str, ...]
    """Arms that it rates below the average visitor, beyond doubt."""
    segments: tuple[tuple[str, float], ...]
    """Segments that are more frequent in it than overall, with the ratio."""


@dataclass(frozen=True, eq=False, repr=False)
class KindsReport:
    """How the kinds were chosen, and what distinguishes them.

    Attributes
    ----------
    n_subjects, n_held_out
        Subjects in the log, and those on which the models were compared.
    scores
        One row per model, in the order in which they were tried.
    chosen
        The model that predicts best: "the same for everybody", "3 kinds" or "segments".
    kinds
        One entry per kind of the structure, the most frequent first.
    """

    n_subjects: int
    n_held_out: int
    scores: tuple[ModelScore, ...]
    chosen: str
    kinds: tuple[Kind, ...]

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        found = next(score for score in self.scores if score.model == self.chosen)
        lines = [
            f"{self.n_subjects:,} subjects; models were compared on {self.n_held_out:,} held-out "
            "subjects."
        ]
        if self.chosen == EVERYBODY:
            better = self._better(found)
            none = "Nothing beats the same for everybody: no kinds were found."
            return lines + (["No kinds were found.", *better] if better else [none])
        if self.chosen == SEGMENTS:
            lines.append("The segments predict the held-out subjects better than hidden kinds do.")
            return lines
        lines.append(
            f"{self.chosen[0].upper()}{self.chosen[1:]}: the log score per held-out subject is "
            f"{found.difference:.3g} ± {found.standard_error:.2g} better than without kinds."
        )
        lines += self._better(found)
        for number, kind in enumerate(self.kinds, start=1):
            parts = [f"kind {number} ({kind.share:.0%} of visitors)"]
            if kind.likes:
                parts.append(f"likes {', '.join(kind.likes[:4])}")
            if kind.dislikes:
                parts.append(f"likes less {', '.join(kind.dislikes[:4])}")
            if kind.segments:
                parts.append("more often " + ", ".join(name for name, _ in kind.segments[:2]))
            lines.append("; ".join(parts) + ".")
        return lines

    def _better(self, found: ModelScore) -> list[str]:
        """Name the model that predicts better than the chosen one but cannot be stored."""
        best = max(self.scores, key=lambda score: score.log_score)
        gain = best.log_score - found.log_score
        if not best.model.endswith(_WITH_LEVEL) or gain <= 2.0 * best.standard_error:
            return []
        return [
            f"{best.model[0].upper()}{best.model[1:]} would predict the held-out subjects better "
            f"({gain:.3g} per subject), but cannot be stored as a structure yet."
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<KindsReport: {self.chosen}, {self.n_subjects:,} subjects>"


class LearnedKinds(NamedTuple):
    """A structure of hidden kinds, and the report of how they were found."""

    structure: Structure
    report: KindsReport


def learn_kinds(
    log: Any,
    *,
    arm: str,
    reward: str,
    subject: str,
    segment: str | Sequence[str] = (),
    kinds: int | None = None,
    minimize: bool = False,
    name: str | None = None,
    seed: int = 0,
    engine: Engine = "auto",
    progress: Mode = "off",
) -> LearnedKinds:
    """Learn hidden kinds of visitors from who liked what, without labels.

    A fifth of the subjects is held out; mixtures of 1, 2, 3, ... kinds are fitted to the others,
    and the one that predicts the held-out subjects best is fitted to all. If segment columns are
    given, the segments are one more model to compare with, and kinds are described by them. The
    report also compares kinds with a personal level and factors, unless rewards have two values.

    Logs in which the arms were chosen by another policy need no weights here: a likelihood is
    right as long as a choice depended only on what the subject did before (it is ignorable).

    Parameters
    ----------
    log, arm, reward, engine, progress
        As in `learn_structure`.
    subject
        Name of the column that identifies a person.
    segment
        Names of columns that are known in the log.
    kinds
        The number of kinds; chosen on held-out subjects if None.
    minimize, name
        As in `learn_structure`.
    seed
        Of the split and of the starting points; the same seed gives the same kinds.

    Returns
    -------
    LearnedKinds
        The pair (structure, report).

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> random = np.random.default_rng(1)
    >>> who, film = np.repeat(np.arange(400), 6), np.tile(["art", "war"], 1200)
    >>> stars = np.where((who % 2 == 0) == (film == "art"), 4.0, 2.0) + random.normal(size=2400)
    >>> log = pd.DataFrame({"who": who, "film": film, "stars": stars})
    >>> structure, report = learn_kinds(log, arm="film", reward="stars", subject="who")
    >>> report.chosen, structure.n_parameters
    ('2 kinds', 2)
    """
    if kinds is not None and (not isinstance(kinds, int | np.integer) or kinds < 1):
        raise InvalidInput(f"kinds = {kinds!r} is not a number of kinds; give 1 or more.")
    table = read_subjects(
        log,
        arm=arm,
        reward=reward,
        subject=subject,
        segment=segment,
        engine=engine,
        progress=progress,
    )
    return fit_kinds(table, kinds=kinds, minimize=minimize, name=name, seed=seed, progress=progress)


def fit_kinds(
    table: SubjectTable,
    *,
    kinds: int | None = None,
    minimize: bool = False,
    name: str | None = None,
    seed: int = 0,
    progress: Mode = "off",
) -> LearnedKinds:
    """Choose and fit the kinds of a table of subjects, with the parameters of `learn_kinds`."""
    generator = np.random.default_rng(seed)
    total = table.n_subjects
    if total > _MOST_SUBJECTS:
        table = table.of(np.sort(generator.choice(total, _MOST_SUBJECTS, replace=False)))
    if table.n_subjects < 2 * _SUBJECTS_PER_KIND:
        raise InvalidInput(
            f"{table.n_subjects} subjects are too few to find kinds; give a log with at least "
            f"{2 * _SUBJECTS_PER_KIND}, or learn from segments."
        )
    binary = table.limits.two_values and table.limits.high > table.limits.low
    scaled = _scaled(table) if binary else table
    order = generator.permutation(table.n_subjects)
    n_held = max(int(_HELD_OUT * table.n_subjects), 1)
    held, rest = scaled.of(np.sort(order[:n_held])), scaled.of(np.sort(order[n_held:]))
    sizes = _sizes(kinds, rest)
    with reporting(progress, "fitting kinds", (_RESTARTS + 1) * (len(sizes) + 1)) as reporter:
        scores, best = _compare(rest, held, sizes, binary, minimize, seed, reporter.advance)
        mixture = fit_mixture(scaled, best, binary=binary, seed=seed, advance=reporter.advance)
    errors = standard_errors(mixture, scaled, seed)
    structure = _structure(table, mixture, errors, binary, minimize, name)
    described = _describe(structure, mixture, scaled) if best > 1 else ()
    chosen = _name(best)
    if kinds is None and scores[-1].model == SEGMENTS:
        kinds_score = next(score for score in scores if score.model == chosen)
        chosen = SEGMENTS if scores[-1].log_score > kinds_score.log_score else chosen
    return LearnedKinds(structure, KindsReport(total, n_held, scores, chosen, described))


def _scaled(table: SubjectTable) -> SubjectTable:
    """Return the table with rewards of two values as 0 and 1."""
    low, width = table.limits.low, table.limits.high - table.limits.low
    sums = (table.sums - low * table.counts) / width
    return SubjectTable(
        table.arms, table.counts, sums, sums, table.limits, table.segments, table.rows
    )


def _sizes(kinds: int | None, table: SubjectTable) -> list[int]:
    if kinds is not None:
        return sorted({1, int(kinds)})
    most = min(table.n_subjects // _SUBJECTS_PER_KIND, _LARGEST_TABLE // len(table.arms))
    return [size for size in _CANDIDATES if size <= max(most, 1)]


def _name(size: int) -> str:
    return EVERYBODY if size == 1 else f"{size} kinds"


def _compare(
    rest: SubjectTable,
    held: SubjectTable,
    sizes: list[int],
    binary: bool,
    minimize: bool,
    seed: int,
    advance: Any,
) -> tuple[tuple[ModelScore, ...], int]:
    """Fit a mixture of each size, and score it on the held-out subjects."""
    rows: list[ModelScore] = []
    reference: FloatArray | None = None
    best, best_score, worse = 1, -np.inf, 0
    sign = -1.0 if minimize else 1.0
    for size in sizes:
        mixture = fit_mixture(
            rest, size, binary=binary, seed=seed, restarts=_RESTARTS, advance=advance
        )
        scores = mixture.log_scores(held)
        reference = scores if reference is None else reference
        rows.append(_score(_name(size), mixture, scores, reference, held, sign))
        if scores.mean() > best_score:
            best, best_score, worse = size, float(scores.mean()), 0
        else:
            worse += 1
        if worse == 2:  # more kinds only fit the noise
            break
    chosen = best if len(sizes) > 2 or best > 1 else sizes[-1]
    if reference is not None and not binary:
        # A personal level needs no more kinds than were found without it.
        smaller = [size for size in sizes if size <= chosen]
        for name, model in _other_models(rest, held, smaller, seed):
            rows.append(_score(name, model, model.log_scores(held), reference, held, sign))
    if held.segments and reference is not None:
        mixture = _segments(rest, binary)
        scores = mixture.log_scores(held)
        rows.append(_score(SEGMENTS, mixture, scores, reference, held, sign))
    return tuple(rows), chosen


def _other_models(
    rest: SubjectTable, held: SubjectTable, sizes: Sequence[int], seed: int
) -> list[tuple[str, Model]]:
    """Return models to compare kinds with: kinds with a personal level, and factors."""
    if rest.n_subjects > _MOST_FOR_COMPARISON:
        generator = np.random.default_rng([seed, rest.n_subjects])
        some = generator.choice(rest.n_subjects, _MOST_FOR_COMPARISON, replace=False)
        rest = rest.of(np.sort(some))

    def kinds(size: int) -> Model:
        return fit_mixture(rest, size, binary=False, seed=seed, restarts=2, personal_level=True)

    def factors(number: int) -> Model:
        return fit_factors(rest, number, seed=seed)

    found: list[tuple[str, Model]] = []
    dimensions = [number for number in _N_FACTORS if number < len(rest.arms)]
    for fit, candidates, name in ((kinds, sizes, "kind"), (factors, dimensions, "factor")):
        best: tuple[int, Model, float] | None = None
        worse = 0
        for size in candidates:
            model = fit(size)
            score = float(model.log_scores(held).mean())
            if best is None or score > best[2]:
                best, worse = (size, model, score), 0
            else:
                worse += 1
            if worse == 2:
                break
        if best is not None:
            number = f"{best[0]} {name}{'s' * (best[0] > 1)}{_WITH_LEVEL}"
            found.append((_LEVEL_ONLY if best[0] == candidates[0] else number, best[1]))
    return found if found[0][0] != found[-1][0] else found[:1]


def _segments(table: SubjectTable, binary: bool) -> Mixture:
    codes: dict[object, int] = {}
    places = [codes.setdefault(segment, len(codes)) for segment in table.segments]
    labels = np.zeros((table.n_subjects, len(codes)))
    labels[np.arange(table.n_subjects), places] = 1.0
    return fit_labelled(table, labels, binary=binary)


def _score(
    name: str,
    model: Model,
    scores: FloatArray,
    reference: FloatArray,
    held: SubjectTable,
    sign: float,
) -> ModelScore:
    difference = scores - reference
    error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else 0.0
    return ModelScore(
        name,
        float(scores.mean()),
        float(difference.mean()),
        error,
        replay(model, held, sign=sign),
    )


def replay(
    model: Model,
    table: SubjectTable,
    *,
    sign: float = 1.0,
    choices: Sequence[int] = _FIRST_CHOICES,
) -> dict[int, float]:
    """Return the mean reward of the first choices of subjects, on their own rewards.

    Each subject is shown, one after the other, the arm with the largest expected reward given what
    it was shown before, among the arms that it has rewards of and that it was not shown yet. Only
    subjects with enough such arms count.
    """
    result: dict[int, float] = {}
    n_arms = np.diff(table.counts.indptr)
    for number in choices:
        subjects: IntArray = np.flatnonzero(n_arms >= number)
        if len(subjects) < _SUBJECTS_PER_KIND:
            continue
        result[number] = float(np.mean(_replay(model, table.of(subjects), number, sign)))
    return result


def _replay(model: Model, table: SubjectTable, number: int, sign: float) -> FloatArray:
    earned = np.zeros(table.n_subjects)
    block = max(1, 4_000_000 // max(len(table.arms), 1))
    for first in range(0, table.n_subjects, block):
        part = slice(first, first + block)
        counts, sums = table.counts[part].toarray(), table.sums[part].toarray()
        own = np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan)
        belief = belief_of(model, len(own), repeat=False)
        earned[part] = replay_choices(belief, own[:, :, None], number, sign=sign).mean(axis=1)
    return earned


def _structure(
    table: SubjectTable,
    mixture: Mixture,
    errors: FloatArray,
    binary: bool,
    minimize: bool,
    name: str | None,
) -> Structure:
    low, high = table.limits.low, table.limits.high
    means, noise = mixture.means, np.sqrt(mixture.variances)
    options: dict[str, Any] = {"sigma": noise, "noise": noise}
    deviation = np.broadcast_to(noise, means.shape)
    if binary:
        deviation = np.sqrt(means * (1.0 - means)) * (high - low)
        means, errors = low + means * (high - low), errors * (high - low)
        options = {"rewards": "bernoulli"}
        if low != 0.0:
            options = {"rewards": "bounded", "limits": (low, high)}
        elif high != 1.0:
            options["prize"] = high
    return Structure(
        means,
        means,
        parameters=Finite([f"kind {c + 1}" for c in range(mixture.n_kinds)], names=("kind",)),
        arms=table.arms,
        minimize=minimize,
        name=name,
        prior=mixture.shares,
        # As many rewards of a known kind as would give the same standard error.
        counts=np.square(deviation / np.maximum(errors, 1e-12)),
        standard_errors=errors,
        **options,
    )


def _describe(structure: Structure, mixture: Mixture, table: SubjectTable) -> tuple[Kind, ...]:
    assert structure.standard_errors is not None
    average = mixture.shares @ structure.means
    clear = structure.sign * (structure.means - average) / structure.standard_errors
    overrepresented = _segment_ratios(mixture, table)
    kinds = []
    for c in range(mixture.n_kinds):
        order = np.argsort(-clear[c], kind="stable")
        likes = tuple(structure.arms[k] for k in order if clear[c, k] > 2.0)
        dislikes = tuple(structure.arms[k] for k in order[::-1] if clear[c, k] < -2.0)
        kinds.append(Kind(float(mixture.shares[c]), likes, dislikes, overrepresented[c]))
    return tuple(kinds)


def _segment_ratios(mixture: Mixture, table: SubjectTable) -> list[tuple[tuple[str, float], ...]]:
    """Return for each kind the segments that are at least 1.2 times as frequent as overall."""
    if not table.segments:
        return [()] * mixture.n_kinds
    codes: dict[object, int] = {}
    places = np.array([codes.setdefault(segment, len(codes)) for segment in table.segments])
    weights = mixture.responsibilities(table)
    totals = np.zeros((len(codes), mixture.n_kinds))
    np.add.at(totals, places, weights)
    overall = totals.sum(axis=1) / totals.sum()
    ratios = totals / totals.sum(axis=0) / overall[:, None]
    names = [_text(segment) for segment in codes]
    found = []
    for c in range(mixture.n_kinds):
        order = np.argsort(-ratios[:, c] * np.sqrt(overall), kind="stable")
        found.append(
            tuple((names[i], float(ratios[i, c])) for i in order if ratios[i, c] > 1.2)[:5]
        )
    return found


def _text(segment: object) -> str:
    return ", ".join(map(str, segment)) if isinstance(segment, tuple) else str(segment)
