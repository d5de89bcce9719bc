"""A Gaussian factor model of subjects, fitted by expectation-maximisation with missing entries.

The reward of arm k for a person is m_k + u_k·θ + b + v_k + noise, with θ ~ N(0, I), a personal
level b ~ N(0, τ²) and an effect v_k ~ N(0, η_k) that lasts for this person and arm. Persons with
several rewards of an arm tell effects from noise; without them, all of it counts as noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits.learning._subject_table import IntArray, SubjectTable, least_variance
from structuredbandits.structure import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MOST_SUBJECTS = 5_000  # more change a model of a few factors little
_FEW = 10.0  # rewards at which an arm's own variance counts as much as the pooled one
_REPEATED = 50  # repeated rewards from which noise and lasting effects are separated


@dataclass(frozen=True, eq=False)
class Factors:
    """A factor model, in the units of the rewards.

    Attributes
    ----------
    means : (arms,)
        m.
    loadings : (arms, d)
        u.
    level
        τ, the standard deviation of the personal level.
    noise, lasting : (arms,)
        The variances of the noise and of the effect that lasts, η.
    """

    means: FloatArray
    loadings: FloatArray
    level: float
    noise: FloatArray
    lasting: FloatArray

    @property
    def dimension(self) -> int:
        """The number of factors, without the personal level."""
        return int(self.loadings.shape[1])

    @property
    def weights(self) -> FloatArray:
        """(arms, d + 1): the loadings, and the level as one more factor."""
        return np.column_stack([self.loadings, np.full(len(self.means), self.level)])

    def log_scores(self, table: SubjectTable) -> FloatArray:
        """Return (subjects,): the log likelihood of all rewards of each subject."""
        cells = _cells(table)
        posterior = _posterior(self, cells, table.n_subjects)
        noise = self.noise[cells.arm]
        within = -0.5 * (
            (cells.number - 1) * np.log(2 * np.pi * noise)
            + np.log(cells.number)
            + cells.deviations / noise
        )
        return posterior.scores + np.bincount(cells.subject, within, table.n_subjects)


class _ObservedCells(NamedTuple):
    """The rewards of one subject and arm per row: number, mean and squared deviations from it."""

    subject: IntArray
    arm: IntArray
    number: FloatArray
    mean: FloatArray
    deviations: FloatArray


class _Posterior(NamedTuple):
    """The posterior of (θ, b / τ): means (subjects, q), covariances, and the log likelihoods."""

    means: FloatArray
    covariances: FloatArray
    scores: FloatArray


def fit_factors(
    table: SubjectTable, dimension: int, *, seed: int = 0, iterations: int = 150
) -> Factors:
    """Fit a model with this number of factors; the same seed gives the same model.

    Means and loadings are shrunk towards the overall mean and 0, those of each factor by as much as
    their spread warrants, and variances towards their pooled value.
    """
    generator = np.random.default_rng([seed, dimension])
    if table.n_subjects > _MOST_SUBJECTS:
        chosen = generator.choice(table.n_subjects, _MOST_SUBJECTS, replace=False)
        table = table.of(np.sort(chosen))
    cells = _cells(table)
    fit = _FactorFit(cells, table.n_subjects, len(table.arms), dimension, generator)
    fit.least = least_variance(table)
    before = -np.inf
    for _ in range(iterations):
        score = fit.improve()
        if score - before < 1e-4 * table.n_subjects:
            break
        before = score
    return fit.model


class _FactorFit:
    """One fit: the current model, and the variances of its priors."""

    def __init__(
        self,
        cells: _ObservedCells,
        n_subjects: int,
        n_arms: int,
        dimension: int,
        generator: np.random.Generator,
    ) -> None:
        self.cells, self.n_subjects, self.n_arms = cells, n_subjects, n_arms
        number = cells.number
        self.overall = float(number @ cells.mean / number.sum())
        variance = float(number @ np.square(cells.mean - self.overall) + cells.deviations.sum())
        variance = max(variance / number.sum(), 1e-12)
        totals = np.bincount(cells.arm, number, n_arms)
        sums = np.bincount(cells.arm, number * cells.mean, n_arms)
        means = (sums + _FEW * self.overall) / (totals + _FEW)
        spare = number.sum() - len(number)
        self.repeated = bool(spare >= _REPEATED)
        noise = np.full(n_arms, 0.7 * variance)
        lasting = np.zeros(n_arms)
        if self.repeated:
            noise = self._within(variance)
            lasting = np.full(n_arms, 0.1 * variance)
        loadings = np.sqrt(0.1 * variance) * generator.standard_normal((n_arms, dimension))
        self.model = Factors(means, loadings, float(np.sqrt(0.1 * variance)), noise, lasting)
        self.least = 0.0
        self.spread_of_means = variance
        self.spread_of_loadings = np.full(dimension, variance)

    def _within(self, variance: float) -> FloatArray:
        """Return the variance of rewards of the same person and arm."""
        cells = self.cells
        freedom = np.bincount(cells.arm, cells.number - 1, self.n_arms)
        squares = np.bincount(cells.arm, cells.deviations, self.n_arms)
        pooled = max(float(squares.sum() / freedom.sum()), 1e-3 * variance)
        return np.asarray((squares + _FEW * pooled) / (freedom + _FEW))

    def improve(self) -> float:
        """Do one step of EM, and return the log likelihood before it."""
        cells, model = self.cells, self.model
        posterior = _posterior(model, cells, self.n_subjects)
        d, q = model.dimension, model.dimension + 1
        # The second moments of x = (1, θ, b / τ), weighted and summed per arm.
        moments = np.empty((self.n_subjects, q + 1, q + 1))
        moments[:, 0, 0] = 1.0
        moments[:, 0, 1:] = moments[:, 1:, 0] = posterior.means
        moments[:, 1:, 1:] = posterior.covariances + (
            posterior.means[:, :, None] * posterior.means[:, None, :]
        )
        weight = _precision(model, cells)
        by_arm = _sparse(weight, cells.arm, cells.subject, (self.n_arms, self.n_subjects))
        gram = (by_arm @ moments.reshape(self.n_subjects, -1)).reshape(-1, q + 1, q + 1)
        rewards = _sparse(
            weight * cells.mean, cells.arm, cells.subject, (self.n_arms, self.n_subjects)
        )
        right = rewards @ moments[:, 0, :]
        prior = 1.0 / np.append(self.spread_of_means, self.spread_of_loadings)
        system = gram[:, : d + 1, : d + 1] + np.diag(prior)
        target = right[:, : d + 1] - model.level * gram[:, : d + 1, -1]
        target[:, 0] += prior[0] * self.overall
        covariance = np.linalg.inv(system)
        found = np.einsum("kij,kj->ki", covariance, target)
        means, loadings = found[:, 0], found[:, 1:]
        level = float(
            (right[:, -1] - np.einsum("kj,kj->k", gram[:, -1, : d + 1], found)).sum()
            / max(float(gram[:, -1, -1].sum()), 1e-300)
        )
        self.spread_of_means = float(np.mean(np.square(means - self.overall) + covariance[:, 0, 0]))
        own = np.square(loadings) + np.einsum("kii->ki", covariance)[:, 1:]
        self.spread_of_loadings = own.mean(axis=0)
        self.overall = float(means.mean())
        moved = Factors(means, loadings, max(level, 0.0), model.noise, model.lasting)
        self.model = self._with_variances(moved, posterior)
        return float(posterior.scores.sum())

    def _with_variances(self, model: Factors, posterior: _Posterior) -> Factors:
        """Return the model with variances that fit the residuals."""
        cells, w = self.cells, model.weights[self.cells.arm]
        residual = cells.mean - model.means[cells.arm]
        residual = residual - np.einsum("nq,nq->n", w, posterior.means[cells.subject])
        doubt = np.einsum("nq,nqr,nr->n", w, posterior.covariances[cells.subject], w)
        squares = np.square(residual) + doubt
        if self.repeated:
            share = model.lasting[cells.arm] * _precision(model, cells)
            effect = share**2 * squares + model.lasting[cells.arm] * (1.0 - share)
            lasting = _pooled(effect, np.ones_like(effect), cells.arm, self.n_arms)
            return Factors(model.means, model.loadings, model.level, model.noise, lasting)
        total = cells.number * squares + cells.deviations
        noise = np.maximum(_pooled(total, cells.number, cells.arm, self.n_arms), self.least)
        return Factors(model.means, model.loadings, model.level, noise, model.lasting)


def _pooled(total: FloatArray, number: FloatArray, arm: IntArray, n_arms: int) -> FloatArray:
    pooled = max(float(total.sum() / number.sum()), 1e-12)
    totals, numbers = np.bincount(arm, total, n_arms), np.bincount(arm, number, n_arms)
    return np.asarray((totals + _FEW * pooled) / (numbers + _FEW))


def _cells(table: SubjectTable) -> _ObservedCells:
    rows = table.counts.tocoo()
    subject, arm = (np.asarray(place, dtype=np.int64) for place in rows.coords)
    number = np.asarray(rows.data, dtype=float)
    mean = np.asarray(table.sums[subject, arm], dtype=float).ravel() / number
    squares = np.asarray(table.squares[subject, arm], dtype=float).ravel()
    deviations = np.where(number > 1, np.maximum(squares - number * mean * mean, 0.0), 0.0)
    return _ObservedCells(subject, arm, number, mean, deviations)


def _precision(model: Factors, cells: _ObservedCells) -> FloatArray:
    """Return the precision of each cell's mean, given θ and b."""
    return np.asarray(1.0 / (model.lasting[cells.arm] + model.noise[cells.arm] / cells.number))


def _sparse(
    values: FloatArray, row: IntArray, column: IntArray, shape: tuple[int, int]
) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((values, (row, column)), shape=shape)


def _posterior(model: Factors, cells: _ObservedCells, n_subjects: int) -> _Posterior:
    w = model.weights
    q = w.shape[1]
    weight = _precision(model, cells)
    shape = (n_subjects, len(model.means))
    residual = cells.mean - model.means[cells.arm]
    products = (w[:, :, None] * w[:, None, :]).reshape(len(w), -1)
    precision = _sparse(weight, cells.subject, cells.arm, shape) @ products
    precision = np.asarray(precision).reshape(n_subjects, q, q) + np.eye(q)
    right = np.asarray(_sparse(weight * residual, cells.subject, cells.arm, shape) @ w)
    covariances = np.linalg.inv(precision)
    means = np.einsum("nij,nj->ni", covariances, right)
    own = np.log(2 * np.pi / weight) + weight * residual * residual
    scores = -0.5 * np.bincount(cells.subject, own, n_subjects)
    scores += 0.5 * np.einsum("ni,ni->n", right, means)
    scores -= 0.5 * np.linalg.slogdet(precision)[1]
    return _Posterior(means, covariances, np.asarray(scores, dtype=float))
