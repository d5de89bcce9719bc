"""Optimal play on tiny problems by exact dynamic programming, to compare a policy with.

Two arms with 0/1 rewards, a few θ with known success rates and a prior. A state consists of the
pulls and successes of both arms. Expected regret is exact, for the best policy and for any policy
that follows from the state: nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import structuredbandits as sb

POLICY = "value-of-information"


def layer(played: int) -> np.ndarray:
    """All states after this many rounds: (states, 4) pulls and successes, of arm 1 and of arm 2."""
    states = [
        (first, wins, played - first, others)
        for first in range(played + 1)
        for wins in range(first + 1)
        for others in range(played - first + 1)
    ]
    return np.array(states, dtype=np.int64)


def _places(states: np.ndarray, played: int) -> np.ndarray:
    """Row of each state in `layer`: (states,)."""
    first, wins, _, others = states.T
    # Before ``first`` come the states with fewer pulls of arm 1: (f + 1) (played - f + 1) each.
    counts = np.array([(f + 1) * (played - f + 1) for f in range(played + 1)])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(starts[first] + wins * (played - first + 1) + others)


def _beliefs(rates: np.ndarray, prior: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Posterior of θ in each state: (states, θ)."""
    wins, losses = states[:, 1::2], states[:, 0::2] - states[:, 1::2]
    logs = np.log(prior) + wins @ np.log(rates).T + losses @ np.log1p(-rates).T
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


class Tiny:
    """A tiny problem: success rates (θ, 2), a prior (θ,) and a number of rounds."""

    def __init__(self, rates: np.ndarray, prior: np.ndarray, rounds: int) -> None:
        self.rates, self.prior, self.rounds = rates, prior / prior.sum(), rounds

    def structure(self) -> sb.Structure:
        """What a policy knows."""
        return sb.Structure.from_table(self.rates, prior=self.prior, rewards="bernoulli")

    def _backwards(self) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (played, states, immediate regret, chance of success), the last round first."""
        gaps = self.rates.max(axis=1, keepdims=True) - self.rates
        for played in reversed(range(self.rounds)):
            states = layer(played)
            belief = _beliefs(self.rates, self.prior, states)
            yield played, states, belief @ gaps, belief @ self.rates

    def _after(self, played: int, states: np.ndarray, later: np.ndarray) -> np.ndarray:
        """Expected later regret after a success and after a failure of each arm: (2, states, 2)."""
        result = np.empty((2, len(states), 2))
        for arm in (0, 1):
            for success in (0, 1):
                step = np.zeros(4, dtype=np.int64)
                step[2 * arm], step[2 * arm + 1] = 1, success
                result[success, :, arm] = later[_places(states + step, played + 1)]
        return result

    def _values(self, choose: object = None) -> float:
        later = np.zeros(len(layer(self.rounds)))
        for played, states, now, chance in self._backwards():
            failed, succeeded = self._after(played, states, later)
            values = now + chance * succeeded + (1.0 - chance) * failed
            if choose is None:
                later = values.min(axis=1)
            else:
                shares = choose(states, played)  # type: ignore[operator]  # a function
                later = (shares * values).sum(axis=1)
        return float(later[0])

    def least_regret(self) -> float:
        """Expected regret of optimal play."""
        return self._values()

    def regret_of(self, policy: str = POLICY) -> float:
        """Expected regret of a policy that knows the number of rounds."""
        known = self.structure()

        def choose(states: np.ndarray, played: int) -> np.ndarray:
            return sb.probabilities_many(
                policy, known, states[:, 0::2], states[:, 1::2], horizon=self.rounds
            )

        return self._values(choose)


def draw(generator: np.random.Generator, rounds: int) -> Tiny:
    """A random tiny problem with 2 to 5 θ."""
    n_thetas = int(generator.integers(2, 6))
    rates = generator.uniform(0.05, 0.95, (n_thetas, 2))
    return Tiny(rates, generator.dirichlet(np.ones(n_thetas)) + 0.05, rounds)


def optimal_cases(rounds: int, number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Expected regret of the default and of optimal play, in random problems: (number,) each."""
    generator = np.random.default_rng(seed)
    problems = [draw(generator, rounds) for _ in range(number)]
    own = np.array([problem.regret_of() for problem in problems])
    return own, np.array([problem.least_regret() for problem in problems])
