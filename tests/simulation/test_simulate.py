"""`simulate`: the same numbers however the work is shared out, and what it refuses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.environments import Environment
from structuredbandits.simulation import _simulate as simulate
from structuredbandits.simulation import arguments

POLICIES = ("ucb", "ts", "ucb-c", "ts-c", "ucb-s")
THETAS = (0.5, 1.5, 2.6)
SETTINGS: dict[str, Any] = {"horizon": 250, "runs": 7, "seed": 11, "checkpoints": 5}
SMALL = sb.Structure.from_table([[1.0, 0.2, 0.5], [0.1, 0.9, 0.6]], sigma=0.5, arms=["a", "b", "c"])


@pytest.fixture(scope="module")
def whole() -> sb.Results:
    return sb.simulate("three-arms", list(POLICIES), list(THETAS), **SETTINGS)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the work into pieces of two runs, as a long horizon would."""
    monkeypatch.setattr(simulate, "_CHUNK_ROUNDS", SETTINGS["horizon"])


@contextmanager
def backend(name: str) -> Iterator[None]:
    with joblib.parallel_config(backend=name):
        yield


def assert_equal(first: sb.Results, second: sb.Results) -> None:
    assert (first.policies, first.thetas, first.arms) == (
        second.policies,
        second.thetas,
        second.arms,
    )
    for name in ("rounds", "regret", "reward", "pulls", "empty_rounds"):
        one, other = getattr(first, name), getattr(second, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, err_msg=name)


class TestEqualResults:
    @pytest.mark.parametrize(
        ("workers", "name"), [(1, "loky"), (2, "threading"), (2, "loky"), (-1, "threading")]
    )
    @pytest.mark.usefixtures("small_chunks")
    def test_for_any_number_and_kind_of_workers(
        self, whole: sb.Results, workers: int, name: str
    ) -> None:
        with backend(name):
            shared = sb.simulate(
                "three-arms", list(POLICIES), list(THETAS), n_jobs=workers, **SETTINGS
            )
        assert_equal(whole, shared)

    def test_threads_without_a_configured_backend(self, whole: sb.Results) -> None:
        shared = sb.simulate("three-arms", list(POLICIES), list(THETAS), n_jobs=2, **SETTINGS)
        assert_equal(whole, shared)

    @given(
        st.permutations(POLICIES).flatmap(
            lambda names: st.integers(1, len(names)).map(lambda n: names[:n])
        ),
        st.permutations(THETAS).flatmap(
            lambda thetas: st.integers(1, len(thetas)).map(lambda n: thetas[:n])
        ),
        st.integers(1, SETTINGS["runs"]),
    )
    @settings(max_examples=30)
    def test_for_any_subset_and_order(
        self, whole: sb.Results, names: list[str], thetas: list[float], runs: int
    ) -> None:
        part = sb.simulate("three-arms", names, thetas, **{**SETTINGS, "runs": runs})
        for (i, name), (j, theta) in itertools.product(enumerate(names), enumerate(thetas)):
            place = POLICIES.index(name), THETAS.index(theta)
            np.testing.assert_array_equal(part.regret[i, j], whole.regret[place][:runs])
            np.testing.assert_array_equal(part.reward[i, j], whole.reward[place][:runs])
            np.testing.assert_array_equal(part.pulls[i, j], whole.pulls[place][:runs])

    def test_other_seeds_give_other_results(self, whole: sb.Results) -> None:
        other = sb.simulate("three-arms", list(POLICIES), list(THETAS), **{**SETTINGS, "seed": 12})
        assert not (other.regret == whole.regret).all(axis=(1, 2, 3)).any()

    def test_checkpoints_do_not_change_a_run(self, whole: sb.Results) -> None:
        for checkpoints in (1, "log", [250], [1, 50, 250], 10**9):
            other = sb.simulate(
                "three-arms",
                list(POLICIES),
                list(THETAS),
                **{**SETTINGS, "checkpoints": checkpoints},
            )
            np.testing.assert_array_equal(other.regret[..., -1], whole.regret[..., -1])
            shared = np.isin(other.rounds, whole.rounds)
            np.testing.assert_array_equal(
                other.regret[..., shared],
                whole.regret[..., np.isin(whole.rounds, other.rounds)],
            )


def test_regret_is_the_sum_of_gaps_of_the_pulls(whole: sb.Results) -> None:
    problem = sb.load_problem("three-arms")
    for j, theta in enumerate(THETAS):
        means = problem.environment.means_at(theta)
        np.testing.assert_allclose(
            whole.regret[:, j, :, -1], whole.pulls[:, j] @ (means.max() - means)
        )
    assert (whole.pulls.sum(axis=-1) == SETTINGS["horizon"]).all()


class TestAll:
    @pytest.fixture
    def few_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Compiling all sixty takes minutes."""
        names = ["ucb", "ts-beta", "ucb-c", "ts-beta-c", "hierarchical"]
        monkeypatch.setattr(arguments, "policy_names", lambda: names)

    @pytest.mark.usefixtures("few_names")
    def test_is_what_structure_and_rewards_allow(self) -> None:
        results = sb.simulate(SMALL, " ALL ", 0, horizon=20, runs=2)
        assert results.policies == ("ucb", "ucb-c")

    @pytest.mark.usefixtures("few_names")
    def test_rewards_between_0_and_1_allow_more(self) -> None:
        results = sb.simulate(
            SMALL, "all", [0, 1], horizon=20, runs=2, environment=sb.Bernoulli(SMALL)
        )
        assert results.policies == ("ucb", "ts-beta", "ucb-c", "ts-beta-c")

    def test_every_name_is_taken_or_has_a_reason(self) -> None:
        world: Environment = sb.Gaussian(SMALL)
        names, reasons = arguments.all_policies(SMALL, world, [0])
        assert set(names) | set(reasons) == set(sb.policy_names())
        assert not set(names) & set(reasons)
        assert reasons["ts-beta-c"] == "needs rewards between 0 and 1"
        assert "standard errors" in reasons["hierarchical"]


def refused() -> dict[str, tuple[dict[str, Any], str]]:
    """What is given in place of good settings, and what the sentence must say."""
    return {
        "no workers": ({"n_jobs": 0}, "n_jobs is 0; give a whole number from 1 to 1,024, or -1"),
        "half a worker": ({"n_jobs": 1.5}, "n_jobs is 1.5; give a whole number"),
        "a word": ({"n_jobs": "two"}, "n_jobs is 'two'; give a whole number"),
        "true": ({"n_jobs": True}, "n_jobs is True; give a whole number"),
        "None workers": ({"n_jobs": None}, "n_jobs is None; give a whole number"),
        "too many workers": ({"n_jobs": 10**9}, "n_jobs is 1000000000; give a whole number"),
        "no runs": ({"runs": 0}, "runs is 0; give a whole number of at least 1"),
        "negative runs": ({"runs": -5}, "runs is -5; give a whole number of at least 1"),
        "NaN runs": ({"runs": float("nan")}, "runs is nan; give a whole number"),
        "text runs": ({"runs": "100"}, "runs is '100'; give a whole number"),
        "too many runs": ({"runs": 10**13}, "GB of memory, more than this machine has; give fewer"),
        "uncountable": ({"horizon": 10**30}, "horizon is 1e+30, which is too large; give at most"),
        "no rounds": ({"horizon": 0}, "horizon is 0; give a whole number of at least 1"),
        "too many rounds": ({"horizon": 10**13}, "GB of memory, more than this machine has"),
        "no horizon": ({"horizon": None}, "a structure alone has no horizon; give one"),
        "seed": ({"seed": -1}, "the seed is -1; give a whole number, 0 or more"),
        "seed NaN": ({"seed": float("nan")}, "the seed is nan; give a whole number, 0 or more"),
        "progress": ({"progress": "loud"}, "progress is 'loud'; give 'auto', 'lines' or 'off'"),
        "checkpoints": ({"checkpoints": 0}, "checkpoints is 0; give a whole number of at least 1"),
        "no checkpoints": (
            {"checkpoints": []},
            "the list of checkpoints is empty; give at least one",
        ),
        "late": (
            {"checkpoints": [21]},
            "checkpoint 21 is not a round; give whole numbers from 1 to",
        ),
        "NaN round": ({"checkpoints": [np.nan]}, "checkpoint nan is not a round; give whole"),
        "word": ({"checkpoints": "linear"}, "checkpoints is 'linear'; give a number, 'log' or"),
        "no θ": ({"theta": []}, "the list of θ is empty; give at least one"),
        "θ": ({"theta": 7}, "θ = 7 is not in Θ; the nearest is 1"),
        "θ tuple": ({"theta": (0, 1)}, ", or a list of θ to simulate each of them."),
        "θ range": ({"theta": range(2)}, ", or a list of θ to simulate each of them."),
        "θ Series": ({"theta": pd.Series([0, 1])}, ", or a list of θ to simulate each of them."),
        "θ NaN": ({"theta": float("nan")}, "θ = nan is not in Θ"),
        "θ twice": ({"theta": [0, 1, 0]}, "θ = 0 is given twice; give each θ once"),
        "θ None": ({"theta": None}, "a structure alone has no default θ; give theta"),
        "no policy": ({"policies": []}, "no policy was given; name at least one"),
        "unknown": ({"policies": "ucbb"}, "there is no policy 'ucbb'; did you mean ucb"),
        "no name": (
            {"policies": [3]},
            "3 is not a policy; give a name such as 'ucb-c', or",
        ),
        "None": (
            {"policies": None},
            "None is not a policy; give a name such as 'ucb-c'",
        ),
        "twice": ({"policies": ["ucb", "UCB"]}, "policy 'ucb' is given twice; give each policy"),
        "unit rewards": ({"policies": "ts-beta"}, "ts-beta needs rewards between 0 and 1"),
        "no errors": ({"policies": "hierarchical"}, "hierarchical needs the standard errors"),
        "environment": ({"environment": 3}, "3 is not an environment; give for example Bernou"),
        "its class": ({"environment": sb.Bernoulli}, "Bernoulli'> is not an environment; give for"),
        "other arms": (
            {"environment": sb.Gaussian(sb.load_structure("three-arms"))},
            "are not the structure's ('a', 'b', 'c'); give both the same names in the same order",
        ),
        "problem": ({"problem": 3}, "3 is not a problem; give a structure, a problem or the name"),
        "name": ({"problem": "three-legs"}, "'three-legs'"),
    }


@pytest.mark.parametrize("case", refused())
def test_what_is_refused_and_how(case: str) -> None:
    changed, says = refused()[case]
    good = {"problem": SMALL, "policies": "ucb", "theta": 0, "horizon": 20, "runs": 2}
    with pytest.raises(sb.InvalidInput) as caught:
        sb.simulate(**{**good, **changed})  # type: ignore[arg-type]
    sentence = str(caught.value)
    assert says in sentence
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
