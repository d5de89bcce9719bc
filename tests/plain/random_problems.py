"""Random structures with rewards, and a comparison of a policy with its plain twin on them.

The only file here, with `pairs.py`, that imports the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from structuredbandits.policies.policy import Policy
from structuredbandits.structure import Finite, Interval, Parameters, Structure
from tests.plain.run import PlainRun
from tests.plain.structure_arrays import Facts, facts

FloatArray = NDArray[np.float64]

REWARDS = ("exact", "noisy", "coarse", "wrong", "levels")


@dataclass(frozen=True)
class World:
    """A structure, and how its rewards are generated and delivered."""

    structure: Structure
    rewards: str
    seed: int
    delayed: bool
    masked: bool

    @property
    def facts(self) -> Facts:
        return facts_of(self.structure)


def facts_of(structure: Structure) -> Facts:
    """The means, sigma and weights of a structure, for a plain run."""
    return facts(
        structure.lower,
        structure.upper,
        structure.sigma,
        minimize=structure.minimize,
        weights=structure.parameters.weights,
        limits=(structure.rewards.low, structure.rewards.high)
        if structure.rewards.limited
        else None,
        standard_errors=structure.standard_errors,
        bernoulli=structure.rewards.is_bernoulli,
    )


@st.composite
def structures(
    draw: st.DrawFn, *, unit: bool = False, max_arms: int = 40, max_parameters: int = 60
) -> Structure:
    """Structures that are difficult for sorted tables.

    Few levels give duplicate values, flat arms and ties; scales range from 1e-9 to 1e9, and with a
    large offset the means differ only in the last digits.
    """
    n_arms, n_parameters = draw(st.integers(2, max_arms)), draw(st.integers(1, max_parameters))
    levels = draw(st.sampled_from([None, 1, 2, 3, 8]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (n_parameters, n_arms)
    table = rng.random(shape) if levels is None else rng.integers(0, levels + 1, shape) / levels
    if draw(st.booleans()):
        flat = rng.random(n_arms) < 0.3
        table[:, flat] = table[0, flat]
    gap = np.zeros(shape)
    if draw(st.booleans()):  # bounds, some of them exact
        gap = rng.choice([0.0, 0.05, 0.3], shape)
    spread = draw(st.sampled_from([0.01, 0.1, 0.4, 2.0]))
    sigma = np.full(n_arms, spread)
    if draw(st.booleans()):
        sigma *= rng.choice([0.5, 1.0, 3.0], n_arms)
    low, high = table, np.minimum(table + gap, 1.0) if unit else table + gap
    if not unit:
        size = 10.0 ** draw(st.integers(-9, 9))
        offset = draw(st.sampled_from([0.0, -0.5, 3.0, 1e9, -1e12]))
        low, high, sigma = size * (low + offset), size * (high + offset), size * sigma
    return Structure.from_bounds(
        low,
        high,
        _parameters(draw, n_parameters, rng),
        sigma=sigma,
        minimize=draw(st.booleans()),
    )


@st.composite
def limited_structures(
    draw: st.DrawFn, *, max_arms: int = 12, max_parameters: int = 60
) -> Structure:
    """Bernoulli rewards with prizes, and bounded rewards; rates of 0 and 1, rare clicks, bounds."""
    n_arms, n_parameters = draw(st.integers(2, max_arms)), draw(st.integers(1, max_parameters))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (n_parameters, n_arms)
    levels = draw(st.sampled_from([None, None, 1, 2, 7]))
    rates = rng.random(shape) if levels is None else rng.integers(0, levels + 1, shape) / levels
    rates = rates ** draw(st.sampled_from([1.0, 3.0, 20.0]))  # many of them next to 0
    if draw(st.booleans()):
        rates = 1.0 - rates
    gap = np.zeros(shape)
    if draw(st.booleans()):
        gap = rng.choice([0.0, 0.02, 0.3], shape)
    high = np.minimum(rates + gap, 1.0)
    errors = rng.choice([0.0, 0.01, 0.2, 0.7], shape) if draw(st.booleans()) else None
    options: dict[str, Any] = {}
    least, width = np.zeros(n_arms), np.ones(n_arms)
    if draw(st.booleans()):
        width = rng.choice([0.1, 1.0, 30.0], n_arms)
        options = {"rewards": "bernoulli", "prize": width}
    else:
        least = rng.choice([-1.0, 0.0, 1.0], n_arms)
        width = rng.choice([0.5, 4.0], n_arms)
        options = {"rewards": "bounded", "limits": np.stack([least, least + width], axis=1)}
    return Structure.from_bounds(
        least + width * rates,
        least + width * high,
        _parameters(draw, n_parameters, rng),
        minimize=draw(st.booleans()),
        standard_errors=None if errors is None else width * errors,
        **options,
    )


@st.composite
def limited_worlds(draw: st.DrawFn, /, **sizes: int) -> World:
    return World(
        draw(limited_structures(**sizes)),
        draw(st.sampled_from(["limited", "limited", "extreme"])),
        draw(st.integers(0, 2**32 - 1)),
        draw(st.booleans()),
        draw(st.booleans()),
    )


def _parameters(draw: st.DrawFn, n_parameters: int, rng: np.random.Generator) -> Parameters:
    """Θ as labels, or as a grid with uneven spacing and therefore uneven weights."""
    if n_parameters < 4 or draw(st.booleans()):
        return Finite(range(n_parameters))
    inside = np.unique(rng.random(n_parameters - 2) * 0.98 + 0.01)
    return Interval(0, 1, points=n_parameters - inside.size, include=inside.tolist())


@st.composite
def worlds(draw: st.DrawFn, /, *, unit: bool = False, **sizes: int) -> World:
    return World(
        draw(structures(unit=unit, **sizes)),
        "unit" if unit else draw(st.sampled_from(REWARDS)),
        draw(st.integers(0, 2**32 - 1)),
        draw(st.booleans()),
        draw(st.booleans()),
    )


class RandomRewards:
    """Rewards of a world: at a true θ, or far from all θ."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self.kind, self.rng = world.rewards, rng
        structure = world.structure
        row = int(rng.integers(structure.n_parameters))
        share = rng.random()
        self.means = (1 - share) * structure.lower[row] + share * structure.upper[row]
        self.sigma = structure.sigma
        self.table = structure.lower
        self.family = structure.rewards

    def draw(self, arm: int) -> float:
        mean, sigma = float(self.means[arm]), float(self.sigma[arm])
        if self.kind in ("limited", "extreme"):
            return self._limited(arm, mean)
        if self.kind == "unit":
            return float(self.rng.random() < mean)
        if self.kind == "exact":
            return mean
        if self.kind == "coarse":  # few different rewards, so that indices tie
            return mean + sigma * float(self.rng.integers(-1, 2))
        if self.kind == "wrong":  # far from every θ, so that the set becomes empty
            return mean + sigma * (8.0 + float(self.rng.standard_normal()))
        if self.kind == "levels":  # exactly the values in the table
            return float(self.rng.choice(self.table[:, arm]))
        return mean + sigma * float(self.rng.standard_normal())

    def _limited(self, arm: int, mean: float) -> float:
        """One of the limits, or of bounded rewards something between them."""
        low, high = self.family.low[arm], self.family.high[arm]
        if self.kind == "extreme":  # the same limit every time: p is 0 or 1
            return low if arm % 2 else high
        if not self.family.is_bernoulli and self.rng.random() < 0.5:
            return float(self.rng.uniform(low, high))
        return high if self.rng.random() < (mean - low) / (high - low) else low


class Script:
    """Pulls and rewards in an order determined by the seed of the world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = np.random.default_rng(world.seed)
        self.source = RandomRewards(world, self.rng)
        self.waiting: list[int] = []

    def allowed(self) -> list[int] | None:
        """The arms that may be pulled now: all of them, or a few."""
        if not self.world.masked or self.rng.random() < 0.5:
            return None
        n_arms = self.world.structure.n_arms
        size = int(self.rng.integers(1, n_arms + 1))
        return [int(arm) for arm in self.rng.permutation(n_arms)[:size]]

    def due(self) -> list[tuple[int, float]]:
        """The rewards that arrive now: immediately, or some late ones in any order."""
        if not self.world.delayed:
            due, self.waiting = self.waiting, []
            return [(arm, self.source.draw(arm)) for arm in due]
        rows = []
        while self.waiting and self.rng.random() < 0.55:
            arm = self.waiting.pop(int(self.rng.integers(len(self.waiting))))
            rows.append((arm, self.source.draw(arm)))
        if self.rng.random() < 0.03:  # a reward without a pull
            arm = int(self.rng.integers(self.world.structure.n_arms))
            rows.append((arm, self.source.draw(arm)))
        return rows


def compare(policy: Policy, plain: PlainRun, world: World, rounds: int) -> None:
    """Run a policy and its plain twin on a world; all decisions and sets must be equal."""
    arms = policy.structure.arms
    script = Script(world)
    keeps_set = plain.rule.kind != "classical"
    for step in range(rounds):
        allowed = script.allowed()
        expected = plain.pull(allowed)
        chosen = policy.pull(None if allowed is None else _mixed(arms, allowed))
        assert chosen == arms[expected], f"decision {step}: {chosen}, plain {arms[expected]}"
        script.waiting.append(expected)
        for arm, reward in script.due():
            plain.update(arm, reward)
            policy.update(arms[arm] if step % 2 else arm, reward)
            if keeps_set:
                compare_sets(policy, plain, f"after decision {step}")
    assert policy.counts.tolist() == plain.seen.counts
    assert policy.received == plain.seen.received
    assert policy.decided == plain.seen.decided
    assert policy.empty_rounds == plain.empty_rounds
    assert policy.generator.bit_generator.state == plain.generator.bit_generator.state


def compare_sets(policy: Policy, plain: PlainRun, when: str) -> None:
    """The plausible θ and the competitive arms of both."""
    mask = plain.plausible
    different = np.flatnonzero(policy.confidence_set.mask != mask)
    assert different.size == 0, f"{when}: θ {different.tolist()} differ"
    everything = list(range(plain.facts.n_arms))
    arms = tuple(policy.structure.arms[arm] for arm in plain.competitive(everything))
    assert policy.competitive_arms == arms, when
    assert policy.empty_rounds == plain.empty_rounds, when


def _mixed(arms: tuple[str, ...], allowed: list[int]) -> list[Any]:
    """Arms by name and by position, as callers do."""
    return [arm if place % 2 else arms[arm] for place, arm in enumerate(allowed)]
