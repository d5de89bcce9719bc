"""`lift`: what a policy gains compared with a holdout group, from a log of both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.holdout._baseline_terms import (
    BaselineTerms,
    baseline_terms,
    clustered_variance,
)
from structuredbandits.holdout._group_log import GroupLog, read_groups
from structuredbandits.holdout._group_path import (
    FREEDOM,
    HOLDOUT_MEAN,
    HOLDOUT_VARIANCE,
    POLICY_MEAN,
    POLICY_VARIANCE,
    REACH,
    Ending,
    follow,
    new_path,
)
from structuredbandits.holdout._lift_result import Lift, LiftInterval
from structuredbandits.holdout._sample_ratio import check_sample_ratio
from structuredbandits.holdout._time_uniform_boundary import PRIOR, log_limit
from structuredbandits.learning.estimation import check_level
from structuredbandits.structure import FloatArray

#: What both groups need before there is an interval.
LEAST_SUBJECTS, LEAST_FREEDOM = 20.0, 10.0
_LOOKS = 240


def lift(
    log: Any,
    *,
    group: str | None = None,
    holdout: str | None = None,
    reward: str = "reward",
    subject: str | None = None,
    time: str | None = None,
    share: float | None = None,
    baseline: str | Mapping[str, float] | None = None,
    arm: str = "arm",
    probability: str = "probability",
    name: str = "reward",
    level: float = 0.95,
) -> Lift:
    """Estimate what a policy gains compared with a holdout group, at every time.

    Parameters
    ----------
    log
        As in `evaluate`: a file, a folder, a DataFrame, an Arrow or an Ibis table, one row per
        decision of either group.
    group
        Name of the column that tells the groups apart; "group" or "holdout" if there is one.
    holdout
        The value of that column for the holdout group; by default "holdout", "control",
        "baseline", "true" or 1.
    reward
        Name of the column of rewards.
    subject
        Name of the column that identifies the subject; "subject" if there is one. Without it,
        decisions count as independent.
    time
        Name of the column of times, by which the decisions are sorted; "time", "timestamp",
        "rewarded" or "created" if there is one, the order of the rows otherwise.
    share
        The planned share of subjects in the holdout group, for the sample-ratio check.
    baseline
        What the holdout group was shown: "uniform", "always NAME", or a mapping from arms to
        probabilities. If given, the policy group's decisions also count for the baseline, weighted
        by their probabilities, which makes the interval per decision narrower.
    arm, probability
        Names of columns, for ``baseline`` only.
    name
        What the rewards are called in sentences, such as "clicks".
    level
        Confidence level of the intervals.

    Returns
    -------
    Lift

    Notes
    -----
    The intervals are confidence sequences: with probability ``level`` they contain the difference
    after *every* decision from their start on, so that a log may be looked at as often as one
    likes, and an experiment may be stopped when the lift is clear. They are asymptotic: they begin
    when both groups have 20 subjects and 10 degrees of freedom of their variance, and use
    Student's quantiles. The price is a width of about 1.6 times that of an interval for one look.

    Subjects are the independent units: the decisions of one subject may be correlated in any way,
    and the policy may learn from them. Subjects must be assigned to the groups at random and
    permanently. The difference per decision is the mean over the decisions so far; the difference
    per subject is that of their total rewards so far. With ``baseline``, the number of a subject's
    decisions must not depend on the group.

    References
    ----------
    S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric, nonasymptotic
    confidence sequences", Annals of Statistics 49, 2021.
    I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis, P. Mineiro, "Anytime-valid off-policy
    inference for contextual bandits", ACM/IMS Journal of Data Science 1, 2024.
    I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas, "Time-uniform central limit
    theory and asymptotic confidence sequences", Annals of Statistics 52, 2024.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> clicks = np.concatenate([np.tile([1.0, 0.0, 1.0], 200), np.tile([0.0, 0.0, 1.0], 100)])
    >>> log = pd.DataFrame({
    ...     "subject": np.arange(900), "group": ["policy"] * 600 + ["holdout"] * 300,
    ...     "reward": clicks,
    ... }).sample(frac=1.0, random_state=1)
    >>> print(lift(log, share=1 / 3, name="clicks"))
    +100.0 % clicks per decision, 95 % interval +57.0 to +169.6 %, clear since decision 87
    """
    check_level(level)
    if share is not None and not 0.0 < share < 1.0:
        raise InvalidInput(f"share = {share!r} is not between 0 and 1; give 0.1 for one in ten.")
    further = () if baseline is None else (arm, probability)
    decisions = read_groups(
        log,
        group=group,
        holdout=holdout,
        reward=reward,
        subject=subject,
        time=time,
        further=further,
    )
    held = decisions.groups == 0
    combined = BaselineTerms(decisions.rewards, np.where(held, decisions.rewards, 0.0), 0.0)
    if baseline is not None:
        combined = baseline_terms(decisions, baseline, arm, probability)
    per_decision, path, looks = _per_decision(decisions, combined, level)
    per_subject = _per_subject(decisions, level) if decisions.has_subjects else None
    ratio = check_sample_ratio(decisions.subject_groups == 0, share)
    times = None
    if decisions.times is not None:
        times = tuple(_time_text(decisions, int(row)) for row in looks)
    return Lift(
        per_decision=per_decision,
        per_subject=per_subject,
        sample_ratio=ratio,
        name=name,
        level=level,
        decisions=len(decisions.rewards),
        subjects=decisions.n_subjects,
        borrowed=combined.borrowed,
        path=path,
        path_times=times,
    )


class _Joint(NamedTuple):
    """Means of policy and baseline with their variances and covariance."""

    policy: float
    baseline: float
    policy_variance: float
    baseline_variance: float
    covariance: float


def _follow(
    log: GroupLog, terms: FloatArray, per_subject: bool, level: float, looks: np.ndarray
) -> tuple[Ending, FloatArray]:
    path = new_path(looks)
    limit = log_limit(level)
    ending = follow(
        np.ascontiguousarray(terms, dtype=float),
        log.subjects,
        log.groups,
        log.n_subjects,
        per_subject,
        limit,
        PRIOR,
        LEAST_SUBJECTS,
        LEAST_FREEDOM,
        looks,
        path,
    )
    return ending, path


def _per_decision(
    log: GroupLog, combined: BaselineTerms, level: float
) -> tuple[LiftInterval, FloatArray, np.ndarray]:
    number = len(log.rewards)
    looks = np.unique(np.linspace(0, number - 1, min(number, _LOOKS)).round().astype(np.int64))
    # Without this shift, rounding would spoil the variance of rewards that are large and close to
    # each other. With a share 1 − c of the holdout group's rewards, so is the shift.
    shift = float(log.rewards.mean())
    shifted = combined.terms - (1.0 - combined.borrowed) * shift
    ending, raw = _follow(log, shifted, False, level, looks)
    last = raw[-1]
    treated = log.groups == 1
    count = float(treated.sum())
    own = float(log.rewards[treated].mean()) if count else math.nan
    difference = float(last[POLICY_MEAN] - last[HOLDOUT_MEAN])
    joint = _joint(log, combined, own, own - difference)
    found = _interval(log, last, ending, joint, level)
    differences = raw[:, POLICY_MEAN] - raw[:, HOLDOUT_MEAN]
    reach = raw[:, REACH] * np.sqrt(raw[:, POLICY_VARIANCE] + raw[:, HOLDOUT_VARIANCE])
    path = np.stack([looks + 1.0, differences, differences - reach, differences + reach], axis=1)
    return found, path, looks


def _joint(log: GroupLog, combined: BaselineTerms, own: float, other: float) -> _Joint:
    """Return the means of both policies with their covariance, which borrowing makes."""
    treated = log.groups == 1

    policy = clustered_variance(log, log.rewards, treated)
    held = clustered_variance(log, combined.baseline, ~treated)
    if combined.borrowed == 0.0:
        return _Joint(own, other, policy, held, 0.0)
    lent = clustered_variance(log, combined.baseline, treated)
    both = clustered_variance(log, log.rewards - combined.baseline, treated)
    covariance = 0.5 * (policy + lent - both)
    return _Joint(own, other, policy, held + lent, covariance)


def _per_subject(log: GroupLog, level: float) -> LiftInterval:
    looks = np.array([len(log.rewards) - 1])
    ending, raw = _follow(log, log.rewards, True, level, looks)
    last = raw[-1]
    joint = _Joint(
        float(last[POLICY_MEAN]),
        float(last[HOLDOUT_MEAN]),
        float(last[POLICY_VARIANCE]),
        float(last[HOLDOUT_VARIANCE]),
        0.0,
    )
    return _interval(log, last, ending, joint, level)


def _interval(
    log: GroupLog, last: FloatArray, ending: Ending, joint: _Joint, level: float
) -> LiftInterval:
    from scipy.special import stdtrit

    difference = float(last[POLICY_MEAN] - last[HOLDOUT_MEAN])
    error = math.sqrt(float(last[POLICY_VARIANCE] + last[HOLDOUT_VARIANCE]))
    reach = float(last[REACH])
    distance = reach * error if math.isfinite(reach) else math.inf
    fixed = math.inf
    if math.isfinite(reach):
        fixed = float(stdtrit(float(last[FREEDOM]), 0.5 + 0.5 * level)) * error
    relative = difference / joint.baseline if joint.baseline else math.nan
    low, high = _ratio_interval(joint, reach)
    return LiftInterval(
        policy=joint.policy,
        holdout=joint.baseline,
        difference=difference,
        low=difference - distance,
        high=difference + distance,
        relative=relative,
        relative_low=low - 1.0,
        relative_high=high - 1.0,
        standard_error=error,
        fixed_low=difference - fixed,
        fixed_high=difference + fixed,
        clear_since=None if ending.clear_since < 0 else _time_text(log, ending.clear_since),
    )


def _ratio_interval(joint: _Joint, reach: float) -> tuple[float, float]:
    """Return the ratios ρ with |policy − ρ baseline| within ``reach`` standard errors (Fieller).

    They are unbounded if the baseline's mean may be 0. Relative lifts of a negative baseline would
    have the wrong sign and are not given.
    """
    if not math.isfinite(reach) or joint.baseline <= 0.0:
        return -math.inf, math.inf
    a, b = joint.policy, joint.baseline
    square = reach * reach
    leading = b * b - square * joint.baseline_variance
    if leading <= 0.0:
        return -math.inf, math.inf
    middle = a * b - square * joint.covariance
    rest = a * a - square * joint.policy_variance
    root = math.sqrt(max(middle * middle - leading * rest, 0.0))
    return (middle - root) / leading, (middle + root) / leading


def _time_text(log: GroupLog, row: int) -> str:
    if log.times is None:
        return f"decision {row + 1:,}"
    value = log.times.iloc[row]
    return value.isoformat() if hasattr(value, "isoformat") else f"{float(value):g}"
