"""`evaluate`: estimate what another policy would have earned on a log."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from structuredbandits.errors import InvalidInput, StructureWarning
from structuredbandits.evaluation._decision_log import DecisionLog, find_columns, read_decisions
from structuredbandits.evaluation._doubly_robust import (
    Model,
    doubly_robust_terms,
    predicted_rewards,
)
from structuredbandits.evaluation._estimated_probabilities import (
    SensitivityBounds,
    sensitivity_bounds,
)
from structuredbandits.evaluation._interval_choice import (
    Choice,
    Units,
    choose_interval,
    reward_limits,
    sum_by_unit,
)
from structuredbandits.evaluation._ips import Terms, choice_probabilities, ips_terms, snips_terms
from structuredbandits.evaluation._paired_difference import PolicyComparison, difference_of
from structuredbandits.evaluation._replay import replay_terms
from structuredbandits.evaluation._target_policy import is_fixed, make_target, named_arms
from structuredbandits.evaluation._value_estimate import Estimate
from structuredbandits.evaluation._value_intervals import (
    IntervalRule,
    effective_size,
    ratio_of_sums,
)
from structuredbandits.learning.estimation import check_level
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.problems import load_structure
from structuredbandits.progress import (
    Mode,
    Reporter,
    announcing_compilation,
    reporting,
)
from structuredbandits.structure import FloatArray, Structure

Method = Literal["dr", "ips", "snips", "replay"]
LOGGED = "logged"


def evaluate(
    log: Any,
    policy: Any,
    *,
    structure: Structure | str | PathLike[str] | None = None,
    method: Method | None = None,
    level: float = 0.95,
    model: Model = "posterior",
    interval: IntervalRule = "auto",
    limits: tuple[float, float] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    horizon: int | None = None,
    arm: str = "arm",
    reward: str = "reward",
    probability: str = "probability",
    subject: str | None = None,
    order: str | None = None,
    allowed: str | None = None,
    context: Sequence[str] = (),
    structure_version: int | None = None,
    progress: Mode = "off",
) -> Estimate:
    """Estimate the reward of a policy from a log of another policy's decisions.

    Parameters
    ----------
    log
        A file (CSV, Parquet, or JSON lines as a service exports them), a folder, a DataFrame, an
        Arrow or an Ibis table, one row per decision. If a service exported a decision several
        times because its reward was corrected, the last row counts (columns "id" and
        "settled").
    policy
        "uniform"; "always NAME" for one arm; a mapping from arms to probabilities; a function
        that takes a `DecisionInput` and returns an arm or probabilities; an algorithm such as
        `UCB()` or its name; or "logged", which is the log's own policy.
    structure
        A structure, or the file or embedded name of one. The doubly robust method and algorithms
        need it.
    method
        "dr", doubly robust, with the structure as the model of rewards; "ips", inverse propensity
        scoring; "snips", the same divided by the sum of weights; "replay" for logs of uniformly
        random choices. By default "dr" if there is a structure and "snips" otherwise.
    level
        Confidence level of the interval.
    model
        For "dr": "posterior" predicts rewards from the subject's earlier decisions, "prior" from
        the structure's prior only.
    interval
        "auto": the normal interval where it covers as often as it says, otherwise one by betting
        for rewards with limits, or none, with the reason in the estimate. "normal", clustered by
        subject; "betting", which needs limits; or "bootstrap" over subjects.
    limits
        (low, high) between which all rewards lie; (0, 1) by default if all rewards are 0 or 1.
    resamples, seed
        For the bootstrap, and for the choices of a replayed policy.
    horizon
        For algorithms that use it.
    arm, reward, probability
        Names of columns; the probability is that of the arm that was shown. "estimate" for a log
        without probabilities: they are estimated from its choices, explained by the columns of
        ``context``, with a warning and sensitivity bounds.
    subject
        Name of the column that identifies the subject; "subject" if there is one.
    order
        Name of the column that sorts a subject's decisions; "decision" or "round" if there is
        one, the order of the rows otherwise.
    allowed
        Name of the column of allowed arms, as lists or as text a|b; "allowed" if there is one.
    context
        Names of further columns, for a policy that is a function, and for estimated
        probabilities.
    structure_version
        Use only decisions on this version of a structure (column "structure_version"),
        since arms may differ between versions. All by default.
    progress
        "auto" shows a bar on a terminal, "lines" also elsewhere, "off" never.

    Returns
    -------
    Estimate

    Notes
    -----
    "dr", "ips" and "snips" estimate the mean expected reward when, at each logged decision and
    with the logged history of the subject, the policy chooses instead of the logging policy. For a
    policy that ignores history this is its mean reward. For a policy that learns, it is the value
    of its choices after *logged* histories, which differs from what it would earn if it had made
    all earlier decisions itself.

    "replay" estimates the latter: the decisions in which the policy agrees with a uniformly random
    log form a run of the policy, of about (decisions / arms) rounds per subject.

    The rewards of a subject's earlier decisions count as known at the next one. Without a column of
    subjects, a policy that learns sees the whole log as one stream, and the interval treats its
    decisions as uncorrelated given the past. Use "dr" with a structure learned
    from other data than the log itself.

    The probabilities of an algorithm are those of `probabilities_many`, which are within a
    thousandth of `Policy.probabilities` and the ones that the service logs.

    The normal interval needs many decisions that determine the value. If few do, since the policy
    differs from the log or rewards are rare, it is far too short. Then bounded rewards get an
    interval by betting, which holds for any number of decisions and for logs of policies that
    learn, if no choice of the policy in question was less probable than the rarest ones in the
    log. Rewards without limits get Student's interval with the degrees of freedom of the weighted
    rewards, and none below 4.

    References
    ----------
    I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal
    of the Royal Statistical Society B 86, 2024.
    M. Dudík, J. Langford, L. Li, "Doubly robust policy evaluation and learning", ICML 2011.
    L. Li, W. Chu, J. Langford, X. Wang, "Unbiased offline evaluation of contextual-bandit-based
    news article recommendation algorithms", WSDM 2011.
    A. Swaminathan, T. Joachims, "The self-normalized estimator for counterfactual learning",
    NeurIPS 2015.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({
    ...     "arm": ["a", "b", "a", "b"], "reward": [1.0, 3.0, 2.0, 5.0], "probability": [0.5] * 4,
    ... })
    >>> estimate = evaluate(log, "always b", method="ips")
    >>> estimate.value, estimate.effective_sample_size, estimate.logged_value
    (4.0, 2.0, 2.75)
    """
    made = _evaluate_all(
        log,
        [policy],
        {
            "structure": structure,
            "method": method,
            "level": level,
            "model": model,
            "interval": interval,
            "limits": limits,
            "resamples": resamples,
            "seed": seed,
            "horizon": horizon,
            "progress": progress,
        },
        {
            "arm": arm,
            "reward": reward,
            "probability": probability,
            "subject": subject,
            "order": order,
            "allowed": allowed,
            "context": context,
        },
        structure_version,
    )
    return made[0].estimate


def compare_policies(
    log: Any,
    policies: Sequence[Any],
    *,
    against: Any = LOGGED,
    structure: Structure | str | PathLike[str] | None = None,
    method: Method | None = None,
    level: float = 0.95,
    model: Model = "posterior",
    limits: tuple[float, float] | None = None,
    seed: int = 0,
    horizon: int | None = None,
    arm: str = "arm",
    reward: str = "reward",
    probability: str = "probability",
    subject: str | None = None,
    order: str | None = None,
    allowed: str | None = None,
    context: Sequence[str] = (),
    structure_version: int | None = None,
    interval: IntervalRule = "auto",
    resamples: int = 2000,
    progress: Mode = "off",
) -> PolicyComparison:
    """Estimate the rewards of several policies from one log, and the differences between them.

    Two policies on the same log share its noise. The interval of a difference is that of the
    paired differences, clustered by subject, and often much narrower than two overlapping
    intervals suggest. The log is read once.

    Parameters
    ----------
    log
        As in `evaluate`.
    policies
        Descriptions of policies, as in `evaluate`.
    against
        The policy with which they are compared; by default "logged", the log's own.
    structure, method, level, model, limits, seed, horizon
        As in `evaluate`.
    arm, reward, probability, subject, order, allowed, context, structure_version
        As in `evaluate`.
    interval, resamples
        As in `evaluate`, for the values of the policies; differences choose their own.
    progress
        As in `evaluate`.

    Returns
    -------
    PolicyComparison
        ``estimates``, that of ``against`` first, and ``differences``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> generator = np.random.default_rng(1)
    >>> shown = generator.integers(2, size=4000)
    >>> log = pd.DataFrame({
    ...     "arm": np.array(["a", "b"])[shown], "probability": 0.5,
    ...     "reward": (generator.random(4000) < np.array([0.3, 0.35])[shown]).astype(int),
    ... })
    >>> found = compare_policies(log, ["always b"], against="uniform")
    >>> print(found.differences[0])
    always b minus uniform: +0.02819 per decision (95 % interval +0.0137 to +0.04268)
    """
    made = _evaluate_all(
        log,
        [against, *policies],
        {
            "structure": structure,
            "method": method,
            "level": level,
            "model": model,
            "interval": interval,
            "limits": limits,
            "resamples": resamples,
            "seed": seed,
            "horizon": horizon,
            "progress": progress,
        },
        {
            "arm": arm,
            "reward": reward,
            "probability": probability,
            "subject": subject,
            "order": order,
            "allowed": allowed,
            "context": context,
        },
        structure_version,
    )
    base = made[0]
    differences = [
        difference_of((one.estimate.policy, base.estimate.policy), one.units, base.units, level)
        for one in made[1:]
    ]
    return PolicyComparison(tuple(one.estimate for one in made), tuple(differences))


class _Evaluated(NamedTuple):
    """An estimate, and the sums by subject from which it comes."""

    estimate: Estimate
    units: Units


def _evaluate_all(
    log: Any,
    policies: Sequence[Any],
    options: dict[str, Any],
    roles: dict[str, Any],
    structure_version: int | None,
) -> list[_Evaluated]:
    """Read a log once and evaluate several policies on it."""
    structure = options.pop("structure")
    resamples, method = options["resamples"], options.pop("method")
    chosen = _check(
        method, options["level"], options["model"], options["interval"], resamples, structure
    )
    known = _structure(structure)
    decisions = read_decisions(
        log,
        find_columns(log, **roles),
        None if known is None else known.arms,
        [name for policy in policies for name in named_arms(policy)],
        structure_version,
    )
    bounds = reward_limits(decisions.rewards, options.pop("limits"))
    if options["interval"] == "betting" and bounds is None:
        raise InvalidInput(
            "an interval by betting needs limits of the rewards, which are not all 0 or 1; give "
            "limits=(low, high), or interval='auto'."
        )
    if decisions.estimated:
        _warn_of_estimated(chosen, decisions)
    return [
        _evaluate_one(decisions, policy, known, chosen, bounds, **options) for policy in policies
    ]


def _warn_of_estimated(method: str, log: DecisionLog) -> None:
    if method == "replay":
        raise InvalidInput(
            "replay needs the logged probabilities, which must be uniform; use method='snips' or "
            "'dr' with estimated ones."
        )
    explained = f"the columns {', '.join(log.context)}" if log.context else "no column"
    warnings.warn(
        f"the probabilities are estimated from the choices in the log, explained by {explained}: "
        "if something else decided which arm was shown and also affects the reward, the values "
        "are biased; see the sensitivity bounds.",
        StructureWarning,
        stacklevel=4,
    )


def _evaluate_one(
    decisions: DecisionLog,
    policy: Any,
    known: Structure | None,
    chosen: Method,
    bounds: tuple[float, float] | None,
    *,
    level: float,
    model: Model,
    interval: IntervalRule,
    resamples: int,
    seed: int,
    horizon: int | None,
    progress: Mode,
) -> _Evaluated:
    used: str = chosen
    if isinstance(policy, str) and policy.strip().lower() == LOGGED:
        label, terms, uncovered = LOGGED, _logged_terms(decisions), 0.0
        used = "mean"
    else:
        label, terms, uncovered = _terms(
            decisions, policy, known, chosen, model, bounds, horizon, seed, progress
        )
    ratio = ratio_of_sums(
        terms.numerators,
        terms.denominators,
        decisions.subjects,
        level=level,
        rule=interval,
        resamples=resamples,
        seed=seed,
    )
    found = Choice(ratio.low, ratio.high, "normal", "asked for")
    units = sum_by_unit(
        used,
        decisions.rewards,
        terms.weights,
        decisions.subjects,
        bounds,
        terms.predictions,
        terms.clipped,
    )
    if interval == "bootstrap":
        found = found._replace(kind="bootstrap")
    elif interval != "normal":
        found = choose_interval(units, level, always_bet=interval == "betting")
    sensitivity: tuple[SensitivityBounds, ...] = ()
    if decisions.estimated and used != "mean":
        shares = terms.weights * decisions.probabilities
        sensitivity = sensitivity_bounds(decisions.rewards, shares, decisions.probabilities)
    estimate = Estimate(
        value=ratio.value,
        low=found.low,
        high=found.high,
        standard_error=ratio.standard_error,
        n=len(decisions),
        subjects=decisions.n_subjects,
        effective_sample_size=effective_size(terms.weights),
        method=used,
        level=level,
        policy=label,
        logged_value=float(decisions.rewards.mean()),
        uncovered=uncovered,
        interval=found.kind,
        reason=found.reason,
        sensitivity=sensitivity,
    )
    return _Evaluated(estimate, units)


def _check(
    method: str | None, level: float, model: str, interval: str, resamples: int, structure: Any
) -> Method:
    check_level(level)
    default = "snips" if structure is None else "dr"
    chosen = default if method is None else method
    for what, value, known in (
        ("method", chosen, get_args(Method)),
        ("model", model, get_args(Model)),
        ("interval", interval, get_args(IntervalRule)),
    ):
        if value not in known:
            raise InvalidInput(f"{what} = {value!r} is unknown; choose one of {', '.join(known)}.")
    if chosen == "dr" and structure is None:
        raise InvalidInput(
            "the doubly robust method needs a structure as its model; give structure=, or use "
            "method='snips'."
        )
    if not isinstance(resamples, int) or resamples < 100:
        raise InvalidInput(f"resamples = {resamples!r} is too few; give at least 100.")
    return chosen  # type: ignore[return-value]  # it was just checked


def _structure(source: Structure | str | PathLike[str] | None) -> Structure | None:
    return source if source is None or isinstance(source, Structure) else load_structure(source)


def _logged_terms(log: DecisionLog) -> Terms:
    ones = np.ones(len(log))
    return Terms(log.rewards, ones, ones)


def _terms(
    log: DecisionLog,
    policy: Any,
    structure: Structure | None,
    method: Method,
    model: Model,
    limits: tuple[float, float] | None,
    horizon: int | None,
    seed: int,
    progress: Mode,
) -> tuple[str, Terms, float]:
    """Run the policy along the log; return its label, its terms and the uncovered share."""
    rounds = log.longest if log.has_subjects else len(log)
    with reporting(progress, "compiling", 1) as reporter, _announcing(policy, reporter):
        target = make_target(
            policy, log.arms, structure, rounds, horizon, seed, batch=method != "replay"
        )
    with reporting(progress, f"evaluating {target.label}", len(log)) as reporter:
        if method == "replay":
            generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
            return target.label, replay_terms(target, log, generator, reporter), 0.0
        shares = choice_probabilities(target, log, reporter)
    uncovered = _uncovered(shares, log)
    if method == "ips":
        return target.label, ips_terms(shares, log), uncovered
    if method == "snips" or structure is None:
        return target.label, snips_terms(shares, log), uncovered
    expected = predicted_rewards(structure, log, model)
    return target.label, doubly_robust_terms(shares, expected, log, limits), uncovered


def _announcing(policy: Any, reporter: Reporter) -> AbstractContextManager[None]:
    """Announce compilation, which only algorithms need."""
    fixed = isinstance(policy, str) and is_fixed(policy)
    if fixed or not isinstance(policy, str | Algorithm):
        return nullcontext()
    return announcing_compilation(reporter)


def _uncovered(shares: FloatArray, log: DecisionLog) -> float:
    never = np.bincount(log.chosen, minlength=len(log.arms)) == 0
    return float(shares[:, never].sum(axis=1).mean())
