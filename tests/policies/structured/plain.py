"""The structured policies again, in plain NumPy and SciPy, from the formulas of their papers.

Each function gets what was seen and returns the probability of each arm, (arms,). Nothing here is
imported from the library but structures; rewards are to be maximised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize


@dataclass
class Seen:
    """What a policy has seen: (arms,) each, and which arms it may pull now."""

    counts: np.ndarray
    sums: np.ndarray
    allowed: np.ndarray

    @property
    def means(self) -> np.ndarray:
        return np.divide(
            self.sums, self.counts, out=np.zeros_like(self.sums), where=self.counts > 0
        )

    @property
    def log_t(self) -> float:
        return math.log(max(int(self.counts.sum()), 2))


def one_of_the_largest(values: np.ndarray, seen: Seen) -> np.ndarray:
    result = np.zeros(len(seen.counts))
    best = values[seen.allowed].max()
    for arm in seen.allowed:
        result[arm] = float(values[arm] == best)
    return result / result.sum()


def squared_errors(table: np.ndarray, sigma: np.ndarray, seen: Seen) -> np.ndarray:
    """Σ n_k (mu_hat_k - mu_k(θ))² / sigma_k² for every θ."""
    return ((seen.means - table) ** 2 * seen.counts / sigma**2).sum(axis=1)


def posterior_weights(
    table: np.ndarray, sigma: np.ndarray, prior: np.ndarray, seen: Seen
) -> np.ndarray:
    weights = prior * np.exp(-0.5 * squared_errors(table, sigma, seen))
    return weights / weights.sum()


def posterior_sampling(
    table: np.ndarray, sigma: np.ndarray, prior: np.ndarray, seen: Seen
) -> np.ndarray:
    result = np.zeros(table.shape[1])
    for weight, row in zip(posterior_weights(table, sigma, prior, seen), table, strict=True):
        result += weight * one_of_the_largest(row, seen)
    return result


def regret_and_gain(
    table: np.ndarray, sigma: np.ndarray, prior: np.ndarray, seen: Seen
) -> tuple[np.ndarray, np.ndarray]:
    """Expected regret and information of the allowed arms: (allowed,) each."""
    weights = posterior_weights(table, sigma, prior, seen)
    inside = table[:, seen.allowed]
    winners = inside.argmax(axis=1)  # the tables have no ties
    expected = weights @ inside
    gain = np.zeros(len(seen.allowed))
    for winner in set(winners):
        share = weights[winners == winner].sum()
        if share > 0:
            given = weights[winners == winner] @ inside[winners == winner] / share
            gain += share * (given - expected) ** 2
    return weights @ inside.max(axis=1) - expected, gain


def least_ratio(regret: np.ndarray, gain: np.ndarray) -> float:
    """The smallest regret² / gain over mixtures of all arms, found numerically."""

    def ratio(share: float, i: int, j: int) -> float:
        top = share * regret[i] + (1 - share) * regret[j]
        bottom = share * gain[i] + (1 - share) * gain[j]
        return float(top**2 / bottom) if bottom > 0 else math.inf

    best = math.inf
    for i in range(len(regret)):
        for j in range(len(regret)):
            found = optimize.minimize_scalar(
                ratio, bounds=(0.0, 1.0), args=(i, j), method="bounded", options={"xatol": 1e-10}
            )
            best = min(best, found.fun, ratio(0.0, i, j), ratio(1.0, i, j))
    return best


def joint_set(table: np.ndarray, sigma: np.ndarray, alpha: float, seen: Seen) -> np.ndarray:
    """SSE - min SSE < 2 log(|Θ| / delta), delta = t^-alpha: (parameters,) bool."""
    errors = squared_errors(table, sigma, seen)
    delta = math.exp(-alpha * seen.log_t)
    return np.asarray(errors - errors.min() < 2 * math.log(len(table) / delta))


def linear_greedy(
    points: np.ndarray, features: np.ndarray, offsets: np.ndarray, sigma: np.ndarray, seen: Seen
) -> np.ndarray:
    """Least squares with the prior as further rows."""
    centre, spread = points.mean(axis=0), np.cov(points.T, bias=True).reshape(-1, points.shape[1])
    root = np.linalg.cholesky(np.linalg.inv(spread)).T
    weights = np.sqrt(seen.counts) / sigma
    rows = np.vstack([root, weights[:, None] * features])
    right = np.concatenate([root @ centre, weights * (seen.means - offsets)])
    theta = np.linalg.lstsq(rows, right, rcond=None)[0]
    return one_of_the_largest(offsets + features @ theta, seen)


def oful(
    features: np.ndarray, sigma: float, norm: float, delta: float, ridge: float, seen: Seen
) -> np.ndarray:
    d = features.shape[1]
    v = ridge * np.eye(d) + (features.T * seen.counts) @ features
    theta = np.linalg.solve(v, features.T @ seen.sums)
    ratio = np.linalg.slogdet(v)[1] - d * math.log(ridge)
    radius = sigma * math.sqrt(2 * math.log(1 / delta) + ratio) + math.sqrt(ridge) * norm
    widths = np.sqrt(np.einsum("ki,ij,kj->k", features, np.linalg.inv(v), features))
    return one_of_the_largest(features @ theta + radius * widths, seen)


def glm_ucb(
    features: np.ndarray,
    sigma: np.ndarray,
    alpha: float,
    seen: Seen,
    ranges: np.ndarray | None = None,
) -> np.ndarray:
    """``ranges``: (arms, 2) means over Θ, for the logistic link."""
    pulled = features[seen.counts > 0]
    rank = np.linalg.matrix_rank(pulled) if len(pulled) else 0
    if rank < features.shape[1]:
        raises = [np.linalg.matrix_rank(np.vstack([pulled, x])) > rank for x in features]
        if any(raises[arm] for arm in seen.allowed):
            return one_of_the_largest(np.array(raises, dtype=float), seen)
    weights = seen.counts / sigma**2
    v_inverse = np.linalg.pinv((features.T * weights) @ features)
    widths = np.sqrt(np.einsum("ki,ij,kj->k", features, v_inverse, features))
    rho = math.sqrt(2 * alpha * seen.log_t)
    if ranges is None:
        theta = v_inverse @ (features.T @ (weights * seen.means))
        return one_of_the_largest(features @ theta + rho * widths, seen)
    target = np.clip(seen.means, ranges[:, 0], ranges[:, 1])

    def loss(theta: np.ndarray) -> float:
        z = features @ theta
        return float(weights @ (np.logaddexp(0.0, z) - target * z))

    def slope(theta: np.ndarray) -> np.ndarray:
        return np.asarray(features.T @ (weights * (1 / (1 + np.exp(-features @ theta)) - target)))

    start = np.zeros(features.shape[1])
    theta = optimize.minimize(loss, start, jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    least = (ranges * (1 - ranges)).min()
    means = 1 / (1 + np.exp(-features @ theta))
    return one_of_the_largest(means + rho / least * widths, seen)


def regional(
    theta: np.ndarray,
    table: np.ndarray,
    groups: list[list[int]],
    seen: Seen,
    radius: list[tuple[float, float, float, float]] | None = None,
    *,
    between: bool = True,
) -> np.ndarray:
    """``radius``: sqrt(alpha) sigma, D1, D2, gamma2/gamma1 of each group; None for WAGP."""
    values = np.empty(table.shape[1])
    for number, group in enumerate(groups):
        total = seen.counts[group].sum()
        if total == 0:
            values[group] = math.inf
            continue
        estimate = 0.0
        for arm in group:
            column = table[:, arm]
            order = np.argsort(column)
            said = np.interp(seen.means[arm], column[order], theta[order])
            if not between:
                said = theta[np.abs(column - seen.means[arm]).argmin()]
            estimate += seen.counts[arm] / total * said
        for arm in group:
            values[arm] = np.interp(estimate, theta, table[:, arm])
            if radius is not None:
                width, d1, d2, power = radius[number]
                values[arm] += d2 * (width * math.sqrt(2 * seen.log_t / total) / d1) ** power
    return one_of_the_largest(values, seen)


def lower_bound_rates(table: np.ndarray, sigma: np.ndarray, row: int) -> np.ndarray:
    """argmin Σ c_k Δ_k with Σ c_k (mu_k(θ) - mu_k(λ))² / (2 sigma_k²) ≥ 1 for all rivals λ."""
    means = table[row]
    best = int(means.argmax())
    same = np.abs(table[:, best] - means[best]) < 1e-12
    rivals = same & (table.max(axis=1) > table[:, best] + 1e-12)
    rates = np.zeros(len(means))
    if not rivals.any():
        return rates
    worse = [arm for arm in range(len(means)) if arm != best]
    information = ((means - table[rivals]) ** 2 / (2 * sigma**2))[:, worse]
    gaps = (means[best] - means)[worse]
    found = optimize.linprog(
        gaps, A_ub=-information, b_ub=-np.ones(len(information)), method="highs"
    )
    rates[worse] = found.x
    return rates


def ossb(
    table: np.ndarray, sigma: np.ndarray, gamma: float, epsilon: float, seen: Seen
) -> np.ndarray:
    estimate = int(squared_errors(table, sigma, seen).argmin())
    rates = lower_bound_rates(table, sigma, estimate)
    inside = seen.allowed
    needed = (1 + gamma) * rates * seen.log_t
    if (seen.counts[inside] >= needed[inside] * (1 - 1e-9)).all():
        return one_of_the_largest(table[estimate], seen)
    if seen.counts[inside].min() <= epsilon * (seen.counts.sum() - seen.counts.max()):
        return one_of_the_largest(-seen.counts, seen)
    with np.errstate(divide="ignore", invalid="ignore"):
        return one_of_the_largest(np.where(rates > 0, -seen.counts / rates, -np.inf), seen)


@dataclass
class Population:
    """A table of means with the standard errors of each, (θ, arms), and a prior over θ."""

    table: np.ndarray
    errors: np.ndarray
    prior: np.ndarray
    noise: np.ndarray  # (arms,) standard deviation of one reward

    def arm_means(self) -> np.ndarray:
        """Means over the population: (arms,)."""
        return np.array([self.prior @ column for column in self.table.T])

    def arm_variances(self) -> np.ndarray:
        """Variance between θ plus the mean squared error: (arms,)."""
        found = []
        for arm, mean in enumerate(self.arm_means()):
            between = self.prior @ (self.table[:, arm] - mean) ** 2
            found.append(between + self.prior @ self.errors[:, arm] ** 2)
        return np.array(found)


def always(known: Population, seen: Seen, arm: int | None = None) -> np.ndarray:
    values = known.arm_means()
    if arm is not None:
        values[arm] = math.inf
    return values


def greedy(known: Population, seen: Seen) -> np.ndarray:
    """The posterior mean of every arm: (arms,)."""
    logs, means = [], []
    for prior, row, errors in zip(known.prior, known.table, known.errors, strict=True):
        log, expected = math.log(prior), row.copy()
        for arm in np.flatnonzero(seen.counts):
            sampling = known.noise[arm] ** 2 / seen.counts[arm]
            total = errors[arm] ** 2 + sampling
            log -= 0.5 * (math.log(total) + (seen.means[arm] - row[arm]) ** 2 / total)
            expected[arm] += errors[arm] ** 2 / total * (seen.means[arm] - row[arm])
        logs.append(log)
        means.append(expected)
    weights = np.exp(np.array(logs) - max(logs))
    return np.asarray(weights @ np.array(means) / weights.sum())


def prior_index(
    known: Population, seen: Seen, rounds: float, bonus: Callable[[float], float]
) -> np.ndarray:
    """The finite-horizon index of every arm by itself: (arms,).

    ``bonus`` is the Gittins index of a standard normal arm.
    """
    values = []
    for arm, (mean, variance) in enumerate(
        zip(known.arm_means(), known.arm_variances(), strict=True)
    ):
        noise = known.noise[arm] ** 2
        if variance > 0:
            precision = 1 / variance + seen.counts[arm] / noise
            mean = (mean / variance + seen.sums[arm] / noise) / precision
            variance = 1 / precision
        values.append(mean + math.sqrt(variance) * bonus(rounds * variance / noise))
    return np.array(values)


@dataclass
class Crop:
    """CROP (Jun and Zhang 2020) on a table of means, (θ, arms); ``branch`` says what it did last.

    The first best arm of a θ counts, and means this close are equal.
    """

    table: np.ndarray
    sigma: np.ndarray
    alpha: float = 2.0
    branch: str = ""

    def __post_init__(self) -> None:
        self.tolerance = 1e-9 * float(self.table.max() - self.table.min())
        self.solved: dict[tuple[str, int], np.ndarray] = {}
        self.top = self.table.max(axis=1)
        self.arm = np.array(
            [int(np.flatnonzero(row >= row.max() - self.tolerance)[0]) for row in self.table]
        )

    def equal(self, x: np.ndarray, y: float) -> np.ndarray:
        return np.asarray(np.abs(x - y) <= self.tolerance)

    def alike(self, f: int) -> np.ndarray:
        """The equivalent θ: the same best arm and the same best mean."""
        return (self.arm == self.arm[f]) & self.equal(self.top, float(self.top[f]))

    def cheapest(self, f: int, rivals: np.ndarray, least: np.ndarray | None = None) -> np.ndarray:
        """Pulls of the least regret that tell f from the rivals.

        Without ``least`` the best arm gets as many as the most pulled one; with it, these pulls are
        among the result, the best arm gets the most, and its pulls cost the smallest gap.
        """
        n_arms = self.table.shape[1]
        best, gaps = self.arm[f], self.top[f] - self.table[f]
        gaps = np.where(gaps <= self.tolerance, 0.0, gaps)
        information = (self.table[rivals] - self.table[f]) ** 2 / (2 * self.sigma**2)
        if least is None:
            others = [arm for arm in range(n_arms) if arm != best]
            pulls = np.zeros(n_arms)
            if rivals.any():
                pulls[others] = optimize.linprog(
                    gaps[others], A_ub=-information[:, others], b_ub=-np.ones(len(information))
                ).x
            pulls[best] = pulls.max()
            return pulls
        if not rivals.any():
            return least
        gaps[best] = gaps[gaps > 0].min()
        most = np.eye(n_arms)
        most[:, best] -= 1.0
        return np.asarray(
            optimize.linprog(
                gaps,
                A_ub=np.vstack([-information, most]),
                b_ub=np.concatenate([-np.ones(len(information)), np.zeros(n_arms)]),
                bounds=[(number, None) for number in least],
            ).x
        )

    def rates(self, f: int) -> np.ndarray:
        """The pulls of the lower bound: against θ that agree on the best arm, but have a better."""
        same = self.equal(self.table[:, self.arm[f]], float(self.top[f]))
        rivals = same & (self.top > self.top[f] + self.tolerance)
        return self.once("rates", f, lambda: self.cheapest(f, rivals))

    def once(self, what: str, f: int, solve: Callable[[], np.ndarray]) -> np.ndarray:
        """Solve a program only once."""
        if (what, f) not in self.solved:
            self.solved[what, f] = solve()
        return self.solved[what, f]

    def explores_otherwise(self, f: int) -> np.ndarray:
        """Which equivalent θ explore in other proportions than f."""
        found = np.zeros(len(self.table), dtype=bool)
        own = self.in_proportion(self.rates(f))
        for g in np.flatnonzero(self.alike(f)):
            found[g] = np.abs(self.in_proportion(self.rates(int(g))) - own).max() > 1e-6
        return found

    @staticmethod
    def in_proportion(pulls: np.ndarray) -> np.ndarray:
        return np.round(pulls / pulls.max(), 9) if pulls.max() > 0 else np.zeros(len(pulls))

    def __call__(self, seen: Seen) -> np.ndarray:
        errors = squared_errors(self.table, self.sigma, seen) / 2
        level = math.log(len(self.table)) + self.alpha * seen.log_t
        stays = errors - errors.min() <= level
        inside = self.table[stays][:, seen.allowed]
        agreed = (inside >= inside.max(axis=1, keepdims=True) - self.tolerance).all(axis=0)
        result = np.zeros(self.table.shape[1])
        if agreed.any():
            self.branch = "exploit"
            result[seen.allowed[agreed]] = 1 / agreed.sum()
            return result
        low = stays & (self.top <= self.top[stays].min() + self.tolerance)
        f = int(np.where(low, errors, np.inf).argmin())
        weights = self.weights(f, stays, errors, seen.log_t)
        if not weights[seen.allowed].any():
            return one_of_the_largest(self.table[f], seen)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(weights > 0, -seen.counts / weights, -np.inf)
        return one_of_the_largest(score, seen)

    def weights(self, f: int, stays: np.ndarray, errors: np.ndarray, log_t: float) -> np.ndarray:
        rates = self.rates(f)
        others = self.once("others", f, lambda: self.explores_otherwise(f))
        near = math.log(len(self.table)) + self.alpha * math.log(log_t / math.log(2) + 2)
        resolve = self.once("resolve", f, lambda: self.cheapest(f, others))
        if (others & stays & (errors <= errors[f] + near)).any():
            self.branch = "conflict"
            return self.in_proportion(resolve)
        optimistic = ~self.alike(f) & (self.top >= self.top[f] - self.tolerance)
        told = (self.table - self.table[f]) ** 2 / (2 * self.sigma**2) @ rates
        if (told[optimistic & stays] >= 1 - 1e-6).all():
            self.branch = "feasible"
            return rates
        self.branch = "fallback"
        least = np.maximum(rates, resolve)
        return self.in_proportion(
            self.once("refute", f, lambda: self.cheapest(f, optimistic, least))
        )
