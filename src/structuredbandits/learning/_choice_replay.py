"""Replay: models choose what to show to persons, and earn the persons' own rewards.

A belief is what a model thinks of many persons at once, given what each was shown so far. A person
is shown only arms that it has rewards of, so the result has no bias from missing rewards.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from structuredbandits.learning._factors import Factors
from structuredbandits.learning._mixture import Mixture, softmax
from structuredbandits.learning._subject_table import IntArray
from structuredbandits.structure import FloatArray


class SubjectBelief(Protocol):
    """What a model thinks of a number of persons."""

    def expected(self) -> FloatArray:
        """Return (persons, arms): the expected reward, up to a constant per person."""

    def doubt(self) -> FloatArray:
        """Return (persons, arms): the standard deviation of what a reward tells about others."""

    def update(self, persons: IntArray, arms: IntArray, rewards: FloatArray) -> None:
        """Take in one reward of each of these persons."""


class SameForEveryone:
    """The belief that everybody likes the same arms, in this order of scores (arms,)."""

    def __init__(self, scores: FloatArray, n_persons: int) -> None:
        self._scores = np.broadcast_to(scores, (n_persons, len(scores)))

    def expected(self) -> FloatArray:
        """Return (persons, arms): the scores."""
        return self._scores

    def doubt(self) -> FloatArray:
        """Return zeros: nothing is learned."""
        return np.zeros(self._scores.shape)

    def update(self, persons: IntArray, arms: IntArray, rewards: FloatArray) -> None:
        """Ignore rewards."""


class MixtureBelief:
    """The posterior of each person's kind."""

    def __init__(self, mixture: Mixture, n_persons: int) -> None:
        self._mixture = mixture
        self._logs = np.tile(np.log(mixture.shares), (n_persons, 1))
        self._precision = np.zeros(n_persons)
        self._pull = np.zeros((n_persons, mixture.n_kinds))

    def kinds(self) -> FloatArray:
        """Return (persons, kinds): the probabilities of the kinds."""
        level = self._mixture.level
        if level == 0.0:
            return softmax(self._logs)
        ratio = 1.0 + level * self._precision[:, None]
        return softmax(self._logs + 0.5 * level / ratio * np.square(self._pull))

    def expected(self) -> FloatArray:
        """Return (persons, arms): the expected reward, without the personal level."""
        return np.asarray(self.kinds() @ self._mixture.means)

    def doubt(self) -> FloatArray:
        """Return (persons, arms): how much kinds that are still possible differ on an arm."""
        centred = self._mixture.means - self._mixture.means.mean(axis=1, keepdims=True)
        kinds = self.kinds()
        variance = kinds @ np.square(centred) - np.square(kinds @ centred)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def update(self, persons: IntArray, arms: IntArray, rewards: FloatArray) -> None:
        """Take in one reward of each of these persons."""
        mixture = self._mixture
        means, reward = mixture.means[:, arms].T, rewards[:, None]
        if mixture.binary:
            gain = reward * np.log(means) + (1 - reward) * np.log1p(-means)
        else:
            variance = mixture.variances[arms]
            gain = -np.square(reward - means) / (2 * variance[:, None])
            self._precision[persons] += 1.0 / variance
            self._pull[persons] += (reward - means) / variance[:, None]
        self._logs[persons] += gain


class FactorBelief:
    """The posterior of each person's factors, exact for Gaussian rewards.

    Parameters
    ----------
    model
        The factor model.
    n_persons
        The number of persons.
    repeat
        Whether an arm can be shown again, so that its own lasting effect is worth knowing.
    """

    def __init__(self, model: Factors, n_persons: int, *, repeat: bool = False) -> None:
        self._model, self._repeat = model, repeat
        self._weights = model.weights
        q = self._weights.shape[1]
        self._precision = np.tile(np.eye(q), (n_persons, 1, 1))
        self._right = np.zeros((n_persons, q))
        self._number = np.zeros((n_persons, len(model.means)))
        self._sum = np.zeros((n_persons, len(model.means)))

    def expected(self) -> FloatArray:
        """Return (persons, arms): the expected reward."""
        means = np.linalg.solve(self._precision, self._right[:, :, None])[:, :, 0]
        return self._with_own(self._model.means + means @ self._weights.T)

    def doubt(self) -> FloatArray:
        """Return (persons, arms): the standard deviation of an arm relative to the average arm."""
        # Relative, because what all arms have in common does not matter for a choice.
        centred = self._weights - self._weights.mean(axis=0)
        covariance = np.linalg.inv(self._precision)
        variance = np.einsum("kq,nqr,kr->nk", centred, covariance, centred, optimize=True)
        if self._repeat:
            left = 1.0 - self._share()
            variance = left**2 * variance + self._model.lasting * left
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def sample(self, generator: np.random.Generator) -> FloatArray:
        """Return (persons, arms): a draw of the mean rewards from the posterior."""
        means = np.linalg.solve(self._precision, self._right[:, :, None])[:, :, 0]
        # The inverse of a triangular root of the precision is a root of the covariance.
        root = np.linalg.cholesky(self._precision)
        noise = generator.standard_normal((*means.shape, 1))
        drawn = means + np.linalg.solve(np.swapaxes(root, 1, 2), noise)[:, :, 0]
        values = self._with_own(self._model.means + drawn @ self._weights.T)
        spread = np.sqrt(self._model.lasting * (1.0 - self._share()))
        return np.asarray(values + spread * generator.standard_normal(values.shape))

    def update(self, persons: IntArray, arms: IntArray, rewards: FloatArray) -> None:
        """Take in one reward of each of these persons."""
        model = self._model
        weights, mean = self._weights[arms], model.means[arms]
        before, total = self._number[persons, arms], self._sum[persons, arms]
        old = before / (model.lasting[arms] * before + model.noise[arms])
        new = (before + 1) / (model.lasting[arms] * (before + 1) + model.noise[arms])
        pull = new * ((total + rewards) / (before + 1) - mean)
        pull -= old * (total / np.maximum(before, 1.0) - mean)
        self._right[persons] += pull[:, None] * weights
        self._precision[persons] += (new - old)[:, None, None] * (
            weights[:, :, None] * weights[:, None, :]
        )
        self._number[persons, arms] += 1.0
        self._sum[persons, arms] += rewards

    def _share(self) -> FloatArray:
        """Return how much of a residual is taken for the person's lasting effect."""
        lasting = self._model.lasting * self._number
        return np.asarray(lasting / (lasting + self._model.noise))

    def _with_own(self, values: FloatArray) -> FloatArray:
        own = self._sum / np.maximum(self._number, 1.0)
        return np.asarray(values + self._share() * (own - values))


def replay(
    belief: SubjectBelief,
    draws: FloatArray,
    number: int,
    *,
    bonus: float = 0.0,
    sign: float = 1.0,
    sampling: np.random.Generator | None = None,
) -> FloatArray:
    """Return (persons, number): the rewards of the arms that a belief chooses one by one.

    Parameters
    ----------
    belief
        The belief before the first choice; it is changed.
    draws
        (persons, arms, draws): the rewards; NaN where a person has none. The j-th time that an arm
        is shown it gives the j-th draw, and an arm without draws left is not shown.
    number
        The number of choices. A person who runs out of arms has NaN from then on.
    bonus
        The chosen arm has the largest expected reward plus this many times its doubt.
    sign
        -1 if rewards are costs.
    sampling
        Choose by a draw from the posterior instead.
    """
    n_persons, n_arms, most = draws.shape
    shown = np.zeros((n_persons, n_arms), dtype=np.int64)
    possible = ~np.isnan(draws[:, :, 0])
    earned = np.full((n_persons, number), np.nan)
    for place in range(number):
        free = possible & (shown < most)
        persons: IntArray = np.flatnonzero(free.any(axis=1))
        if not persons.size:
            break
        if sampling is not None and isinstance(belief, FactorBelief):
            values = sign * belief.sample(sampling)
        else:
            values = sign * belief.expected()
            if bonus:
                values = values + bonus * belief.doubt()
        arms = np.argmax(np.where(free, values, -np.inf), axis=1)[persons]
        rewards = draws[persons, arms, shown[persons, arms]]
        earned[persons, place] = rewards
        shown[persons, arms] += 1
        belief.update(persons, arms, rewards)
    return earned
