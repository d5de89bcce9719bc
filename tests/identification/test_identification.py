"""Best-arm identification: right answers as often as promised, and the formulas it uses."""

from __future__ import annotations

import math

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.confidence.evidence import new_block
from structuredbandits.identification._identify import _make_rule, _scratch
from structuredbandits.identification._search_loop import look, note
from structuredbandits.identification._weights import best_weights
from tests.statistical.agreement import share_exceeds

SIGMA = np.array([1.0, 0.6, 1.4])


@pytest.fixture(scope="module")
def known() -> sb.Structure:
    generator = np.random.default_rng(21)
    return sb.Structure.from_table(generator.normal(0.0, 0.8, size=(9, 3)), sigma=SIGMA)


@pytest.mark.parametrize("rule", ["track", "round-robin"])
@pytest.mark.parametrize("theta", [0, 5])
def test_error_rate_is_at_most_delta(known: sb.Structure, rule: str, theta: int) -> None:
    """10,000 runs, delta = 0.2, seed 3; a correct rule fails with probability at most 1e-4."""
    found = sb.identify(known, theta, rule=rule, delta=0.2, runs=10_000, seed=3)
    assert found.correct is not None
    assert found.finished.all()
    assert not share_exceeds(int((~found.correct).sum()), 10_000, 0.2)
    assert (~found.correct).sum() > 0  # delta is large enough for mistakes to happen at all


def test_error_rate_test_can_fail(known: sb.Structure) -> None:
    """Noise three times as large as sigma says breaks the promise, and it shows; seed 3."""
    louder = sb.Gaussian(known, sigma=(3 * SIGMA).tolist())
    found = sb.identify(known, 0, delta=0.2, runs=2000, seed=3, environment=louder)
    assert found.correct is not None
    assert share_exceeds(int((~found.correct).sum()), 2000, 0.2)


@pytest.mark.parametrize("rule", ["lucb", "track-and-stop"])
def test_rules_without_structure_keep_delta(known: sb.Structure, rule: str) -> None:
    """2,000 runs, delta = 0.2, seed 3; error rate of the test 1e-4."""
    found = sb.identify(known, 5, rule=rule, delta=0.2, runs=2000, seed=3)
    assert found.correct is not None
    assert found.finished.all()
    assert not share_exceeds(int((~found.correct).sum()), 2000, 0.2)


def test_structure_saves_pulls() -> None:
    """three-arms at θ = 1.5: fewer pulls than LUCB in 200 of 200 runs; by chance below 1e-6."""
    counts = {
        rule: sb.identify("three-arms", 1.5, rule=rule, runs=200, seed=1).stopping_times
        for rule in ("track", "round-robin", "lucb")
    }
    assert (counts["track"] < counts["lucb"]).mean() > 0.95
    assert counts["track"].mean() < counts["round-robin"].mean()


def plain_value(known: sb.Structure, row: int, weights: np.ndarray) -> float:
    best = known.means[row].argmax()
    rivals = known.means[known.means.argmax(axis=1) != best]
    information = (known.means[row] - rivals) ** 2 / (2 * SIGMA**2)
    return float((information @ weights).min())


def test_weights_are_the_best_on_the_simplex(known: sb.Structure) -> None:
    steps = np.linspace(0, 1, 61)
    simplex = [np.array([a, b, 1 - a - b]) for a in steps for b in steps if a + b <= 1 + 1e-12]
    for row in range(9):
        weights = best_weights(known, row)
        assert weights.sum() == pytest.approx(1.0)
        assert (weights >= 0).all()
        value = plain_value(known, row, weights)
        assert value >= max(plain_value(known, row, point) for point in simplex) - 1e-12


def test_weights_without_a_rival_are_even() -> None:
    known = sb.Structure.from_table([[1.0, 0.0], [2.0, 0.0]], sigma=1.0)
    assert best_weights(known, 0).tolist() == [0.5, 0.5]
    found = sb.identify(known, 0)
    assert (found.answer, found.stopping_time) == ("1", 0.0)


@pytest.mark.parametrize("rule", ["track", "round-robin", "lucb", "track-and-stop"])
def test_verdicts_are_those_of_the_plain_formulas(known: sb.Structure, rule: str) -> None:
    generator = np.random.default_rng(4)
    asked, floats, block = _make_rule(rule, known, 0.1), _scratch(known), new_block(known.sigma)
    counts, sums = np.zeros(3), np.zeros(3)
    rounds = 150 if rule in ("track", "round-robin") else 1500
    top = np.sort(known.means, axis=1)
    row = int((top[:, -1] - top[:, -2]).argmax())
    stopped = 0
    for t in range(rounds):
        verdict = look(asked, floats, block, t)
        pull, answer, may_stop = PLAIN[rule](known, counts, sums, t)
        assert verdict.answer == answer
        assert (verdict.log_doubt <= math.log(0.1)) == may_stop
        if pull is not None:
            assert verdict.pull == pull
        stopped += may_stop
        arm = int(generator.integers(3))
        reward = known.means[row, arm] + SIGMA[arm] * generator.standard_normal()
        counts[arm] += 1
        sums[arm] += reward
        note(block, arm, reward)
    assert 0 < stopped < rounds


def plain_structured(
    known: sb.Structure, counts: np.ndarray, sums: np.ndarray
) -> tuple[int, np.ndarray, int, bool]:
    means = np.divide(sums, counts, out=np.zeros(3), where=counts > 0)
    likelihood = np.exp(-0.5 * ((means - known.means) ** 2 * counts / SIGMA**2).sum(axis=1))
    inside = likelihood > 0.1 * likelihood.mean()
    estimate = int(likelihood.argmax())
    answer = int(known.means[estimate].argmax())
    agreed = bool((known.means[inside].argmax(axis=1) == answer).all())
    return estimate, inside, answer, agreed


def plain_track(
    known: sb.Structure, counts: np.ndarray, sums: np.ndarray, t: int
) -> tuple[int | None, int, bool]:
    estimate, _, answer, agreed = plain_structured(known, counts, sums)
    lag = (t + 1) * best_weights(known, estimate) - counts
    lag[best_weights(known, estimate) == 0] = -np.inf
    return int(lag.argmax()), answer, agreed


def plain_round_robin(
    known: sb.Structure, counts: np.ndarray, sums: np.ndarray, t: int
) -> tuple[int | None, int, bool]:
    _, inside, answer, agreed = plain_structured(known, counts, sums)
    varies = np.ptp(known.means[inside], axis=0) > known.tolerance
    pull = int(np.where(varies, counts, np.inf).argmin()) if varies.any() else answer
    return pull, answer, agreed


def plain_lucb(
    known: sb.Structure, counts: np.ndarray, sums: np.ndarray, t: int
) -> tuple[int | None, int, bool]:
    means = np.divide(sums, counts, out=np.zeros(3), where=counts > 0)
    leader = int(means.argmax())
    if (counts == 0).any():
        return int((counts == 0).argmax()), leader, False
    radius = 1.4 * np.sqrt(2 * np.log(5 * 3 * float(t) ** 4 / (4 * 0.1)) / counts)
    upper = means + radius
    upper[leader] = -np.inf
    challenger = int(upper.argmax())
    pull = leader if counts[leader] <= counts[challenger] else challenger
    return pull, leader, bool(means[leader] - radius[leader] > upper[challenger])


def plain_track_and_stop(
    known: sb.Structure, counts: np.ndarray, sums: np.ndarray, t: int
) -> tuple[int | None, int, bool]:
    means = np.divide(sums, counts, out=np.zeros(3), where=counts > 0)
    leader = int(means.argmax())
    if (counts == 0).any():
        return int((counts == 0).argmax()), leader, False
    others = [arm for arm in range(3) if arm != leader]
    against = min(
        counts[leader]
        * counts[arm]
        / (counts[leader] + counts[arm])
        * (means[leader] - means[arm]) ** 2
        / (2 * 1.4**2)
        for arm in others
    )
    stop = bool(against > math.log((1 + math.log(t)) / 0.1))
    if counts.min() < math.sqrt(t) - 1.5:
        return int(counts.argmin()), leader, stop
    return None, leader, stop  # the shares have a test of their own


PLAIN = {
    "track": plain_track,
    "round-robin": plain_round_robin,
    "lucb": plain_lucb,
    "track-and-stop": plain_track_and_stop,
}


def test_track_and_stop_divides_pulls_as_is_best_for_known_means() -> None:
    """Without noise the pulls go to the shares that maximise the smallest information."""
    means = np.array([1.0, 0.7, 0.2])
    known = sb.Structure.from_table([means, means[::-1]], sigma=1.0)
    quiet = sb.Gaussian(known, sigma=0)
    found = sb.identify(known, 0, rule="track-and-stop", budget=20_000, environment=quiet)

    def smallest(w: np.ndarray) -> float:
        return float(
            min(w[0] * w[a] / (w[0] + w[a]) * (means[0] - means[a]) ** 2 / 2 for a in (1, 2))
        )

    grid = np.linspace(0.005, 0.99, 198)
    best = max(
        ((a, b, 1 - a - b) for a in grid for b in grid if a + b < 0.995),
        key=lambda w: smallest(np.array(w)),
    )
    assert np.abs(found.pulls[0] / 20_000 - best).max() < 0.01


def test_a_budget_is_used_up(known: sb.Structure) -> None:
    found = sb.identify(known, 0, budget=50, runs=20, seed=2)
    assert found.stopping_times.tolist() == [50] * 20
    assert found.pulls.sum(axis=1).tolist() == [50] * 20
    assert found.budget == 50
    more = sb.identify(known, 0, budget=500, runs=20, seed=2)
    assert more.confidence.mean() > found.confidence.mean()


def test_rewards_may_come_from_the_world(known: sb.Structure) -> None:
    for rule in ("track", "lucb"):
        stream = sb.Gaussian(known).rewards(5, seed=3, run=0)
        real = sb.identify(known, rule=rule, rewards=stream.draw)
        simulated = sb.identify(known, 5, rule=rule, seed=3)
        assert real.answers == simulated.answers
        assert real.stopping_times.tolist() == simulated.stopping_times.tolist()
        assert real.pulls.tolist() == simulated.pulls.tolist()
        assert real.correct is None
        assert math.isnan(real.error_rate)


def test_costs_are_made_small(known: sb.Structure) -> None:
    costs = known.with_(minimize=True)
    found = sb.identify(costs, 5, runs=50, delta=0.001)
    assert found.answer == costs.optimal_arm(5)


def test_a_search_that_runs_out_says_so(known: sb.Structure) -> None:
    found = sb.identify(known, 0, delta=1e-9, max_rounds=3, runs=2)
    assert not found.finished.any()
    assert found.stopping_times.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"theta": 0, "rule": "tack"}, "no rule 'tack'; did you mean 'track'"),
        ({"theta": 0, "delta": 0}, "delta is 0"),
        ({"theta": 0, "delta": 1.0}, "delta is 1.0"),
        ({"theta": 0, "budget": 0}, "budget is 0"),
        ({"theta": 0, "runs": 0}, "runs is 0"),
        ({}, "give theta, or rewards"),
        ({"theta": 99}, "99"),
        ({"rewards": lambda arm: math.nan}, "the reward is nan"),
    ],
)
def test_bad_input_is_refused(known: sb.Structure, settings: dict[str, object], said: str) -> None:
    with pytest.raises(sb.InvalidInput, match=said):
        sb.identify(known, **settings)  # type: ignore[arg-type]
