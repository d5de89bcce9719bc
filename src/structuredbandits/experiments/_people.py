"""Persons, not segments: what a structure learned from some persons is worth to others.

Every person is tried on exactly once, by models that were learned from other persons. Models,
their sizes and their bonuses are chosen on the persons that they are learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from structuredbandits.environments import Persons
from structuredbandits.errors import InvalidInput
from structuredbandits.experiments._people_data import (
    PeopleData,
    installed_data,
    movielens_data,
    synthetic_data,
)
from structuredbandits.experiments.experiment import HERE, Claim, ExperimentRequest, Outcome
from structuredbandits.learning.people_models import (
    FACTORS,
    KINDS,
    KINDS_WITH_LEVEL,
    LEVELS,
    POPULAR,
    SEGMENTS,
    Mixture,
    PeopleModels,
    belief_of,
    best_bonus,
    learn_models,
    replay,
    table_of,
)
from structuredbandits.plots import style
from structuredbandits.structure import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CHOICES = (1, 3, 5, 10, 20)
FOLDS = 3
RANDOM, CHOSEN, TRUTH = "random", "chosen", "true model"
BEST, SAMPLING = "best own arms", "factors, posterior sampling"
_NORMAL = 1.959964  # two-sided 95 %
_FEWEST = 20  # persons from which a mean over persons is reported


@dataclass(frozen=True, eq=False)
class PeopleResult:
    """The result on one data set.

    Attributes
    ----------
    data
        The data set.
    rewards
        By policy (persons, choices): the mean reward of the first 1, 3, ... choices; NaN for
        persons without enough arms.
    chosen
        The model that was chosen in each fold, with its bonus.
    models
        A description of the models of each fold.
    """

    data: PeopleData
    rewards: dict[str, FloatArray]
    chosen: tuple[str, ...]
    models: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Return one row per policy and number of choices, with the lift over most popular."""
        import pandas as pd

        rows = []
        base, least = self.rewards[POPULAR], self.rewards[RANDOM]
        for policy, own in self.rewards.items():
            for column, number in enumerate(CHOICES):
                known = ~np.isnan(base[:, column])
                if known.sum() < _FEWEST:
                    continue
                lift = (own - base)[known, column]
                popular = float((base - least)[known, column].mean())
                error = float(lift.std(ddof=1) / np.sqrt(len(lift)))
                rows.append(
                    {
                        "data": self.data.name,
                        "policy": policy,
                        "choices": number,
                        "persons": len(lift),
                        "mean": float(own[known, column].mean()),
                        "lift": float(lift.mean()),
                        "error": error,
                        "low": float(lift.mean()) - _NORMAL * error,
                        "high": float(lift.mean()) + _NORMAL * error,
                        "of_popular": float(lift.mean()) / popular,
                        "popular_over_random": popular,
                        "quartile_1": float(np.quantile(lift, 0.25)),
                        "median": float(np.quantile(lift, 0.5)),
                        "quartile_3": float(np.quantile(lift, 0.75)),
                        "worse_off": float((lift < -1e-9).mean()),
                        "better_off": float((lift > 1e-9).mean()),
                    }
                )
        return pd.DataFrame(rows)


def people(request: ExperimentRequest) -> Outcome:
    """All data sets: the installed ones, those of a MovieLens folder, and the synthetic one."""
    import pandas as pd

    loaders = [*installed_data()]
    if request.movielens is not None:
        loaders += movielens_data(request.movielens)
    results = [compare_people(load(), seed=request.seed) for load in loaders]
    results.append(compare_people(synthetic_data(request.seed), seed=request.seed))
    table = pd.concat([result.table() for result in results], ignore_index=True)
    settings = {
        "folds": FOLDS,
        "seed": request.seed,
        "data": {
            result.data.name: {
                "title": result.data.title,
                "source": result.data.source,
                "persons": result.data.persons.n_persons,
                "arms": len(result.data.persons.arms),
                "rewards": int(result.data.persons.counts.sum()),
                "shown": "again" if result.data.persons.repeat else "once",
                "minimum": result.data.minimum,
                "chosen": list(result.chosen),
                "models": list(result.models),
            }
            for result in results
        },
    }
    return Outcome({"lift": lift_figure(table)}, table, claims(table), settings)


def compare_people(data: PeopleData, *, folds: int = FOLDS, seed: int = 0) -> PeopleResult:
    """Learn from some persons, try on the others, for every fold.

    Examples
    --------
    >>> from structuredbandits.experiments._people_data import synthetic_data
    >>> result = compare_people(synthetic_data(n_persons=60), folds=2)
    >>> result.table().query("choices == 10 and policy == 'best own arms'")["lift"].item() > 0
    True
    """
    parts: dict[str, list[FloatArray]] = {}
    chosen, models = [], []
    positions = {data.persons.parameters[i]: i for i in range(data.persons.n_persons)}
    for fold, (learn, test) in enumerate(data.persons.split(folds, seed)):
        segments = (
            tuple(data.segments[positions[learn.parameters[i]]] for i in range(learn.n_persons))
            if data.segments
            else ()
        )
        enough = np.flatnonzero((test.counts > 0).sum(axis=1) >= data.minimum)
        if len(enough) < 2:
            raise InvalidInput(
                f"fewer than two persons of {data.name!r} have {data.minimum} arms; use fewer."
            )
        test = test.of(enough)
        own = learn.draws(max(CHOICES), seed=seed)
        learned = learn_models(table_of(learn, segments), own, repeat=learn.repeat, seed=seed)
        rewards = _try(learned, test, [seed, fold])
        if data.truth is not None:
            rewards[TRUTH] = _try_truth(data.truth, own, test, seed)
        for policy, earned in rewards.items():
            parts.setdefault(policy, []).append(earned)
        chosen.append(_words(learned, learned.chosen))
        models.append(
            "; ".join(
                f"{_words(learned, name)}, log score {score:.3f}"
                for name, score in learned.log_scores.items()
            )
        )
    joined = {policy: np.concatenate(earned) for policy, earned in parts.items()}
    return PeopleResult(data, joined, tuple(chosen), tuple(models))


def _words(learned: PeopleModels, name: str) -> str:
    model = learned.models[name]
    if name in (KINDS, KINDS_WITH_LEVEL):
        size = f"{len(model.means)} {name}"
    elif name == FACTORS:
        size = f"{getattr(model, 'dimension', 0)} {name}"
    else:
        size = name
    return f"{size} (bonus {learned.bonus[name]:g})" if name in learned.bonus else size


def _try(learned: PeopleModels, test: Persons, seed: list[int]) -> dict[str, FloatArray]:
    """Return by policy (persons, choices) mean rewards of the first choices."""
    most = max(CHOICES)
    draws = test.draws(most, seed=seed[0])
    n = test.n_persons

    def run(name: str, bonus: float = 0.0, sampling: bool = False) -> FloatArray:
        generator = np.random.default_rng([*seed, 7]) if sampling else None
        belief = belief_of(learned.models[name], n, test.repeat)
        return _first(replay(belief, draws, most, bonus=bonus, sampling=generator))

    earned = {RANDOM: _random(draws), POPULAR: run(POPULAR), LEVELS: run(LEVELS)}
    # A mean over own arms exists for everybody, but a choice only while arms are left.
    earned[RANDOM] = np.where(np.isnan(earned[POPULAR]), np.nan, earned[RANDOM])
    for name in (SEGMENTS, KINDS, KINDS_WITH_LEVEL, FACTORS):
        if name in learned.models:
            earned[name] = run(name)
    for name in (KINDS_WITH_LEVEL, FACTORS):
        earned[f"{name}, bonus"] = run(name, learned.bonus.get(name, 0.0))
    earned[SAMPLING] = run(FACTORS, sampling=True)
    earned[CHOSEN] = run(learned.chosen, learned.bonus.get(learned.chosen, 0.0))
    earned[BEST] = _best(test, draws)
    return earned


def _try_truth(truth: Mixture, own: FloatArray, test: Persons, seed: int) -> FloatArray:
    """Return what a policy earns that knows the true model; its bonus is chosen as the others'."""
    bonus = best_bonus([(truth, own)], test.repeat)
    belief = belief_of(truth, test.n_persons, test.repeat)
    draws = test.draws(max(CHOICES), seed=seed)
    return _first(replay(belief, draws, max(CHOICES), bonus=bonus))


def _first(rewards: FloatArray) -> FloatArray:
    """Return the means of the first 1, 3, ... rewards; NaN if there are fewer."""
    return np.column_stack([rewards[:, :number].mean(axis=1) for number in CHOICES])


def _random(draws: FloatArray) -> FloatArray:
    """Return the expected mean reward of arms chosen at random."""
    mean = np.nanmean(draws.mean(axis=2), axis=1)
    return np.repeat(mean[:, None], len(CHOICES), axis=1)


def _best(test: Persons, draws: FloatArray) -> FloatArray:
    """Return the mean reward of the arms that a person likes most, in hindsight."""
    if test.repeat:
        means = np.array([test.means_at(test.parameters[i]) for i in range(test.n_persons)])
        return np.repeat(np.nanmax(means, axis=1)[:, None], len(CHOICES), axis=1)
    ordered = -np.sort(-draws[:, :, 0], axis=1)  # NaN last
    return _first(ordered[:, : max(CHOICES)])


def claims(table: pd.DataFrame) -> tuple[Claim, ...]:
    """Return the claims about the chosen model."""
    found: list[Claim] = []
    for data, number, share in (
        ("films-50", 3, 0.05),
        ("films-50", 10, 0.18),
        ("films-200", 3, 0.0),
        ("films-200", 10, 0.12),
    ):
        row = _row(table, data, CHOSEN, number)
        if row is not None:
            found.append(
                Claim(
                    f"{data}: the chosen model gains at least {share:.0%} of most popular's lift "
                    f"over random at {number} choices",
                    row["of_popular"] >= share,
                    f"{row['of_popular']:.1%}",
                    HERE,
                )
            )
    rows = table[(table["policy"] == CHOSEN) & (table["data"] != "synthetic")]
    worst = rows.assign(z=rows["lift"] / rows["error"].clip(lower=1e-12)).sort_values("z").iloc[0]
    found.append(
        Claim(
            "the chosen model is nowhere more than two standard errors below most popular",
            bool(worst["z"] >= -2.0),
            f"lowest: {worst['lift']:.3f} ± {_NORMAL * worst['error']:.3f} "
            f"({worst['data']}, {worst['choices']} choices)",
            HERE,
        )
    )
    at = rows[rows["choices"] == 10]
    above = at[at["low"] > 0]["data"].tolist()
    found.append(
        Claim(
            "at 10 choices the lift has a 95 % interval above 0 on at least three real data sets",
            len(above) >= 3,
            f"{len(above)} of {len(at)}: {', '.join(above)}",
            HERE,
        )
    )
    ours, truth = (_row(table, "synthetic", name, 10) for name in (CHOSEN, TRUTH))
    if ours is not None and truth is not None:
        share = ours["lift"] / truth["lift"]
        found.append(
            Claim(
                "synthetic: the lift at 10 choices is within 10 % of that of the true model",
                bool(share >= 0.9),
                f"{share:.1%} of it",
                HERE,
            )
        )
    return tuple(found)


def _row(table: pd.DataFrame, data: str, policy: str, number: int) -> Any:
    rows = table[
        (table["data"] == data) & (table["policy"] == policy) & (table["choices"] == number)
    ]
    return None if rows.empty else rows.iloc[0]


def lift_figure(table: pd.DataFrame) -> Figure:
    """Draw the lift over most popular at 10 choices, or the most there are, per data set."""
    names = list(dict.fromkeys(table["data"]))[::-1]
    policies = (
        (SEGMENTS, style.PALE),
        (KINDS, style.SKY),
        (KINDS_WITH_LEVEL, style.BLUE),
        (FACTORS, style.ORANGE),
        (CHOSEN, style.INK),
    )
    drawn = style.figure(7.6, 1.4 + 0.75 * len(names))
    axes = drawn.add_axes((0.16, 0.14, 0.81, 0.76))
    for place, (policy, colour) in enumerate(policies):
        heights, values, errors = [], [], []
        for height, name in enumerate(names):
            row = _row(table, name, policy, 10)
            if row is not None:
                heights.append(height + 0.3 - 0.15 * place)
                values.append(row["of_popular"])
                errors.append(_NORMAL * row["error"] / row["popular_over_random"])
        axes.errorbar(
            values, heights, xerr=errors, fmt="o", color=colour, markersize=4, label=policy
        )
    axes.axvline(0.0, color=style.INK, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(names)), names)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set_xlabel("lift over most popular at 10 choices, relative to most popular over random")
    axes.legend(fontsize=style.SMALL_SIZE, frameon=False)
    gained = table[(table["policy"] == CHOSEN) & (table["choices"] == 10) & (table["low"] > 0)]
    style.title(axes, f"The chosen model gains on {len(gained)} of {len(names)} data sets")
    return drawn
