"""Models of persons, compared on held-out subjects.

They are the same for everybody, known segments, hidden kinds, and factors. All treat rewards as
Gaussian, so that their log scores can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from structuredbandits.learning._choice_replay import (
    FactorBelief,
    MixtureBelief,
    SubjectBelief,
    replay,
)
from structuredbandits.learning._factors import Factors, fit_factors
from structuredbandits.learning._mixture import Mixture, fit_labelled, fit_mixture
from structuredbandits.learning._subject_table import IntArray, SubjectTable, table_of
from structuredbandits.structure import FloatArray

__all__ = [
    "FACTORS",
    "KINDS",
    "KINDS_WITH_LEVEL",
    "LEVELS",
    "POPULAR",
    "SEGMENTS",
    "Factors",
    "Mixture",
    "Model",
    "PeopleModels",
    "belief_of",
    "best_bonus",
    "learn_models",
    "replay",
    "table_of",
]

POPULAR, LEVELS, SEGMENTS = "most popular", "most popular, levels removed", "segments"
KINDS, KINDS_WITH_LEVEL, FACTORS = "kinds", "kinds with level", "factors"
_N_KINDS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 25, 30)
_N_FACTORS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 20)
_BONUSES = (0.0, 0.1, 0.25, 0.5, 1.0)
_SUBJECTS_PER_SIZE = 20
_RESTARTS = 2
_PARTS = 3
_EARLY, _FIRST = (1, 3, 5), 10

Model = Mixture | Factors
Fit = Callable[[SubjectTable, int], Model]


@dataclass(frozen=True, eq=False)
class PeopleModels:
    """Models that were learned from some subjects.

    Attributes
    ----------
    models
        By name: the same for everybody, segments if they are known, kinds and factors.
    log_scores
        The mean log score per held-out subject, by name.
    chosen
        The name of the model with the best log score.
    bonus
        How many standard deviations of doubt are added to the expected reward, by name.
    """

    models: dict[str, Model]
    log_scores: dict[str, float]
    chosen: str
    bonus: dict[str, float]


def learn_models(
    table: SubjectTable, draws: FloatArray, *, repeat: bool, seed: int = 0
) -> PeopleModels:
    """Learn all models; sizes, bonuses and the choice are made by cross-validation over subjects.

    Parameters
    ----------
    table
        The subjects to learn from.
    draws
        (subjects, arms, draws): their rewards, as in `replay`.
    repeat
        Whether arms are shown again.
    seed
        Of the parts and of the starting points.
    """
    order = np.random.default_rng([seed, 5]).permutation(table.n_subjects)
    parts = [np.sort(part) for part in np.array_split(order, _PARTS)]
    models: dict[str, Model] = {}
    scores: dict[str, float] = {}
    bonus: dict[str, float] = {}
    for name, fit, sizes in _candidates(table, seed):
        size, scores[name], fitted = _best_size(table, parts, fit, sizes)
        models[name] = fit(table, size)
        if len(sizes) > 1:
            held = [(model, draws[part]) for model, part in zip(fitted, parts, strict=True)]
            bonus[name] = best_bonus(held, repeat)
    chosen = max(scores, key=lambda name: scores[name])
    return PeopleModels(models, scores, chosen, bonus)


def _candidates(table: SubjectTable, seed: int) -> list[tuple[str, Fit, Sequence[int]]]:
    """Return the models by name: how to fit one of a given size, and the sizes to try."""

    def kinds(part: SubjectTable, size: int, level: bool = False) -> Model:
        return fit_mixture(
            part, size, binary=False, seed=seed, restarts=_RESTARTS, personal_level=level
        )

    def factors(part: SubjectTable, size: int) -> Model:
        return fit_factors(part, size, seed=seed)

    most = table.n_subjects // _SUBJECTS_PER_SIZE
    n_kinds = [size for size in _N_KINDS if size <= max(most, 1)]
    n_factors = [size for size in _N_FACTORS if size < min(len(table.arms), max(most, 1))]
    found: list[tuple[str, Fit, Sequence[int]]] = [(POPULAR, kinds, (1,)), (LEVELS, factors, (0,))]
    if table.segments:
        found.append(
            (SEGMENTS, lambda part, _: fit_labelled(part, _labels(part), binary=False), (1,))
        )
    found += [
        (KINDS, kinds, n_kinds),
        (KINDS_WITH_LEVEL, lambda part, size: kinds(part, size, True), n_kinds),
        (FACTORS, factors, n_factors),
    ]
    return found


def _best_size(
    table: SubjectTable, parts: Sequence[IntArray], fit: Fit, sizes: Sequence[int]
) -> tuple[int, float, list[Model]]:
    """Return the size with the best mean log score, the score, and the models without each part."""
    splits = [
        (table.of(np.setdiff1d(np.arange(table.n_subjects), part)), table.of(part))
        for part in parts
    ]
    best: tuple[int, float, list[Model]] | None = None
    worse = 0
    for size in sizes:
        fitted = [fit(rest, size) for rest, _ in splits]
        own = [model.log_scores(held) for model, (_, held) in zip(fitted, splits, strict=True)]
        score = float(np.concatenate(own).mean())
        if best is None or score > best[1]:
            best, worse = (size, score, fitted), 0
        else:
            worse += 1
        if worse == 2:  # more only fit the noise
            break
    assert best is not None
    return best


def belief_of(model: Model, n_persons: int, repeat: bool) -> SubjectBelief:
    """Return the belief of a model before the first reward."""
    if isinstance(model, Mixture):
        return MixtureBelief(model, n_persons)
    return FactorBelief(model, n_persons, repeat=repeat)


def best_bonus(held: Sequence[tuple[Model, FloatArray]], repeat: bool) -> float:
    """Return the bonus for doubt that earns most in the first ten choices, and does no harm.

    A bonus counts only if it earns at least as much as none in the first 1, 3 and 5 choices, and a
    standard error more in the first ten.

    Parameters
    ----------
    held
        Models, and the draws of subjects that they were not learned from.
    repeat
        Whether arms are shown again.
    """
    earned = []
    for bonus in _BONUSES:
        by_part = [
            replay(belief_of(model, len(draws), repeat), draws, _FIRST, bonus=bonus)
            for model, draws in held
        ]
        earned.append(np.concatenate(by_part))
    best, best_gain = 0.0, 0.0
    for bonus, rewards in zip(_BONUSES[1:], earned[1:], strict=True):
        difference = (rewards - earned[0])[~np.isnan(earned[0]).any(axis=1)]
        if len(difference) < _SUBJECTS_PER_SIZE:
            return 0.0
        gain = difference.mean(axis=1)
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        harmless = all(difference[:, :number].mean() >= 0.0 for number in _EARLY)
        if harmless and gain.mean() > max(error, best_gain):
            best, best_gain = bonus, float(gain.mean())
    return best


def _labels(table: SubjectTable) -> FloatArray:
    codes: dict[object, int] = {}
    places = [codes.setdefault(segment, len(codes)) for segment in table.segments]
    labels = np.zeros((table.n_subjects, len(codes)))
    labels[np.arange(table.n_subjects), places] = 1.0
    return labels
