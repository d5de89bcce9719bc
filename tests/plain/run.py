"""A plain run: a policy made of steps 1 to 3, with `pull` and `update`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.plain.classical import Best, Choose, Seen, ucb
from tests.plain.informative import METRICS, Metric, informativeness
from tests.plain.structure_arrays import Facts, competitive, plausible


@dataclass(frozen=True)
class Informative:
    """An informative pull with probability min(1, gamma / max(t, 1)^d) after t decisions."""

    metric: str | Metric = "kl"
    gamma: float = 30.0
    d: float = 1.1


@dataclass(frozen=True)
class Rule:
    """How a run decides.

    ``kind`` is "classical" (any allowed arm by ``choose``), "c" (Algorithm-C), "s" (UCB-S), "m"
    (mUCB) or "fp" (FP-UCB); ``floor`` is the share of pulls that are uniform over the allowed arms,
    ``delta`` the confidence level of mUCB, None for one over the horizon.
    """

    kind: str
    choose: Choose
    alpha: float = 3.0
    informative: Informative | None = None
    pull_each_arm_first: bool = False
    floor: float | None = None
    delta: float | None = None


class PlainRun:
    """One run; arms are numbers."""

    def __init__(
        self, rule: Rule, facts: Facts, seed: int | np.random.SeedSequence, horizon: int = 0
    ) -> None:
        self.rule = rule
        self.facts = facts
        self.seen = Seen(facts.sigma, horizon)
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.empty_rounds = 0

    @property
    def plausible(self) -> NDArray[np.bool_]:
        """(parameters,): Θ̂ after the rewards received so far."""
        q = math.sqrt(self.rule.alpha) * self.seen.width
        if self.rule.kind == "m":
            q = self._width_of_mucb()
        return plausible(self.facts, self.seen.counts, self.seen.sums, q)

    def competitive(self, allowed: list[int]) -> list[int]:
        return competitive(self.facts, self.plausible, allowed)

    def pull(self, allowed: list[int] | None = None) -> int:
        arms = list(range(self.facts.n_arms)) if allowed is None else sorted(set(allowed))
        arm = self._decide(arms)
        self.seen.decided += 1
        self.seen.pending[arm] += 1
        return arm

    def update(self, arm: int, reward: float) -> None:
        gain = self.facts.sign * reward
        seen = self.seen
        seen.counts[arm] += 1
        seen.sums[arm] += gain
        seen.squares[arm] += gain * gain
        seen.pending[arm] = max(0, seen.pending[arm] - 1)
        seen.received += 1

    def _decide(self, allowed: list[int]) -> int:
        rule, generator = self.rule, self.generator
        if rule.floor is not None and generator.random() < rule.floor:
            return allowed[int(generator.random() * len(allowed))]
        if rule.kind == "classical":
            return rule.choose(self.seen, allowed, generator)
        stays = self.plausible
        self.empty_rounds += not stays.any()
        if rule.kind in ("s", "m"):
            return self._ucb_s(stays, allowed)
        if rule.kind == "fp":
            return self._fp_ucb(stays, allowed)
        return self._algorithm_c(stays, allowed)

    def _algorithm_c(self, stays: NDArray[np.bool_], allowed: list[int]) -> int:
        rule, seen = self.rule, self.seen
        if rule.informative is not None:
            arm = self._informative(rule.informative, stays, allowed)
            if arm is not None:
                return arm
        if rule.pull_each_arm_first:
            best = Best(self.generator)
            for arm in allowed:
                if seen.counts[arm] == 0:
                    best.offer(arm, math.inf, seen.pending[arm])
            if best.tied:
                return best.arm
        return rule.choose(seen, competitive(self.facts, stays, allowed), self.generator)

    def _informative(
        self, step: Informative, stays: NDArray[np.bool_], allowed: list[int]
    ) -> int | None:
        probability = min(1.0, step.gamma / float(max(self.seen.decided, 1)) ** step.d)
        if self.generator.random() >= probability or not stays.any():
            return None
        if step.metric == "random":
            return allowed[int(self.generator.random() * len(allowed))]
        metric = METRICS[step.metric] if isinstance(step.metric, str) else step.metric
        best = Best(self.generator)
        for arm in allowed:
            best.offer(arm, informativeness(self.facts, stays, arm, metric))
        return best.arm

    def _width_of_mucb(self) -> float:
        """sqrt(2 log(m n² / delta)): m models, n rounds in all, or so far if that is not known."""
        n = max(self.seen.horizon or self.seen.received, 2)
        offset, power = math.log(self.facts.n_parameters), 3.0
        if self.rule.delta is not None:
            offset, power = offset - math.log(self.rule.delta), 2.0
        return math.sqrt(2.0 * (offset + power * math.log(n)))

    def _fp_ucb(self, stays: NDArray[np.bool_], allowed: list[int]) -> int:
        ever = competitive(self.facts, np.ones_like(stays), list(range(self.facts.n_arms)))
        first = Best(self.generator)
        for arm in allowed:
            if arm in ever and self.seen.counts[arm] == 0:
                first.offer(arm, math.inf, self.seen.pending[arm])
        if first.tied:
            return first.arm
        arms = competitive(self.facts, stays, allowed)
        if not stays.any():
            arms = [arm for arm in allowed if arm in ever] or allowed
        return self.rule.choose(self.seen, arms, self.generator)

    def _ucb_s(self, stays: NDArray[np.bool_], allowed: list[int]) -> int:
        if not stays.any():
            return ucb(self.rule.alpha)(self.seen, allowed, self.generator)
        best = Best(self.generator)
        for arm in allowed:
            best.offer(arm, float(self.facts.upper[stays, arm].max()))
        return best.arm
