"""The difference between two groups after every decision, clustered by subject.

The sums over subjects from which the estimates and their errors follow are updated with each
decision, so that looking after every decision costs no more than looking once.

The boundary needs a clock: two looks at a difference D must be correlated by at least the root of
the ratio of their times (Slepian's inequality). For means per decision the clock is 1/Var(D). For
means per subject, whose sums go on growing, it is the variance of the weighted sum of rewards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.structure import FloatArray

HOLDOUT, POLICY = 0, 1
#: Columns of a path.
POLICY_MEAN, HOLDOUT_MEAN, POLICY_VARIANCE, HOLDOUT_VARIANCE, REACH, FREEDOM = range(6)
N_COLUMNS = 6
# Sums over the subjects of a group: of 1, s, x, x², xs, s², x⁴, x³s, x²s², xs³, s⁴, with x the sum
# of a subject's rewards and s its size: its number of decisions, or 1.
_N_SUMS = 11


class Ending(NamedTuple):
    """Where the interval began and since when it excludes 0; row numbers, -1 for never."""

    start: int
    first_clear: int
    clear_since: int


@inline
def _add(sums: np.ndarray, x: float, s: float, sign: float) -> None:
    xx, xs, ss = x * x, x * s, s * s
    sums[0] += sign
    sums[1] += sign * s
    sums[2] += sign * x
    sums[3] += sign * xx
    sums[4] += sign * xs
    sums[5] += sign * ss
    sums[6] += sign * xx * xx
    sums[7] += sign * xx * xs
    sums[8] += sign * xx * ss
    sums[9] += sign * xs * ss
    sums[10] += sign * ss * ss


@inline
def _estimate(sums: np.ndarray) -> tuple[float, float, float]:
    """Return the mean Σx/Σs, its squared standard error, and the error's degrees of freedom.

    Degrees of freedom as in `structuredbandits.evaluation`: from the second and fourth powers of
    the influences ψ = x − mean · s, at most the number of subjects minus 1.
    """
    units = sums[0]
    if units < 2.0:
        return 0.0, np.inf, 0.0
    m = sums[2] / sums[1]
    second = sums[3] - 2.0 * m * sums[4] + m * m * sums[5]
    fourth = (
        sums[6] - 4.0 * m * sums[7] + 6.0 * m * m * sums[8] - 4.0 * m**3 * sums[9] + m**4 * sums[10]
    )
    if second <= 1e-12 * sums[3]:  # nothing varies, or only by rounding
        return m, 0.0, 0.0
    excess = fourth - second * second / units
    freedom = units - 1.0
    if excess > 0.0:
        freedom = min(freedom, 2.0 * second * second / excess)
    return m, second * units / (units - 1.0) / (sums[1] * sums[1]), freedom


@inline
def _student(z: float, freedom: float) -> float:
    """Return the quantile of Student's distribution where the normal one is z (Fisher, 1926)."""
    zz = z * z
    first = (zz + 1.0) / 4.0
    second = ((5.0 * zz + 16.0) * zz + 3.0) / 96.0
    third = (((3.0 * zz + 19.0) * zz + 17.0) * zz - 15.0) / 384.0
    return z * (1.0 + (first + (second + third / freedom) / freedom) / freedom)


@kernel
def follow(
    rewards: np.ndarray,
    subjects: np.ndarray,
    groups: np.ndarray,
    n_subjects: int,
    per_subject: bool,
    log_b: float,
    prior: float,
    least_subjects: float,
    least_freedom: float,
    looks: np.ndarray,
    path: np.ndarray,
) -> Ending:
    """Fill the path at some rows, and return where it began and since when it excludes 0.

    Parameters
    ----------
    rewards, subjects, groups
        (rows,), in the order of time; subjects are numbered from 0, groups are 0 and 1.
    per_subject
        Whether means are per subject and not per decision.
    log_b, prior
        Of the boundary.
    least_subjects, least_freedom
        What both groups must have when the interval begins.
    looks
        (looks,): rows after which the path is recorded, increasing.
    path
        (looks, columns): filled.
    """
    totals = np.zeros(n_subjects)
    counts = np.zeros(n_subjects)
    sums = np.zeros((2, _N_SUMS))
    means, variances, freedoms = np.zeros(2), np.full(2, np.inf), np.zeros(2)
    start, first, since, side = -1, -1, -1, 0
    first_clock, growth = 1.0, 1.0
    place = 0
    for row in range(len(rewards)):
        i, g = subjects[row], groups[row]
        if counts[i] > 0.0:
            _add(sums[g], totals[i], 1.0 if per_subject else counts[i], -1.0)
        totals[i] += rewards[row]
        counts[i] += 1.0
        _add(sums[g], totals[i], 1.0 if per_subject else counts[i], 1.0)
        means[g], variances[g], freedoms[g] = _estimate(sums[g])
        variance = variances[0] + variances[1]
        ready = min(freedoms[0], freedoms[1]) >= least_freedom
        clock = 1.0 / variance
        if per_subject:
            size = sums[0, 0] * sums[1, 0] / (sums[0, 0] + sums[1, 0])
            clock = size * size * variance
        if start < 0 and ready and min(sums[0, 0], sums[1, 0]) >= least_subjects:
            start, first_clock = row, clock
        reach, joint = np.inf, 0.0
        if start >= 0 and min(freedoms[0], freedoms[1]) > 1.0:
            growth = max(clock / first_clock, growth)
            z = np.sqrt((1.0 + prior / growth) * (2.0 * log_b + np.log1p(growth / prior)))
            joint = (
                variance
                * variance
                / (
                    variances[0] * variances[0] / freedoms[0]
                    + variances[1] * variances[1] / freedoms[1]
                )
            )
            reach = _student(z, joint)
        distance = reach * np.sqrt(variance)
        difference = means[1] - means[0]
        now = 0
        if difference > distance:
            now = 1
        elif difference < -distance:
            now = -1
        if now != side:
            since = row if now != 0 else -1
            side = now
        if now != 0 and first < 0:
            first = row
        if place < len(looks) and looks[place] == row:
            path[place, 0], path[place, 1] = means[1], means[0]
            path[place, 2], path[place, 3] = variances[1], variances[0]
            path[place, 4], path[place, 5] = reach, joint
            place += 1
    return Ending(start, first, since)


def new_path(looks: np.ndarray) -> FloatArray:
    """Return an empty path for these rows."""
    return np.zeros((len(looks), N_COLUMNS))
