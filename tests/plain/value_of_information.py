"""The value of information again, one θ, one rival and one arm at a time, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm


@dataclass
class Belief:
    """The model, to be maximised, and what was seen: (θ, arms) or (arms,)."""

    means: np.ndarray
    errors: np.ndarray  # squared
    prior: np.ndarray
    noise: np.ndarray  # variance of one reward
    counts: np.ndarray
    sums: np.ndarray
    pending: np.ndarray

    def given(self, theta: int, arm: int) -> tuple[float, float]:
        """Mean and variance of an arm's true mean at a θ: precisions add up."""
        mean, error, count = self.means[theta, arm], self.errors[theta, arm], self.counts[arm]
        if error == 0.0 or count == 0:
            return float(mean), float(error)
        precision = 1.0 / error + count / self.noise[arm]
        total = mean / error + self.sums[arm] / self.noise[arm]
        return float(total / precision), float(1.0 / precision)

    def weights(self) -> np.ndarray:
        """Posterior of θ."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.prior)
        for arm in np.flatnonzero(self.counts):
            seen = self.sums[arm] / self.counts[arm]
            variance = self.errors[:, arm] + self.noise[arm] / self.counts[arm]
            logs = logs + norm.logpdf(seen, self.means[:, arm], np.sqrt(variance))
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())


def scores(belief: Belief, allowed: np.ndarray, rounds: float) -> np.ndarray:
    """The score of each allowed arm, of which the largest is pulled; ``rounds`` follow this one."""
    weights = belief.weights()
    thetas = [theta for theta in range(len(weights)) if weights[theta] > 0]
    means = {(t, k): belief.given(t, k)[0] for t in thetas for k in allowed}
    spreads = {(t, k): belief.given(t, k)[1] for t in thetas for k in allowed}
    expected = np.array([sum(weights[t] * means[t, k] for t in thetas) for k in allowed])
    leader = allowed[expected.argmax()]
    if rounds <= 0:
        return expected
    cost, value = 0.0, np.zeros(allowed.size)
    for rival in allowed:
        gain, chance, if_gain, if_chance = 0.0, 0.0, np.zeros(allowed.size), np.zeros(allowed.size)
        for t in thetas:
            best = max(allowed, key=lambda k: (means[t, k], k == leader))
            other = leader if rival == best else best
            if rival == other:
                continue
            ahead = means[t, rival] - means[t, other]
            deviation = np.sqrt(spreads[t, rival] + spreads[t, other])
            if deviation > 0:
                z = ahead / deviation
                if z < 0 and rounds * weights[t] * norm.pdf(z) < 1e-5:
                    continue  # too little to count
                wins, density = norm.cdf(z), norm.pdf(z) / deviation
                by = ahead * wins + deviation * norm.pdf(z)
            else:
                wins, density, by = float(ahead > 0), 0.0, max(ahead, 0.0)
            gain += weights[t] * by
            chance += weights[t] * wins
            for place, k in enumerate(allowed):
                sign = (k == rival) * 1.0 - (k == other) * 1.0
                if_gain[place] += weights[t] * (
                    by * means[t, k] + sign * spreads[t, k] * wins * (deviation > 0)
                )
                if_chance[place] += weights[t] * (
                    wins * means[t, k] + sign * spreads[t, k] * density
                )
        if gain <= 0:
            continue
        otherwise = (expected - if_chance) / (1 - chance) if chance < 1 else expected
        rates = (if_gain / gain - otherwise) ** 2 / (2 * belief.noise[allowed])
        left = gain * np.exp(-(belief.pending[allowed] @ rates))
        cost += left
        value += left * rates
    gaps = expected.max() - expected
    worth = (rounds * value > gaps) | (allowed == leader)
    if not (worth & (allowed != leader)).any():
        return expected
    rates = np.where(worth, np.minimum(value / cost, 1.0), 0.0)
    if rounds * rates.max() < 1:
        return np.asarray(rounds * cost * rates - gaps)
    with np.errstate(divide="ignore"):
        linear = np.where(rates > 0, (gaps + cost) / rates, np.inf)
        squared = (gaps + cost) ** 2 / rates
    return np.where(linear <= 2 * linear.min(), -squared, -np.inf)
