"""`evaluate`: what another policy would have earned on a log.

This module knows the order of the work. It must not know formats or formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.evaluation.decisions import DecisionLog, find_columns, read_decisions
from structuredbandits.evaluation.doubly_robust import (
    Model,
    doubly_robust_terms,
    predicted_rewards,
)
from structuredbandits.evaluation.estimate import Estimate
from structuredbandits.evaluation.intervals import IntervalRule, effective_size, ratio_of_sums
from structuredbandits.evaluation.ips import Terms, choice_probabilities, ips_terms, snips_terms
from structuredbandits.evaluation.replay import replay_terms
from structuredbandits.evaluation.targets import is_fixed, make_target, named_arms
from structuredbandits.learning.estimate import check_level
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.problems import load_structure
from structuredbandits.simulation.progress import (
    Mode,
    Reporter,
    announcing_compilation,
    reporting,
)
from structuredbandits.structure import Structure
from structuredbandits.structure.theta import FloatArray

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
    interval: IntervalRule = "normal",
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
    """Estimate from a log of another policy's decisions what a policy would have earned.

    Parameters
    ----------
    log
        A file (CSV, Parquet, or JSON lines as a service exports them), a folder, a DataFrame, an
        Arrow or an Ibis table, one row for each decision. Of a decision that a service exported
        several times, since its reward was corrected, the last row counts (columns "id" and
        "settled").
    policy
        "uniform"; "always NAME" for one arm; a mapping from arms to probabilities; a function
        that takes a `Decision` and returns an arm or probabilities; an algorithm such as `UCB()`
        or its name; or "logged", which is the log's own policy.
    structure
        What is known of the arms, or a file or embedded name of it. The doubly robust method
        needs it, and so do algorithms.
    method
        "dr", doubly robust, with the structure as the model of rewards; "ips", inverse propensity
        scoring; "snips", the same divided by the sum of weights; "replay" for logs of uniformly
        random choices. By default "dr" if there is a structure and "snips" otherwise.
    level
        Of the interval.
    model
        For "dr": "posterior" expects rewards from what the subject did before, "prior" from the
        structure's prior only.
    interval
        "normal", with the decisions of a subject taken together, or "bootstrap" over subjects.
    resamples, seed
        For the bootstrap, and for the choices of a replayed policy.
    horizon
        For algorithms that use it.
    arm, reward, probability
        Names of columns; the probability is that of the arm that was shown.
    subject
        Name of the column that says who; "subject" if there is one.
    order
        Name of the column that sorts a subject's decisions; "decision" or "round" if there is
        one, the order of the rows otherwise.
    allowed
        Name of the column of allowed arms, as lists or as texts a|b; "allowed" if there is one.
    context
        Names of further columns, for a policy that is a function.
    structure_version
        Only decisions of this version of a service's structure (column "structure_version"): arms
        may differ between versions. All by default.
    progress
        "auto" shows a bar on a terminal, "lines" also elsewhere, "off" never.

    Returns
    -------
    Estimate

    Notes
    -----
    For "dr", "ips" and "snips" the value is this: at each logged decision, with the history that
    this subject had then, let the policy choose in place of the log's; the mean of the expected
    rewards of these choices. For a policy that ignores history it is what the policy earns. For
    one that learns, it is what its choices are worth after the histories *that the log made*,
    which is not what it would earn had it made all of them itself.

    "replay" answers that question: the decisions in which the policy agrees with a uniformly
    random log are a run of the policy, of about (decisions / arms) rounds a subject.

    Rewards of a subject's earlier decisions count as known at the next one. Without a column of
    subjects, a policy that learns sees the whole log as one stream, and the interval treats its
    decisions as uncorrelated given the past. "dr" should be used with a structure that was
    learned from other data than the log itself.

    References
    ----------
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
    used: str
    chosen = used = _check(method, level, model, interval, resamples, structure)
    known = _structure(structure)
    columns = find_columns(
        log,
        arm=arm,
        reward=reward,
        probability=probability,
        subject=subject,
        order=order,
        allowed=allowed,
        context=context,
    )
    decisions = read_decisions(
        log,
        columns,
        None if known is None else known.arms,
        named_arms(policy),
        structure_version,
    )
    if isinstance(policy, str) and policy.strip().lower() == LOGGED:
        label, terms, uncovered = LOGGED, _logged_terms(decisions), 0.0
        used = "mean"
    else:
        label, terms, uncovered = _terms(
            decisions, policy, known, chosen, model, horizon, seed, progress
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
    return Estimate(
        value=ratio.value,
        low=ratio.low,
        high=ratio.high,
        standard_error=ratio.standard_error,
        n=len(decisions),
        subjects=decisions.n_subjects,
        effective_sample_size=effective_size(terms.weights),
        method=used,
        level=level,
        policy=label,
        logged_value=float(decisions.rewards.mean()),
        uncovered=uncovered,
    )


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
        raise InvalidInput(f"resamples = {resamples!r} are too few for an interval; give 100+.")
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
    horizon: int | None,
    seed: int,
    progress: Mode,
) -> tuple[str, Terms, float]:
    """Run the policy beside the log and return its label, its terms and what is uncovered."""
    rounds = log.longest if log.has_subjects else len(log)
    with reporting(progress, "compiling", 1) as reporter, _announcing(policy, reporter):
        target = make_target(policy, log.arms, structure, rounds, horizon, seed)
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
    return target.label, doubly_robust_terms(shares, expected, log), uncovered


def _announcing(policy: Any, reporter: Reporter) -> AbstractContextManager[None]:
    """Tell that code is being compiled, which only algorithms need."""
    fixed = isinstance(policy, str) and is_fixed(policy)
    if fixed or not isinstance(policy, str | Algorithm):
        return nullcontext()
    return announcing_compilation(reporter)


def _uncovered(shares: FloatArray, log: DecisionLog) -> float:
    never = np.bincount(log.chosen, minlength=len(log.arms)) == 0
    return float(shares[:, never].sum(axis=1).mean())
