"""Models of persons, compared on held-out subjects.

They are the same for everybody, known segments, hidden kinds, and factors. All treat rewards as
Gaussian, so that their log scores can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from structuredbandits.learning._factors import Factors, choose_factors, fit_factors
from structuredbandits.learning._mixture import Mixture, fit_labelled, fit_mixture
from structuredbandits.learning._replay import Belief, FactorBelief, MixtureBelief, replay
from structuredbandits.learning._subject_table import SubjectTable
from structuredbandits.structure import FloatArray

POPULAR, LEVELS, SEGMENTS = "most popular", "most popular, levels removed", "segments"
KINDS, KINDS_WITH_LEVEL, FACTORS = "kinds", "kinds with level", "factors"
_SIZES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 25, 30)
_BONUSES = (0.0, 0.1, 0.25, 0.5, 1.0)
_SUBJECTS_PER_KIND = 20
_RESTARTS = 2
_HELD_OUT = 0.2
_FIRST_CHOICES = 10

Model = Mixture | Factors


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
        How many standard deviations of doubt the chosen model adds, by name of the model.
    """

    models: dict[str, Model]
    log_scores: dict[str, float]
    chosen: str
    bonus: dict[str, float]


def learn_models(
    table: SubjectTable, draws: FloatArray, *, repeat: bool, seed: int = 0
) -> PeopleModels:
    """Learn all models from a table of subjects; a fifth of them decides on sizes and bonuses.

    Parameters
    ----------
    table
        The subjects to learn from.
    draws
        (subjects, arms, draws): their rewards, as in `replay`.
    repeat
        Whether arms are shown again.
    seed
        Of the split and of the starting points.
    """
    generator = np.random.default_rng([seed, 5])
    order = generator.permutation(table.n_subjects)
    n_held = max(int(_HELD_OUT * table.n_subjects), 1)
    held_rows = np.sort(order[:n_held])
    held, rest = table.of(held_rows), table.of(np.sort(order[n_held:]))
    tried: dict[str, Model] = {POPULAR: fit_mixture(rest, 1, binary=False)}
    scores: dict[str, float] = {POPULAR: float(tried[POPULAR].log_scores(held).mean())}
    final: dict[str, Model] = {POPULAR: fit_mixture(table, 1, binary=False)}
    flat = fit_factors(rest, 0, seed=seed)
    tried[LEVELS], scores[LEVELS] = flat, float(flat.log_scores(held).mean())
    final[LEVELS] = fit_factors(table, 0, seed=seed)
    if table.segments:
        labelled = fit_labelled(rest, _labels(rest), binary=False)
        tried[SEGMENTS], scores[SEGMENTS] = labelled, float(labelled.log_scores(held).mean())
        final[SEGMENTS] = fit_labelled(table, _labels(table), binary=False)
    for name, level in ((KINDS, False), (KINDS_WITH_LEVEL, True)):
        tried[name], scores[name] = _choose_kinds(rest, held, level, seed)
        size = len(tried[name].means) if isinstance(tried[name], Mixture) else 1
        final[name] = fit_mixture(
            table, size, binary=False, seed=seed, restarts=_RESTARTS, personal_level=level
        )
    factors, log_scores = choose_factors(rest, held, seed=seed)
    tried[FACTORS], scores[FACTORS] = factors, float(log_scores.mean())
    final[FACTORS] = fit_factors(table, factors.dimension, seed=seed)
    chosen = max(scores, key=lambda name: scores[name])
    bonus = {
        name: best_bonus(lambda model=model: belief_of(model, n_held, repeat), draws[held_rows])  # type: ignore[misc]  # bound at once
        for name, model in tried.items()
        if name in (KINDS, KINDS_WITH_LEVEL, FACTORS)
    }
    return PeopleModels(final, scores, chosen, bonus)


def belief_of(model: Model, n_persons: int, repeat: bool) -> Belief:
    """Return the belief of a model before the first reward."""
    if isinstance(model, Mixture):
        return MixtureBelief(model, n_persons)
    return FactorBelief(model, n_persons, repeat=repeat)


def best_bonus(start: Callable[[], Belief], draws: FloatArray) -> float:
    """Return the bonus for doubt with the largest mean reward of the first ten choices."""
    earned = [
        float(np.nanmean(replay(start(), draws, _FIRST_CHOICES, bonus=bonus))) for bonus in _BONUSES
    ]
    return _BONUSES[int(np.argmax(earned))]


def _choose_kinds(
    rest: SubjectTable, held: SubjectTable, level: bool, seed: int
) -> tuple[Mixture, float]:
    """Return the mixture that predicts the held-out subjects best, and its log score."""
    best, best_score, worse = None, -np.inf, 0
    for size in _sizes(rest):
        mixture = fit_mixture(
            rest, size, binary=False, seed=seed, restarts=_RESTARTS, personal_level=level
        )
        score = float(mixture.log_scores(held).mean())
        if best is None or score > best_score:
            best, best_score, worse = mixture, score, 0
        else:
            worse += 1
        if worse == 2:  # more kinds only fit the noise
            break
    assert best is not None
    return best, best_score


def _sizes(table: SubjectTable) -> Sequence[int]:
    return [size for size in _SIZES if size == 1 or size * _SUBJECTS_PER_KIND <= table.n_subjects]


def _labels(table: SubjectTable) -> FloatArray:
    codes: dict[object, int] = {}
    places = [codes.setdefault(segment, len(codes)) for segment in table.segments]
    labels = np.zeros((table.n_subjects, len(codes)))
    labels[np.arange(table.n_subjects), places] = 1.0
    return labels
