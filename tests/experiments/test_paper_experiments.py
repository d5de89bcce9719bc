"""Experiments give pictures, numbers and claims; finished ones are kept; the page needs no file."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits import experiments
from structuredbandits.experiments._claims import difference, no_worse, settles, smaller, smallest
from structuredbandits.experiments.runner import reproduce
from structuredbandits.report import write_report
from structuredbandits.simulation import Results


def made_up(final: dict[str, list[float]]) -> Results:
    """Results of two checkpoints whose last regrets are given; half is reached by then."""
    regret = np.array([[[[value / 2, value] for value in runs]] for runs in final.values()])
    shape = regret.shape[:3]
    return Results(
        policies=tuple(final),
        thetas=(0.5,),
        arms=("a", "b"),
        rounds=np.array([50, 100]),
        regret=regret,
        reward=regret,
        pulls=np.zeros((*shape, 2), dtype=int),
        empty_rounds=np.zeros(shape, dtype=int),
        seed=0,
    )


def test_every_experiment_has_a_title_and_says_what_it_shows():
    for name in experiments.experiment_ids():
        experiment = experiments.load_experiment(name)
        assert experiment.title
        assert experiment.shows.endswith(".")


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(sb.InvalidInput, match="three-arms"):
        experiments.run("three-arm")


@pytest.mark.parametrize("name", ["setup", "c-of-theta", "corner", "steps"])
def test_figures_without_luck_hold_all_their_claims(name):
    outcome = experiments.run(name)
    assert outcome.figures
    assert len(outcome.table) > 0
    assert all(claim.held for claim in outcome.claims)


def test_movielens_c_reports_that_the_published_counts_need_an_epsilon():
    claims = experiments.run("movielens-c").claims
    assert not claims[0].held
    assert "ε > 0" in claims[0].statistic
    assert claims[-1].held


def test_a_simulated_figure_is_reproduced_exactly():
    first, second = (experiments.run("bernoulli", runs=2, progress="off") for _ in range(2))
    other = experiments.run("bernoulli", runs=2, seed=1, progress="off")
    assert first.table.equals(second.table)
    assert not first.table.equals(other.table)
    assert set(first.figures) == {"regret", "functions"}


def test_an_order_holds_only_if_the_interval_says_so():
    clear = made_up({"a": [1.0, 2.0, 3.0], "b": [11.0, 12.0, 13.5]})
    assert smaller(clear, "a", "b").held
    assert not smaller(clear, "b", "a").held
    assert smallest(clear, "a").held
    assert not no_worse(clear, "b", "a").held
    unclear = made_up({"a": [1.0, 20.0, 3.0], "b": [11.0, 12.0, 13.0]})
    assert not smaller(unclear, "a", "b").held
    assert no_worse(unclear, "a", "b").held
    assert no_worse(unclear, "b", "a").held


def test_a_difference_within_the_noise_is_called_too_close_to_tell():
    unclear = made_up({"a": [1.0, 20.0, 3.0], "b": [11.0, 12.0, 13.0]})
    assert "not significant in 3 runs" in smaller(unclear, "a", "b").statistic
    clear = made_up({"a": [1.0, 2.0, 3.0], "b": [11.0, 12.0, 13.5]})
    assert "significant" not in smaller(clear, "b", "a").statistic


def test_many_comparisons_at_once_have_wider_intervals():
    results = made_up({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 2.0, 2.0, 3.5]})
    mean, half = difference(results, "a", "b")
    # The differences are 1, 0, 1 and 0.5; 1.959964 and 3.023341 are normal quantiles.
    error = np.std([1.0, 0.0, 1.0, 0.5], ddof=1) / 2
    assert (mean, half) == (pytest.approx(0.625), pytest.approx(1.959964 * error))
    assert difference(results, "a", "b", together=20)[1] == pytest.approx(3.023341 * error)
    assert not no_worse(results, "a", "b").held
    assert no_worse(results, "a", "b", together=20).held


def test_policies_of_two_simulations_are_compared_run_by_run():
    first, second = made_up({"a": [1.0, 2.0, 3.0]}), made_up({"b": [2.0, 3.0, 4.0]})
    claim = smaller(first, "a", "b", others=second)
    assert claim.held
    assert claim.statistic == "a − b = −1.000 ± 0.000"


def test_only_some_rivals_count_if_they_are_named():
    results = made_up({"a": [5.0, 6.0], "b": [1.0, 2.0], "c": [9.0, 10.5]})
    assert not smallest(results, "a").held
    assert smallest(results, "a", rivals=["a", "c"]).held


def test_regret_that_still_grows_is_not_bounded():
    growing = made_up({"a": [10.0, 12.0]})
    assert not settles(growing, "a").held


def test_finished_experiments_are_not_run_again(tmp_path: Path):
    reproduce(["corner", "setup"], tmp_path, progress="off")
    (tmp_path / "setup" / "outcome.json").unlink()
    before = (tmp_path / "corner" / "table.csv").stat().st_mtime_ns
    kept = reproduce(["corner", "setup"], tmp_path, progress="off")
    assert (tmp_path / "corner" / "table.csv").stat().st_mtime_ns == before
    assert (tmp_path / "setup" / "outcome.json").exists()
    assert [one.experiment.id for one in kept] == ["corner", "setup"]


def test_another_seed_is_run_again(tmp_path: Path):
    reproduce(["steps"], tmp_path, progress="off")
    first = (tmp_path / "steps" / "table.csv").read_text()
    reproduce(["steps"], tmp_path, seed=5, progress="off")
    assert (tmp_path / "steps" / "table.csv").read_text() != first


def test_vector_pictures_on_request(tmp_path: Path):
    reproduce(["corner"], tmp_path, picture_format="svg", progress="off")
    assert (tmp_path / "corner" / "regions.svg").exists()
    assert (tmp_path / "corner" / "regions.png").exists()
    with pytest.raises(sb.InvalidInput, match="gif"):
        reproduce(["corner"], tmp_path, picture_format="gif", progress="off")


def test_the_page_is_whole_by_itself(tmp_path: Path):
    kept = reproduce(["corner", "movielens-c"], tmp_path, progress="off")
    page = write_report(kept, tmp_path / "report.html").read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert page.count("<img") == sum(len(one.pictures) for one in kept)
    assert "did not hold" in page
    assert "2 of 4 claims of the paper held here" in page
    assert "structuredbandits reproduce corner --seed 0" in page


def test_what_the_paper_does_not_say_is_not_counted_as_its_claim(tmp_path: Path):
    kept = reproduce(["steps", "corner"], tmp_path, progress="off")
    page = write_report(kept, tmp_path / "report.html").read_text()
    assert "1 of 1 claims of the paper held here" in page
    assert page.count("Beyond the paper") == 1


def test_runs_must_be_a_number_of_runs():
    with pytest.raises(sb.InvalidInput, match="runs is 0"):
        experiments.run("bernoulli", runs=0)


class Counter:
    """Counts progress."""

    def __init__(self) -> None:
        self.done, self.notes = 0, []

    def advance(self, steps: int = 1) -> None:
        assert steps >= 0
        self.done += steps

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_progress_ends_at_its_total_whatever_is_simulated(tmp_path: Path, monkeypatch):
    counter, totals = Counter(), []

    @contextmanager
    def counting(mode, title, total):
        totals.append(total)
        yield counter

    monkeypatch.setattr("structuredbandits.experiments.runner.reporting", counting)
    reproduce(["corner"], tmp_path)
    reproduce(["corner", "bernoulli", "setup"], tmp_path, runs=2)
    assert counter.done == sum(totals)
    assert [note.split(":")[0] for note in counter.notes] == ["corner", "bernoulli", "setup"]
