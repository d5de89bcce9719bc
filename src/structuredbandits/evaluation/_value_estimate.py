"""`Estimate`: the result of an off-policy evaluation, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

from structuredbandits.evaluation._estimated_probabilities import SensitivityBounds


@dataclass(frozen=True)
class Estimate:
    """The estimated value of a policy; made by `evaluate`.

    Attributes
    ----------
    value
        Mean reward per decision.
    low, high
        The confidence interval of the value; minus and plus infinity if there is none.
    standard_error
        Of the value, clustered by subject.
    n
        The number of decisions in the log.
    subjects
        Independent units: subjects, or decisions if the log has no column of subjects.
    effective_sample_size
        The number of decisions by the policy itself that would be as informative; for replay, the
        number of decisions in which it agreed with the log.
    method
        "dr", "ips", "snips" or "replay"; "mean" for the log's own policy.
    level
        Confidence level of the interval.
    policy
        The label of the policy.
    logged_value
        The mean reward in the log, for comparison.
    uncovered
        The mean probability that the policy gives to arms that the log never shows. If it is not
        small, inverse propensity scoring is biased, and doubly robust estimates rely on the
        structure for these arms.
    interval
        Which interval it is: "normal", "betting" (bounded rewards of which few decisions
        determine the value), "bootstrap", or "none" if nothing can be said.
    reason
        Why it is this one.
    sensitivity
        If the log's probabilities were estimated: the smallest and the largest self-normalised
        value if the odds of these probabilities are wrong by at most a factor. Otherwise empty.
    """

    value: float
    low: float
    high: float
    standard_error: float
    n: int
    subjects: int
    effective_sample_size: float
    method: str
    level: float
    policy: str
    logged_value: float
    uncovered: float
    interval: str = "normal"
    reason: str = ""
    sensitivity: tuple[SensitivityBounds, ...] = ()

    def __str__(self) -> str:
        reach = f"{100 * self.level:g} % interval {self.low:.4g} to {self.high:.4g}"
        if self.interval == "none":
            reach = f"no interval: {self.reason}"
        return (
            f"{self.policy}: {self.value:.4g} per decision ({reach}; the log has "
            f"{self.logged_value:.4g}), by "
            f"{self.method} from {self.n:,} decisions (effective sample size "
            f"{self.effective_sample_size:,.0f})"
        )
