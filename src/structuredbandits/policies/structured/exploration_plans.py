"""How often to pull each arm, relative to the others, to tell a θ from its alternatives.

The linear programs of CROP. For a hypothesis θ with best arm a, the other θ are divided into

- equivalent ones, with the same best arm and the same best mean,
- competing ones, with the same mean of arm a and another best arm: pulls of a do not refute them,
- all others, which pulls of a refute.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from structuredbandits._compiled.lazy_rows import LazyTable
from structuredbandits.confidence.sorted_tables import gains
from structuredbandits.errors import StructuredBanditsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from structuredbandits.structure import Structure

#: Proportions of pulls are rounded to this many digits, so that arms with equal ones tie.
DIGITS = 9
#: Proportions this close are equal; the programs are solved to about 1e-7.
CLOSE = 1e-6


class Hypotheses:
    """Every θ of a structure as a hypothesis: its best arm, its best mean, and its plans.

    Parameters
    ----------
    structure
        A structure with exact means.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=1.0)
    >>> rivals = Hypotheses(known)
    >>> rivals.best_arms.tolist(), rivals.best_means.tolist()
    ([0, 1], [1.0, 2.0])
    >>> rivals.cheapest(0)  # a pull of arm 2 gives two units of information
    array([0.5, 0.5])
    """

    def __init__(self, structure: Structure) -> None:
        self.means = gains(structure)[0]
        self.tolerance = structure.tolerance
        self.best_means: NDArray[np.float64] = self.means.max(axis=1)
        self.optimal = self.means >= self.best_means[:, None] - self.tolerance
        self.best_arms: NDArray[np.int64] = self.optimal.argmax(axis=1)
        self.scale = np.sqrt(2.0) * structure.sigma
        self.n_parameters, self.n_arms = self.means.shape

    @cached_property
    def rates(self) -> LazyTable:
        """`cheapest` of every θ: (parameters, arms)."""
        return LazyTable(self.n_parameters, self.n_arms, self.cheapest)

    @cached_property
    def plans(self) -> LazyTable:
        """`resolving` and `refuting` of every θ, as proportions: (parameters, 2 arms)."""

        def both(parameter: int) -> np.ndarray:
            resolving = self.resolving(parameter)
            refuting = self.refuting(parameter, resolving)
            return np.concatenate([proportions(resolving), proportions(refuting)])

        return LazyTable(self.n_parameters, 2 * self.n_arms, both)

    def cheapest(self, parameter: int) -> np.ndarray:
        """The least regret that refutes all competing θ: the lower bound's pulls per log t.

        Each suboptimal arm is pulled as often as the program says, and the best arm as often as the
        most pulled of them; (arms,), zero if no θ competes.
        """
        optimal = self.optimal[parameter]
        near = np.abs(self.means - self.means[parameter]) <= self.tolerance
        better = self.best_means > self.best_means[parameter] + self.tolerance
        rivals = near[:, optimal].all(axis=1) & better
        return self._with_best_arm(parameter, self._without_best_arm(parameter, rivals))

    def resolving(self, parameter: int) -> np.ndarray:
        """The least regret that refutes all equivalent θ that explore in other proportions."""
        own = proportions(self._rates_of(parameter))
        rivals = np.zeros(self.n_parameters, dtype=bool)
        for other in np.flatnonzero(self._equivalent(parameter)):
            found = proportions(self._rates_of(int(other)))
            rivals[other] = np.abs(found - own).max() > CLOSE
        return self._with_best_arm(parameter, self._without_best_arm(parameter, rivals))

    def refuting(self, parameter: int, resolving: np.ndarray) -> np.ndarray:
        """The least regret that refutes all θ with a best mean that is not smaller.

        It contains ``resolving`` and `cheapest`, no arm is pulled more often than the best one, and
        a pull of the best arm costs as much as one of the second best.
        """
        optimistic = self.best_means >= self.best_means[parameter] - self.tolerance
        optimistic &= ~self._equivalent(parameter)
        gaps = self._gaps(parameter)
        best = self.best_arms[parameter]
        gaps[best] = gaps[gaps > 0.0].min() if (gaps > 0.0).any() else 1.0
        least = np.maximum(resolving, self._rates_of(parameter))
        return solve(gaps, self._information(parameter, optimistic), least, int(best))

    def _rates_of(self, parameter: int) -> np.ndarray:
        self.rates.fill(parameter)
        return np.asarray(self.rates.rows.values[parameter])

    def _equivalent(self, parameter: int) -> NDArray[np.bool_]:
        same_arm = self.best_arms == self.best_arms[parameter]
        distance = np.abs(self.best_means - self.best_means[parameter])
        return np.asarray(same_arm & (distance <= self.tolerance))

    def _gaps(self, parameter: int) -> np.ndarray:
        gaps = self.best_means[parameter] - self.means[parameter]
        return np.asarray(np.where(self.optimal[parameter], 0.0, gaps))

    def _information(self, parameter: int, rivals: NDArray[np.bool_]) -> np.ndarray:
        """Divergence of one reward of each arm between θ and its rivals: (rivals, arms).

        Rivals with the same means as θ are left out: nothing can refute them.
        """
        difference = self.means[rivals] - self.means[parameter]
        different = (np.abs(difference) > self.tolerance).any(axis=1)
        return np.asarray((difference[different] / self.scale) ** 2)

    def _without_best_arm(self, parameter: int, rivals: NDArray[np.bool_]) -> np.ndarray:
        information = self._information(parameter, rivals)
        information[:, self.best_arms[parameter]] = 0.0
        return solve(self._gaps(parameter), information, np.zeros(self.n_arms))

    def _with_best_arm(self, parameter: int, pulls: np.ndarray) -> np.ndarray:
        pulls[self.best_arms[parameter]] = pulls.max()
        return pulls


@lru_cache(maxsize=8)
def hypotheses_of(structure: Structure) -> Hypotheses:
    """The hypotheses of a structure, kept for the last few structures."""
    return Hypotheses(structure)


def proportions(pulls: np.ndarray) -> np.ndarray:
    """Pulls divided by the largest of them, rounded; zeros stay zeros.

    Examples
    --------
    >>> proportions(np.array([4.0, 1.0, 0.0]))
    array([1.  , 0.25, 0.  ])
    """
    largest = float(pulls.max())
    return np.asarray(np.round(pulls / largest, DIGITS) if largest > 0.0 else np.zeros(pulls.size))


def solve(
    prices: np.ndarray, information: np.ndarray, least: np.ndarray, most_pulled: int | None = None
) -> np.ndarray:
    """Return the cheapest pulls x ≥ least with information @ x ≥ 1: (arms,).

    Parameters
    ----------
    prices : (arms,)
    information : (rivals, arms)
    least : (arms,)
    most_pulled
        An arm that is pulled at least as often as every other one.

    Examples
    --------
    >>> solve(np.array([1.0, 3.0]), np.array([[0.1, 0.2]]), np.zeros(2))
    array([10.,  0.])
    """
    from scipy.optimize import linprog

    if not len(information):
        return least.copy()
    # Each row is divided by its largest entry and x by the largest right side, so that all numbers
    # of the program are near 1 for any sigma and any units of the rewards.
    largest = information.max(axis=1, keepdims=True)
    needed = 1.0 / largest[:, 0]
    unit = max(float(needed.max()), float(least.max()))
    rows, right = [information / largest], [needed / unit]
    if most_pulled is not None:
        more = -np.eye(prices.size)
        more[:, most_pulled] += 1.0
        rows.append(more)
        right.append(np.zeros(prices.size))
    dearest = float(prices.max())
    done = linprog(
        prices / dearest if dearest > 0.0 else prices,
        A_ub=-np.concatenate(rows),
        b_ub=-np.concatenate(right),
        bounds=[(low, None) for low in (least / unit).tolist()],
        method="highs",
    )
    if done.x is None:
        raise StructuredBanditsError(
            f"a linear program of crop could not be solved ({done.message}); rescale the means."
        )
    return np.asarray(done.x) * unit
