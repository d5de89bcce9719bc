"""Factors and personal levels against dense formulas and known truth; replay; the chosen model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from structuredbandits.environments import Persons
from structuredbandits.learning import people_models
from structuredbandits.learning._choice_replay import (
    FactorBelief,
    MixtureBelief,
    SameForEveryone,
    replay,
)
from structuredbandits.learning._factors import Factors, fit_factors
from structuredbandits.learning._mixture import Mixture, fit_mixture
from structuredbandits.learning._subject_table import SubjectTable, least_variance, table_of
from structuredbandits.learning.people_models import (
    FACTORS,
    KINDS,
    KINDS_WITH_LEVEL,
    POPULAR,
    SEGMENTS,
    best_bonus,
    learn_models,
)

ARMS = tuple(f"arm {k}" for k in range(8))


def some_factors(seed: int = 0, *, lasting: float = 0.0) -> Factors:
    random = np.random.default_rng(seed)
    means, loadings = 3 + 0.4 * random.normal(size=8), 0.7 * random.normal(size=(8, 2))
    noise = 0.5 + 0.5 * random.random(8)
    return Factors(means, loadings, 0.6, noise, np.full(8, lasting))


def drawn(
    model: Factors, n_persons: int, per_arm: int, seed: int, *, share: float = 0.7
) -> Persons:
    """Return persons drawn from a factor model; a share of the cells is observed."""
    random = np.random.default_rng(seed)
    shape = (n_persons, len(model.means))
    mean = model.means + random.normal(size=(n_persons, model.dimension)) @ model.loadings.T
    mean = mean + model.level * random.normal(size=(n_persons, 1))
    mean = mean + np.sqrt(model.lasting) * random.normal(size=shape)
    who, arm = np.nonzero(random.random(shape) < share)
    who, arm = np.repeat(who, per_arm), np.repeat(arm, per_arm)
    rewards = mean[who, arm] + np.sqrt(model.noise[arm]) * random.normal(size=len(who))
    names = np.array(ARMS)[arm]
    return Persons(who, names, rewards, repeat=per_arm > 1, all_arms=ARMS)


def rows_of(persons: Persons, person: object) -> tuple[np.ndarray, np.ndarray]:
    frame = persons.to_frame()
    frame = frame[frame["person"] == str(person)]
    return frame["arm"].map(ARMS.index).to_numpy(), frame["reward"].to_numpy()


def covariance_of(model: Factors, arm: np.ndarray) -> np.ndarray:
    """Return the covariance of rewards of these arms, by the definition of the model."""
    weights = model.weights[arm]
    same = arm[:, None] == arm[None, :]
    return weights @ weights.T + same * model.lasting[arm] + np.diag(model.noise[arm])


@pytest.mark.parametrize("per_arm", [1, 3])
def test_the_log_score_of_factors_is_that_of_a_normal_vector(per_arm: int) -> None:
    model = some_factors(lasting=0.0 if per_arm == 1 else 0.3)
    persons = drawn(model, 5, per_arm, seed=1)
    scores = model.log_scores(table_of(persons))
    for place in range(persons.n_persons):
        arm, rewards = rows_of(persons, persons.parameters[place])
        dense = multivariate_normal(model.means[arm], covariance_of(model, arm))
        assert scores[place] == pytest.approx(dense.logpdf(rewards), rel=1e-9)


def test_conditioning_is_that_of_a_normal_vector() -> None:
    """Rewards one by one, one arm twice, against the dense formula."""
    model = some_factors(lasting=0.3)
    belief = FactorBelief(model, 2, repeat=True)
    shown, rewards = np.array([3, 0, 3, 6]), np.array([4.0, 2.0, 3.5, 1.0])
    for arm, reward in zip(shown, rewards, strict=True):
        belief.update(np.array([1]), np.array([arm]), np.array([reward]))
    every = np.arange(8)
    between = model.weights @ model.weights[shown].T + 0.3 * (every[:, None] == shown[None, :])
    solved = np.linalg.solve(covariance_of(model, shown), rewards - model.means[shown])
    np.testing.assert_allclose(belief.expected()[1], model.means + between @ solved, rtol=1e-9)
    np.testing.assert_allclose(belief.expected()[0], model.means, rtol=1e-12)
    prior = model.weights @ model.weights.T + 0.3 * np.eye(8)
    covariance = prior - between @ np.linalg.solve(covariance_of(model, shown), between.T)
    random = np.random.default_rng(0)
    samples = np.array([belief.sample(random)[1] for _ in range(4000)])
    # 8 means of 4,000 draws; 4.5 standard errors: below 1e-4 in all.
    error = np.abs(samples.mean(axis=0) - belief.expected()[1])
    assert (error < 4.5 * np.sqrt(np.diag(covariance) / 4000)).all()
    np.testing.assert_allclose(samples.std(axis=0), np.sqrt(np.diag(covariance)), rtol=0.07)


def test_doubt_ignores_the_level_and_falls_with_rewards() -> None:
    model = some_factors()
    one, other = (
        Factors(model.means, model.loadings, level, model.noise, model.lasting)
        for level in (0.0, 5.0)
    )
    np.testing.assert_allclose(FactorBelief(one, 1).doubt(), FactorBelief(other, 1).doubt())
    belief = FactorBelief(model, 1)
    before = belief.doubt()
    belief.update(np.array([0]), np.array([2]), np.array([3.0]))
    assert (belief.doubt() <= before + 1e-12).all()


@pytest.mark.parametrize("per_arm", [1, 3])
def test_true_factors_are_found(per_arm: int) -> None:
    truth = some_factors(lasting=0.0 if per_arm == 1 else 0.4)
    fitted = fit_factors(table_of(drawn(truth, 3000, per_arm, seed=2)), 2)
    fresh = table_of(drawn(truth, 500, per_arm, seed=3))
    lost = truth.log_scores(fresh).mean() - fitted.log_scores(fresh).mean()
    assert lost < 0.05  # of about 9 (27) nats per person; measured: 0.01
    found, known = fitted.weights @ fitted.weights.T, truth.weights @ truth.weights.T
    np.testing.assert_allclose(found, known, atol=0.2)
    if per_arm == 3:
        np.testing.assert_allclose(fitted.lasting, 0.4, atol=0.15)
        np.testing.assert_allclose(fitted.noise, truth.noise, rtol=0.1)
    again = fit_factors(table_of(drawn(truth, 3000, per_arm, seed=2)), 2)
    np.testing.assert_array_equal(fitted.weights, again.weights)


def kinds_with_level(n_persons: int, tau: float, seed: int) -> tuple[Mixture, Persons, np.ndarray]:
    random = np.random.default_rng(seed)
    means = 3 + np.random.default_rng(9).normal(size=(2, 8))
    truth = Mixture(np.array([0.6, 0.4]), means, np.full(8, 0.64), 1.0, False, tau**2)
    kind = random.choice(2, size=n_persons, p=truth.shares)
    who = np.repeat(np.arange(n_persons), 5)
    arm = np.argsort(random.random((n_persons, 8)), axis=1)[:, :5].ravel()
    level = tau * random.normal(size=n_persons)
    rewards = means[kind[who], arm] + level[who] + 0.8 * random.normal(size=len(who))
    persons = Persons(who, np.array(ARMS)[arm], rewards, repeat=False, all_arms=ARMS)
    return truth, persons, kind


def test_a_personal_level_is_integrated_and_estimated() -> None:
    truth, persons, _ = kinds_with_level(1500, 0.9, seed=4)
    table = table_of(persons)
    logs = truth.log_likelihoods(table.of(np.arange(3)))
    for place in range(3):
        arm, rewards = rows_of(persons, persons.parameters[place])
        covariance = 0.81 + np.diag(truth.variances[arm])
        for kind in range(2):
            dense = multivariate_normal(truth.means[kind, arm], covariance)
            assert logs[place, kind] == pytest.approx(dense.logpdf(rewards), rel=1e-9)
    fitted = fit_mixture(table, 2, binary=False, personal_level=True)
    assert fitted.level == pytest.approx(0.81, rel=0.15)
    np.testing.assert_allclose(fitted.means, truth.means, atol=0.3)
    plain = fit_mixture(table, 2, binary=False)
    _, fresh, _ = kinds_with_level(500, 0.9, seed=5)
    held = table_of(fresh)
    gained = fitted.log_scores(held) - plain.log_scores(held)
    assert gained.mean() > 3 * gained.std() / np.sqrt(500)


def test_the_belief_of_kinds_with_a_level_is_that_of_the_mixture() -> None:
    truth, persons, _ = kinds_with_level(4, 0.9, seed=6)
    belief = MixtureBelief(truth, 1)
    arm, rewards = rows_of(persons, persons.parameters[2])
    for k, reward in zip(arm, rewards, strict=True):
        belief.update(np.array([0]), np.array([k]), np.array([reward]))
    expected = truth.responsibilities(table_of(persons).of(np.array([2])))
    np.testing.assert_allclose(belief.kinds(), expected, rtol=1e-9)
    assert belief.doubt().shape == (1, 8)


def test_rewards_of_few_values_have_a_least_variance() -> None:
    """A model of single values gains nothing: the density of a reward is at most 1 per step."""
    random = np.random.default_rng(7)
    who, arm = np.repeat(np.arange(300), 8), np.tile(np.arange(8), 300)
    always = Persons(
        who, np.array(ARMS)[arm], np.where(arm == 0, 1.0, random.integers(-1, 2, 2400))
    )
    table = table_of(always)
    assert least_variance(table) == pytest.approx(1 / (2 * np.pi))
    mixture, factors = fit_mixture(table, 3, binary=False), fit_factors(table, 1)
    for variances in (mixture.variances, factors.noise):
        assert variances.min() >= 1 / (2 * np.pi)
    continuous = table_of(drawn(some_factors(), 50, 1, seed=1))
    assert least_variance(continuous) == 0.0
    repeated = table_of(drawn(some_factors(), 50, 2, seed=1))
    assert least_variance(repeated) == 0.0


def test_replay_shows_each_arm_once_and_only_own_arms() -> None:
    draws = np.array([[[1.0], [5.0], [np.nan]], [[2.0], [np.nan], [3.0]]])
    earned = replay(SameForEveryone(np.array([3.0, 2.0, 1.0]), 2), draws, 3)
    np.testing.assert_array_equal(earned, [[1, 5, np.nan], [2, 3, np.nan]])
    costs = replay(SameForEveryone(np.array([3.0, 2.0, 1.0]), 2), draws, 2, sign=-1.0)
    np.testing.assert_array_equal(costs, [[5, 1], [3, 2]])
    again = np.array([[[1.0, 2.0, 3.0], [9.0, 9.0, 9.0]]])
    earned = replay(SameForEveryone(np.array([1.0, 0.0]), 1), again, 4)
    np.testing.assert_array_equal(earned, [[1, 2, 3, 9]])


def test_a_bonus_must_not_harm() -> None:
    """Everybody is alike, so doubt is worth nothing."""
    same = Mixture(np.array([0.5, 0.5]), np.ones((2, 8)) * np.arange(8), np.ones(8), 1.0, False)
    draws = np.arange(8.0) + np.random.default_rng(8).normal(size=(60, 8))
    assert best_bonus([(same, draws[:, :, None])], repeat=False) == 0.0
    assert best_bonus([(same, draws[:5, :, None])], repeat=False) == 0.0


def test_the_right_model_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people_models, "_N_KINDS", (1, 2, 4))
    monkeypatch.setattr(people_models, "_N_FACTORS", (0, 2))

    def chosen(persons: Persons, segments: tuple[object, ...] = ()) -> str:
        table: SubjectTable = table_of(persons, segments)
        return learn_models(table, persons.draws(10), repeat=persons.repeat).chosen

    _, kinds, kind = kinds_with_level(300, 1.0, seed=10)
    assert chosen(kinds, tuple(kind.tolist())) == KINDS_WITH_LEVEL
    # The segments are the kinds, and the level is 0: only factors and one kind are wrong.
    _, plain, kind = kinds_with_level(200, 0.0, seed=11)
    assert chosen(plain, tuple(kind.tolist())) in {KINDS, SEGMENTS, KINDS_WITH_LEVEL}
    assert chosen(drawn(some_factors(), 300, 1, seed=12)) == FACTORS
    nothing = some_factors()
    nothing = Factors(nothing.means, np.zeros((8, 0)), 0.0, nothing.noise, nothing.lasting)
    models = learn_models(
        table_of(drawn(nothing, 200, 1, seed=13)), np.full((200, 8, 1), np.nan), repeat=False
    )
    best, popular = (models.log_scores[name] for name in (models.chosen, POPULAR))
    assert best - popular < 0.1
