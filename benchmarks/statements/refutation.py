"""How often a correct structure is ever called refuted in a run, and the power on wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

import structuredbandits as sb
from structuredbandits.confidence.evidence import evidence_of, new_block, record
from structuredbandits.confidence.refutation import LEVEL, fill_evidence, refutation_test

ROUNDS, THETAS, ARMS, COUNT = 5_000, 8, 3, 200
FAMILIES = ("normal", "clicks", "stars", "learned normal", "learned clicks", "learned stars")


def known_map(family: str) -> sb.Structure:
    """A map of 8 θ and 3 arms; of a learned one every mean has 200 observations."""
    generator = np.random.default_rng(3)
    rates = generator.uniform(0.01, 0.05, (THETAS, ARMS))
    kind = family.removeprefix("learned ")
    errors, counts = None, None
    if family.startswith("learned"):
        counts = np.full(rates.shape, float(COUNT))
        spread = {"normal": 0.5, "clicks": 0.17, "stars": 1.0}[kind]
        errors = np.full(rates.shape, spread / np.sqrt(COUNT))
    more: dict[str, Any] = {"counts": counts, "standard_errors": errors}
    if kind == "normal":
        return sb.Structure.from_table(20 * rates, sigma=0.5, **more)
    if kind == "clicks":
        return sb.Structure.from_table(rates, rewards="bernoulli", **more)
    return sb.Structure.from_table(
        1 + 60 * rates, rewards="bounded", limits=(1, 5), noise=1.0, **more
    )


def true_means(known: sb.Structure, generator: np.random.Generator) -> np.ndarray:
    """The true means (arms,) at a random θ, drawn from the posterior of a learned map."""
    means = known.means[generator.integers(known.n_parameters)].copy()
    if known.standard_errors is None:
        return means
    if known.rewards.is_bernoulli:  # Jeffreys' posterior
        return generator.beta(COUNT * means + 0.5, COUNT * (1 - means) + 0.5)
    means += known.standard_errors[0] * generator.standard_normal(ARMS)
    return np.clip(means, known.rewards.low, known.rewards.high) if known.rewards.limited else means


def draw(known: sb.Structure, means: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Rewards of the family around these means: (rounds, arms)."""
    u = generator.random((ROUNDS, ARMS))
    if not known.rewards.limited:
        return means + 0.5 * generator.standard_normal((ROUNDS, ARMS))
    if known.rewards.is_bernoulli:
        return (u < means).astype(float)
    truth = sb.Structure.from_table([means], rewards=known.rewards, noise=1.0)
    cumulative, values = sb.Bounded(truth).quantile_table(0)
    places = [np.searchsorted(row, u[:, k], side="right") for k, row in enumerate(cumulative)]
    return values[np.minimum(np.stack(places, axis=1), values.size - 1)]


@njit(nogil=True)  # type: ignore[untyped-decorator]  # Numba is untyped
def _first_refutation(
    test: Any, block: np.ndarray, rewards: np.ndarray, explore: np.ndarray, table: np.ndarray
) -> int:
    evidence = evidence_of(block)
    for t in range(len(rewards)):
        arm = explore[t]
        if t % 2 == 1 and t >= 2 * len(table):
            arm = np.argmax(evidence.sums / np.maximum(evidence.counts, 1.0))
        record(evidence, arm, rewards[t, arm])
        fill_evidence(test, table[arm], evidence, arm)
        if table.sum(axis=0).min() >= test.limit:
            return t + 1
    return 0


def ever_refuted(known: sb.Structure, means: np.ndarray, generator: np.random.Generator) -> int:
    """The round in which the map is first refuted, tested after every reward; 0 if it is not.

    Arms are chosen by their rewards: every second round the best so far, else a random one.
    """
    rewards, explore = draw(known, means, generator), generator.integers(ARMS, size=ROUNDS)
    table = np.zeros((ARMS, known.n_parameters))
    test = refutation_test(known, LEVEL)
    return int(_first_refutation(test, new_block(known.sigma), rewards, explore, table))


def share_refuted(family: str, runs: int, seed: int, wrong: float = 0.0) -> float:
    """The share of runs that are ever refuted; with ``wrong`` the last arm's mean is changed."""
    known = known_map(family)
    generator, refuted = np.random.default_rng(seed), 0
    for _ in range(runs):
        means = true_means(known, generator)
        means[-1] += wrong
        refuted += ever_refuted(known, means, generator) > 0
    return refuted / runs


#: An error of one arm's mean of which the power is reported.
WRONG = {"normal": 1.0, "clicks": 0.1, "stars": 1.0}


def measure(runs: int = 10_000) -> list[dict[str, Any]]:
    """Correct maps of every family, tested after every reward; and the power on wrong ones."""
    rows = []
    for family in FAMILIES:
        share = share_refuted(family, runs, seed=4)
        rows.append({"case": family, "runs": runs, "promised": LEVEL, "measured": share})
    for family in FAMILIES:
        trials = max(runs // 100, 20)
        wrong = WRONG[family.removeprefix("learned ")]
        share = share_refuted(family, trials, seed=5, wrong=wrong)
        case = f"power, {family}, one arm off by {wrong:g}"
        rows.append({"case": case, "runs": trials, "promised": 0.0, "measured": share})
    return rows
