"""`recommend`: the recommended policy, its numbers, its text and its command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.recommendation import (
    CANDIDATES,
    draw_true_means,
    gain_by_length,
    rounds_to_know,
)
from structuredbandits.recommendation.numbers import significant
from structuredbandits.recommendation.worlds import believed_means

LEARNED = sb.Structure.from_table(
    [[1.0, 0.0, 0.2], [0.0, 1.0, 0.2], [0.3, 0.2, 0.8]],
    arms=["a", "b", "c"],
    sigma=1.0,
    standard_errors=np.full((3, 3), 0.1),
)


@pytest.fixture(scope="module")
def answer() -> sb.Recommendation:
    return sb.recommend(LEARNED, horizon=300, runs=30, seed=1)


def test_numbers_belong_together(answer: sb.Recommendation) -> None:
    rows = {row.policy: row for row in answer.candidates}
    assert answer.policy == answer.chosen.policy == answer.candidates[0].policy
    assert [row.regret for row in answer.candidates] == sorted(row.regret for row in rows.values())
    assert rows["always"].gain == 0.0
    for row in rows.values():
        assert 300 * row.gain == pytest.approx(rows["always"].regret - row.regret)
        assert row.reward == pytest.approx(rows["always"].reward + row.gain)
        assert row.percent == pytest.approx(100 * row.gain / rows["always"].reward)
    assert sum(row.best for row in rows.values()) == pytest.approx(1.0)
    assert set(rows) == {"always", "prior-index", *CANDIDATES}


def test_the_structure_is_worth_something_here(answer: sb.Recommendation) -> None:
    assert answer.policy not in ("always", "prior-index", "ts")
    assert answer.chosen.gain > 0
    text = str(answer)
    assert text.startswith(f"Use {answer.policy}.")
    assert "95 % interval" in text
    assert "treated as exact" not in text


def test_equal_seeds_give_equal_answers(answer: sb.Recommendation) -> None:
    again = sb.recommend(LEARNED, horizon=300, runs=30, seed=1)
    assert again == answer
    assert sb.recommend(LEARNED, horizon=300, runs=30, seed=2) != answer


def test_what_does_not_apply_is_named() -> None:
    exact = sb.Structure.from_table(LEARNED.means, sigma=1.0)
    found = sb.recommend(exact, 50, candidates=["hierarchical", "posterior", "ts-beta"], runs=3)
    assert set(found.left_out) == {"hierarchical", "ts-beta"}
    assert "standard errors" in found.left_out["hierarchical"]
    assert "treated as exact" in str(found)


def test_bounds_are_filled_evenly() -> None:
    bounds = sb.Structure.from_bounds([[0.0, 1.0]], [[0.5, 3.0]], sigma=1.0)
    worlds = draw_true_means(bounds, 2_000, seed=0)
    assert (worlds >= bounds.lower[0]).all()
    assert (worlds <= bounds.upper[0]).all()
    # The mean of 2,000 uniform numbers is within six standard errors of the middle.
    off = abs(worlds.mean(axis=0) - [0.25, 2.0]) / np.array([0.5, 2.0])
    assert (off < 6 / np.sqrt(12 * 2_000)).all()


def test_costs_are_made_small() -> None:
    costs = sb.Structure.from_table(-LEARNED.means, sigma=1.0, minimize=True)
    found = sb.recommend(costs, 100, candidates=["posterior"], runs=5)
    assert all(row.regret >= 0 for row in found.candidates)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"horizon": 0}, "horizon is 0"),
        ({"horizon": 2.5}, "horizon is 2.5"),
        ({"horizon": 10, "runs": 1}, "runs is 1"),
        ({"horizon": 10, "seed": -1}, "seed is -1"),
        ({"horizon": 10, "delay": -1}, "delay is -1"),
    ],
)
def test_bad_settings_are_told(settings: dict[str, int], said: str) -> None:
    with pytest.raises(sb.InvalidInput, match=said):
        sb.recommend(LEARNED, **settings)


def test_it_wants_a_structure() -> None:
    with pytest.raises(sb.InvalidInput, match="not a structure"):
        sb.recommend("movielens", 10)  # type: ignore[arg-type]  # a name is for the command line


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run_here(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capsys.readouterr()

    return run_here


def test_the_command_says_what_to_use(call: Callable[..., tuple[int, str, str]]) -> None:
    options = ("--horizon", "50", "--runs", "20", "--policies", "posterior,hierarchical")
    code, out, _ = call("recommend", "three-arms", *options)
    assert code == 0
    assert "Use " in out
    assert "hierarchical was left out" in " ".join(out.split())
    code, out, _ = call("recommend", "three-arms", *options, "--json")
    assert code == 0
    found = json.loads(out)
    assert {row["policy"] for row in found["candidates"]} == {"always", "prior-index", "posterior"}


# -- the truth about length ------------------------------------------------------------------------

# Arm "a" is best for most visitors; only after some rewards can the others be recognised.
POPULAR = sb.Structure.from_table(
    [[0.5, 0.2, 0.1], [0.5, 0.2, 0.1], [0.2, 0.6, 0.1]],
    arms=["a", "b", "c"],
    sigma=1.0,
    prior=[6, 3, 1],
)


def test_one_arm_for_everybody_is_recommended_where_nothing_earns_more() -> None:
    found = sb.recommend(POPULAR, 5, candidates=["posterior", "ts-c"], runs=60, progress="off")
    assert found.policy == "always"
    assert found.pays_from is None or found.pays_from > 5
    text = str(found)
    assert text.startswith("Show a to everybody: no policy compared here earns more ")
    assert "interactions per visitor." in text


def test_the_gain_by_length_says_where_visitor_types_pay() -> None:
    found = gain_by_length(
        POPULAR, [5, 50, 500, 2_000], candidates=["posterior"], runs=60, progress="off"
    )
    assert found.policies == ("always", "prior-index", "posterior")
    assert (found.gain[0] == 0).all()
    assert found.pays_from in (50, 500, 2_000)
    assert found.structure_pays_from in (50, 500, 2_000, None)
    assert "to everybody: no policy compared here earns more below about" in str(found)
    # The same worlds and rewards as in `recommend`.
    one = sb.recommend(POPULAR, 500, candidates=["posterior"], runs=60, progress="off")
    gains = {row.policy: row.gain for row in one.candidates}
    for row, policy in enumerate(found.policies):
        assert found.gain[row, 2] == pytest.approx(gains[policy])


def test_late_rewards_cost_reward() -> None:
    """Paired runs with the same seed: the first 20 choices of 40 are made without any reward."""
    sharp = sb.Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=0.2)
    now, late = (
        sb.recommend(sharp, 40, candidates=["posterior"], runs=30, delay=delay, progress="off")
        for delay in (0, 20)
    )
    regret = [
        next(row.regret for row in found.candidates if row.policy == "posterior")
        for found in (now, late)
    ]
    assert regret[0] < 3.0
    assert 6.0 < regret[1] < 14.0
    assert "20 interactions late" in str(late)


def test_a_delay_of_none_is_the_simulation_itself() -> None:
    """The loop for late rewards, with rewards that come at once, gives the simulator's regret."""
    from structuredbandits.policies.registry import make_algorithm
    from structuredbandits.recommendation._comparison import _late, _one_run, known_noise
    from structuredbandits.recommendation.worlds import worlds

    known = known_noise(LEARNED)
    environment = worlds(LEARNED, draw_true_means(LEARNED, 3, 0))
    for name in ("posterior", "hierarchical-index"):
        algorithm = make_algorithm(name)
        for world in range(3):
            fast = _one_run(algorithm, known, environment, world, (20,), 7, 0)
            plain = _late(algorithm, known, environment, world, (20,), 7, 0)
            np.testing.assert_allclose(fast, plain)


def test_sampling_noise_is_counted_once() -> None:
    """Equal true means, noisy estimates: worlds vary as little as the data allow (4,000 draws)."""
    generator = np.random.default_rng(2)
    counts = np.full((40, 3), 25)
    noisy = sb.Structure.from_table(
        1.0 + generator.normal(0.0, 0.2, (40, 3)),
        sigma=1.0,
        counts=counts,
        standard_errors=1.0 / np.sqrt(counts),
    )
    spread = draw_true_means(noisy, 4_000, 0).std(axis=0)
    assert (spread < 0.12).all()  # raw means plus errors have 0.28
    # True means that differ are kept: their variance is that of the truth, not more.
    truth = generator.normal(0.0, 0.5, (400, 1))
    counts = np.full((400, 1), 4)
    both = np.hstack([truth, truth]) + generator.normal(0.0, 0.5, (400, 2))
    wide = sb.Structure.from_table(
        both, sigma=1.0, counts=np.hstack([counts] * 2), standard_errors=np.full((400, 2), 0.5)
    )
    np.testing.assert_allclose(draw_true_means(wide, 20_000, 0).std(axis=0), 0.5, rtol=0.1)


def test_shrunken_means_are_not_shrunk_again() -> None:
    shrunken = sb.Structure.from_table(
        [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
        sigma=1.0,
        counts=[[5, 9], [7, 3], [4, 4]],
        standard_errors=[[0.2, 0.1], [0.3, 0.2], [0.2, 0.25]],
    )
    means, deviations = believed_means(shrunken)
    np.testing.assert_array_equal(means, shrunken.means)
    np.testing.assert_array_equal(deviations, shrunken.standard_errors)


def test_clicks_are_simulated_as_clicks() -> None:
    rates = sb.Structure.from_table(
        [[0.02, 0.01], [0.01, 0.03]], arms=["a", "b"], rewards="bernoulli"
    )
    found = sb.recommend(rates, 20, candidates=["ts-beta"], runs=20, progress="off")
    assert found.arm == "b"
    assert 0.0 < found.chosen.reward < 0.03
    assert "ts-beta" in {row.policy for row in found.candidates}
    assert significant(found.chosen.reward).startswith("0.0")


def test_types_that_are_easy_to_tell_apart_are_known_sooner() -> None:
    easy = sb.Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=0.5)
    hard = sb.Structure.from_table([[1.0, 0.9], [0.9, 1.0]], sigma=0.5)
    quick, slow = rounds_to_know(easy, "uniform"), rounds_to_know(hard, "uniform")
    assert 1 <= quick.median <= 5
    assert 20 <= slow.median <= 200
    never = sb.Structure.from_table([[1.0, 0.999], [0.999, 1.0]], sigma=0.5)
    found = rounds_to_know(never, "uniform", longest=100, runs=10)
    assert str(found) == "more than 100"
    assert found.share < 0.5


def test_the_command_without_a_horizon_shows_all_lengths(
    call: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options = ("--policies", "posterior", "--runs", "4", "--quiet")
    picture = tmp_path / "gain.png"
    code, out, _ = call("recommend", "dose", *options, "--out", str(picture))
    assert code == 0
    assert picture.stat().st_size > 1_000
    assert "5,000" in out
    assert "isitor types" in out
    code, out, _ = call("recommend", "dose", *options, "--json")
    assert code == 0
    assert json.loads(out)["lengths"][0] == 5
    code, _, err = call("recommend", "dose", "--horizon", "5", "--out", "x.png")
    assert code == 2
    assert "leave out --horizon" in err
