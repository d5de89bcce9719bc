"""A mixture of hidden kinds of subjects, fitted by expectation-maximisation.

A subject has one kind c with probability share_c, and the rewards of arm k then have mean μ_ck.
The means of an arm are shrunk towards its overall mean by as much as their likelihood warrants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits.learning._subject_table import SubjectTable, least_variance
from structuredbandits.structure import FloatArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array

_LEAST_RATE = 1e-6
_LEAST_SHARE = 1e-6
# Subjects from which the information about the means is computed; more change it little.
_MOST_SUBJECTS_FOR_INFORMATION = 20_000
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Mixture:
    """Shares and means of the kinds, in the units of the rewards.

    Attributes
    ----------
    shares : (kinds,)
    means : (kinds, arms)
    variances : (arms,)
        Of Gaussian rewards within a kind; unused for 0/1 rewards.
    spread
        The prior of the means about the arm's mean: a variance for Gaussian rewards, the precision
        of a Beta distribution for 0/1 rewards.
    binary
        Whether rewards are 0 or 1.
    level
        The variance of a personal level, which is added to all rewards of a subject; 0 for 0/1
        rewards.
    least
        The smallest variance that was allowed, see `least_variance`.
    """

    shares: FloatArray
    means: FloatArray
    variances: FloatArray
    spread: float
    binary: bool
    level: float = 0.0
    least: float = 0.0

    @property
    def n_kinds(self) -> int:
        """The number of kinds."""
        return len(self.shares)

    def log_likelihoods(self, table: SubjectTable) -> FloatArray:
        """Return (subjects, kinds): the log likelihood of all rewards of a subject."""
        logs = _log_likelihoods(table, self.means, self.variances, self.binary)
        if self.level == 0.0:
            return logs
        level = _level(table, self)
        return np.asarray(logs + 0.5 * (np.square(level.mean) / level.variance + level.log_ratio))

    def log_scores(self, table: SubjectTable) -> FloatArray:
        """Return (subjects,): the log likelihood of a subject whose kind is not known."""
        from scipy.special import logsumexp

        return np.asarray(logsumexp(self.log_likelihoods(table) + np.log(self.shares), axis=1))

    def responsibilities(self, table: SubjectTable) -> FloatArray:
        """Return (subjects, kinds): the posterior of each subject's kind."""
        return softmax(self.log_likelihoods(table) + np.log(self.shares))


def softmax(logs: FloatArray) -> FloatArray:
    """Return probabilities from logs, along the last axis."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


class _Level(NamedTuple):
    """The posterior of the personal level, given the kind."""

    mean: FloatArray
    """(subjects, kinds)"""
    variance: FloatArray
    """(subjects, 1)"""
    log_ratio: FloatArray
    """(subjects, 1): the log of the posterior's variance, relative to the prior's."""


def _level(table: SubjectTable, mixture: Mixture) -> _Level:
    precision = 1.0 / mixture.variances
    ratio = 1.0 + mixture.level * np.asarray(table.counts @ precision)[:, None]
    pull = (
        np.asarray(table.sums @ precision)[:, None] - table.counts @ (mixture.means * precision).T
    )
    variance = mixture.level / ratio
    return _Level(variance * pull, variance, -np.log(ratio))


def _log_likelihoods(
    table: SubjectTable, means: FloatArray, variances: FloatArray, binary: bool
) -> FloatArray:
    if binary:
        failures = table.counts - table.sums
        return np.asarray(table.sums @ np.log(means).T + failures @ np.log1p(-means).T)
    constant = -0.5 * (table.counts @ np.log(2.0 * np.pi * variances)) - 0.5 * (
        table.squares @ (1.0 / variances)
    )
    linear = table.sums @ (means / variances).T
    quadratic = table.counts @ (0.5 * means * means / variances).T
    return np.asarray(constant[:, None] + linear - quadratic)


def fit_mixture(
    table: SubjectTable,
    n_kinds: int,
    *,
    binary: bool,
    seed: int = 0,
    restarts: int = 4,
    iterations: int = 300,
    personal_level: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> Mixture:
    """Fit a mixture with this number of kinds; the same seed gives the same kinds.

    Each restart begins with the means of random groups of subjects and runs for a while; the best
    of them is continued until it no longer improves.
    """
    generator = np.random.default_rng([seed, n_kinds])
    best, best_score = None, -np.inf
    for _ in range(restarts if n_kinds > 1 else 1):
        # The prior stays weak at first: kinds that hardly differ yet would be shrunk to one.
        start = _start(table, n_kinds, binary, generator)
        if personal_level and not binary:
            start = replace(start, level=0.1 * float(np.mean(start.variances)))
        started = _improve(table, start, 60, weak=True)
        score = float(started.log_scores(table).sum())
        if best is None or score > best_score:
            best, best_score = started, score
        advance()
    assert best is not None
    fitted = _improve(table, best, iterations)
    advance()
    order = np.argsort(-fitted.shares, kind="stable")
    return replace(fitted, shares=fitted.shares[order], means=fitted.means[order])


def fit_labelled(table: SubjectTable, labels: FloatArray, *, binary: bool) -> Mixture:
    """Fit the mixture whose kinds are given: (subjects, kinds) weights that sum to 1 per row."""
    start = _start(table, 1, binary, np.random.default_rng(0))
    return _maximise(table, labels, start)


def _start(
    table: SubjectTable, n_kinds: int, binary: bool, generator: np.random.Generator
) -> Mixture:
    overall, variances = _overall(table, binary)
    groups = generator.integers(n_kinds, size=table.n_subjects)
    member = np.zeros((table.n_subjects, n_kinds))
    member[np.arange(table.n_subjects), groups] = 1.0
    # A few subjects per group differ enough to break the symmetry.
    member *= (generator.random(table.n_subjects) < 0.2)[:, None]
    counts, sums = (table.counts.T @ member).T, (table.sums.T @ member).T
    strength = np.maximum(0.2 * np.median(counts), 1e-9)
    means = (sums + strength * overall) / (counts + strength)
    if binary:
        means = np.clip(means, _LEAST_RATE, 1.0 - _LEAST_RATE)
    spread = 4.0 if binary else float(np.mean(variances))
    least = 0.0 if binary else least_variance(table)
    shares = np.full(n_kinds, 1.0 / n_kinds)
    return Mixture(shares, means, np.maximum(variances, least), spread, binary, least=least)


def _overall(table: SubjectTable, binary: bool) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the variance of each arm over all subjects."""
    counts = np.maximum(np.asarray(table.counts.sum(axis=0)), 1e-300)
    mean = np.asarray(table.sums.sum(axis=0)) / counts
    variance = np.asarray(table.squares.sum(axis=0)) / counts - mean * mean
    pooled = max(float((variance * counts).sum() / counts.sum()), 1e-12)
    few = 10.0  # rewards at which an arm's own variance counts as much as the pooled one
    variance = (np.maximum(variance, 0.0) * counts + few * pooled) / (counts + few)
    if binary:
        mean = np.clip(mean, _LEAST_RATE, 1.0 - _LEAST_RATE)
    return mean, variance


def _improve(
    table: SubjectTable, mixture: Mixture, iterations: int, *, weak: bool = False
) -> Mixture:
    previous = -np.inf
    for _ in range(iterations):
        logs = mixture.log_likelihoods(table) + np.log(mixture.shares)
        top = logs.max(axis=1)
        score = float((top + np.log(np.exp(logs - top[:, None]).sum(axis=1))).sum())
        mixture = _maximise(table, softmax(logs), mixture, weak=weak)
        if (
            mixture.n_kinds == 1 and mixture.level == 0.0
        ) or score - previous < 1e-6 * table.n_subjects:
            break
        previous = score
    return mixture


def _maximise(
    table: SubjectTable, weights: FloatArray, before: Mixture, *, weak: bool = False
) -> Mixture:
    """Return the mixture that is most likely given (subjects, kinds) weights.

    The prior of the means is fitted too, unless it is to stay weak.
    """
    shares = weights.sum(axis=0)
    shares = np.maximum(shares / shares.sum(), _LEAST_SHARE)
    counts, sums = (table.counts.T @ weights).T, (table.sums.T @ weights).T
    overall, _ = _overall(table, before.binary)
    if before.binary:
        spread = before.spread if weak else _beta_precision(counts, sums, overall)
        means = (sums + spread * overall) / (counts + spread)
        means = np.clip(means, _LEAST_RATE, 1.0 - _LEAST_RATE)
        return Mixture(shares / shares.sum(), means, before.variances, spread, True)
    squares, tau = np.asarray(table.squares.sum(axis=0)), 0.0
    if before.level > 0.0:
        # Rewards without the personal level: what is left of their sums and of their squares.
        level = _level(table, before)
        expected, second = weights * level.mean, weights * (level.mean**2 + level.variance)
        squares = squares - 2.0 * (table.sums.T @ expected.sum(axis=1))
        squares = squares + table.counts.T @ second.sum(axis=1)
        sums = sums - (table.counts.T @ expected).T
        tau = float(second.sum() / len(weights))
    spread = before.spread if weak else _normal_spread(counts, sums, overall, before.variances)
    precision = before.variances / spread
    means = (sums + precision * overall) / (counts + precision)
    residual = squares - 2.0 * (means * sums).sum(axis=0) + (means * means * counts).sum(axis=0)
    number = counts.sum(axis=0)
    pooled = max(float(residual.sum() / number.sum()), 1e-12)
    variances = (np.maximum(residual, 0.0) + 10.0 * pooled) / (number + 10.0)
    variances = np.maximum(variances, before.least)
    return Mixture(shares / shares.sum(), means, variances, spread, False, tau, before.least)


def _normal_spread(
    counts: FloatArray, sums: FloatArray, overall: FloatArray, variances: FloatArray
) -> float:
    """Return the variance between kinds, the same for all arms, of largest likelihood."""
    from scipy.optimize import minimize_scalar

    seen = counts > 1e-6
    own = variances * np.ones_like(counts)
    distance = np.square(sums[seen] / counts[seen] - np.broadcast_to(overall, counts.shape)[seen])
    noise = own[seen] / counts[seen]
    scale = float(np.mean(variances))

    def loss(log_spread: float) -> float:
        total = noise + np.exp(log_spread)
        return float((np.log(total) + distance / total).sum())

    bounds = (np.log(1e-6 * scale), np.log(100.0 * scale))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def _beta_precision(counts: FloatArray, sums: FloatArray, overall: FloatArray) -> float:
    """Return the precision of the kinds' rates about each arm's rate, of largest likelihood."""
    from scipy.optimize import minimize_scalar
    from scipy.special import betaln

    failures = counts - sums

    def loss(log_precision: float) -> float:
        a = np.exp(log_precision) * overall
        b = np.exp(log_precision) * (1.0 - overall)
        return -float((betaln(a + sums, b + failures) - betaln(a, b)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(0.0, 16.0), method="bounded").x))


def standard_errors(mixture: Mixture, table: SubjectTable, seed: int = 0) -> FloatArray:
    """Return the standard errors of the means (kinds, arms), from the observed information.

    The information is the sum over subjects of the squared gradient of their log likelihood, in
    which a subject of uncertain kind counts little, plus that of the prior of the means.
    """
    total = table.n_subjects
    if total > _MOST_SUBJECTS_FOR_INFORMATION:
        generator = np.random.default_rng(seed)
        chosen = generator.choice(total, _MOST_SUBJECTS_FOR_INFORMATION, replace=False)
        table = table.of(np.sort(chosen))
    n_kinds, n_arms = mixture.means.shape
    means = mixture.means
    own = (
        means * (1.0 - means) if mixture.binary else np.broadcast_to(mixture.variances, means.shape)
    )
    weights = mixture.responsibilities(table)
    size = n_kinds * n_arms
    information = np.zeros((size + n_kinds - 1, size + n_kinds - 1))
    for first in range(0, table.n_subjects, _BLOCK):
        block = slice(first, first + _BLOCK)
        counts, sums = _dense(table.counts, block), _dense(table.sums, block)
        w = weights[block]
        gradient = np.empty((len(w), information.shape[0]))
        slope = (sums[:, None, :] - counts[:, None, :] * means) / own
        gradient[:, :size] = (w[:, :, None] * slope).reshape(len(w), size)
        gradient[:, size:] = w[:, 1:] / mixture.shares[1:] - w[:, :1] / mixture.shares[0]
        information += gradient.T @ gradient
    information *= total / table.n_subjects
    prior = (
        (mixture.spread + 1.0) / own if mixture.binary else np.full(own.shape, 1 / mixture.spread)
    )
    information[np.arange(size), np.arange(size)] += prior.ravel()
    covariance = np.linalg.pinv(information, hermitian=True)
    return np.sqrt(np.maximum(np.diag(covariance)[:size], 0.0)).reshape(n_kinds, n_arms)


def _dense(table: csr_array, block: slice) -> FloatArray:
    return np.asarray(table[block].toarray())
