"""`structuredbandits simulate` shows and writes what the library finds, and nothing else."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.cli.choices import SimulationTarget
from structuredbandits.cli.simulation_report import print_report
from tests.cli.conftest import Ended

SMALL = ("--policies", "ucb,ucb-c", "--horizon", "300", "--runs", "4", "--seed", "7")


@pytest.fixture(scope="module")
def results() -> sb.Results:
    """What `simulate three-arms SMALL` must show."""
    return sb.simulate("three-arms", ["ucb", "ucb-c"], horizon=300, runs=4, seed=7)


def numbers_in(text: str) -> list[tuple[str, float, float]]:
    found = re.findall(r"^\s*(\S+)\s+([\d.,]+) ± ([\d.,]+)", text, flags=re.MULTILINE)
    return [
        (policy, float(mean.replace(",", "")), float(error.replace(",", "")))
        for policy, mean, error in found
    ]


def test_the_table_holds_the_results(call: Callable[..., Ended], results: sb.Results) -> None:
    ended = call("simulate", "three-arms", *SMALL)
    assert ended.code == 0
    summary = results.summary()
    # The summary goes by policy, the table by θ; its last section is the mean of all θ.
    rows = numbers_in(ended.out)
    assert len(rows) == 8
    for place, (policy, mean, error) in enumerate(rows[:6]):
        theta = results.thetas[place // 2]
        row = summary[(summary.policy == policy) & (summary.theta == theta)].iloc[0]
        assert mean == pytest.approx(row.regret, abs=0.5)
        assert error == pytest.approx(row.standard_error, abs=0.5)
    means = results.regret[..., -1].mean(axis=1)
    errors = means.std(axis=1, ddof=1) / np.sqrt(4)
    for place, (_, mean, error) in enumerate(rows[6:]):
        assert mean == pytest.approx(means[place].mean(), abs=0.5)
        assert error == pytest.approx(errors[place], abs=0.5)
    for text in ("θ = 0.5", "θ = 1.5", "θ = 2.6", "mean of the 3 θ", "4 runs of 300 rounds"):
        assert text in ended.out


def test_the_share_is_of_the_best_base_policy(call: Callable[..., Ended]) -> None:
    ended = call("simulate", "setup", "--json", *SMALL, "--policies", "ucb,ts,ucb-c")
    by_policy = {row["policy"]: row for row in json.loads(ended.out)["results"]}
    best = min(by_policy["ucb"]["regret"], by_policy["ts"]["regret"])
    for row in by_policy.values():
        assert row["share_of_best_base"] == pytest.approx(row["regret"] / best)
    table = call("simulate", "setup", *SMALL, "--policies", "ucb,ts,ucb-c").out
    share = round(100 * by_policy["ucb-c"]["regret"] / best)
    assert re.search(rf"ucb-c .* {share} %", table)
    assert "that of the better of ucb and ts" in table


def test_without_a_base_policy_there_is_no_share(call: Callable[..., Ended]) -> None:
    ended = call("simulate", "setup", *SMALL, "--policies", "ucb-c,ucb-s")
    assert "best base" not in ended.out
    assert [policy for policy, _, _ in numbers_in(ended.out)] == ["ucb-c", "ucb-s"]


def test_json_is_complete(call: Callable[..., Ended], results: sb.Results) -> None:
    ended = call("simulate", "three-arms", *SMALL, "--json")
    found = json.loads(ended.out)
    facts = {key: found[key] for key in ("problem", "horizon", "runs", "seed", "policies")}
    assert facts == {
        "problem": "three-arms",
        "horizon": 300,
        "runs": 4,
        "seed": 7,
        "policies": ["ucb", "ucb-c"],
    }
    assert found["version"] == sb.__version__
    assert found["files"] == []
    summary = results.summary().set_index(["policy", "theta"])
    assert len(found["results"]) == len(summary) == 6
    for row in found["results"]:
        for column, value in summary.loc[row["policy"], row["theta"]].items():
            assert row[column] == pytest.approx(value), column


def test_one_run_has_no_error(call: Callable[..., Ended]) -> None:
    options = ("--policies", "ucb", "--horizon", "300", "--runs", "1")
    ended = call("simulate", "setup", *options)
    assert "±" not in ended.out
    (row,) = json.loads(call("simulate", "setup", *options, "--json").out)["results"]
    assert row["standard_error"] is None


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_quiet_is_quiet(call: Callable[..., Ended], tmp_path: Path, more: tuple[str, ...]) -> None:
    ended = call("simulate", "setup", *SMALL, "--quiet", "--out", str(tmp_path / "r"), *more)
    assert (ended.code, ended.err) == (0, "")
    assert bool(ended.out) == bool(more)
    assert (tmp_path / "r" / "regret.png").exists()


def test_equal_seeds_print_equal_tables(call: Callable[..., Ended]) -> None:
    first = call("simulate", "setup", *SMALL)
    assert first.out == call("simulate", "setup", *SMALL, "--n-jobs", "2").out
    assert first.out != call("simulate", "setup", *SMALL, "--seed", "8").out


def test_a_warning_is_one_line(call: Callable[..., Ended], tmp_path: Path) -> None:
    path = tmp_path / "coarse.structure"
    sb.load_problem("three-arms", points=7).structure.save(path)
    options = ("--theta", "0.53", "--horizon", "200000", "--runs", "1", "--policies", "ucb-c")
    ended = call("simulate", str(path), *options, "--quiet")
    assert ended.code == 0
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("warning: the grid over Θ is too coarse for 200000 rounds at θ = 0.53")


class TestFiles:
    def test_they_hold_the_results(
        self, call: Callable[..., Ended], tmp_path: Path, results: sb.Results
    ) -> None:
        folder = tmp_path / "new" / "folder"
        ended = call("simulate", "three-arms", *SMALL, "--out", str(folder))
        assert ended.code == 0
        assert f"Figure: {folder / 'regret.png'}" in ended.out
        names = ["regret.csv", "regret.png", "results.parquet", "summary.csv"]
        assert sorted(path.name for path in folder.iterdir()) == names
        loaded = sb.load_results(folder / "results.parquet")
        np.testing.assert_array_equal(loaded.regret, results.regret)
        curves = pd.read_csv(folder / "regret.csv")
        np.testing.assert_allclose(curves["regret"], results.mean().ravel())
        low, high = results.band()
        np.testing.assert_allclose(curves["low"], low.ravel())
        np.testing.assert_allclose(curves["high"], high.ravel())
        frame = pd.read_csv(folder / "summary.csv")
        expected = results.summary().sort_values(["theta", "policy"])
        np.testing.assert_allclose(frame["regret"], expected["regret"])
        assert (folder / "regret.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

    def test_older_files_are_replaced_and_others_stay(
        self, call: Callable[..., Ended], tmp_path: Path
    ) -> None:
        (tmp_path / "regret.csv").write_text("old", encoding="utf-8")
        (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
        assert call("simulate", "setup", *SMALL, "--out", str(tmp_path)).code == 0
        assert (tmp_path / "regret.csv").read_text(encoding="utf-8").startswith("policy,theta,")
        assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"
        assert not list(tmp_path.glob(".*"))

    def test_equal_seeds_give_equal_files(self, call: Callable[..., Ended], tmp_path: Path) -> None:
        folders = [tmp_path / "a", tmp_path / "b"]
        for folder in folders:
            call("simulate", "setup", *SMALL, "--out", str(folder), "--quiet")
        for name in ("regret.png", "regret.csv", "summary.csv", "results.parquet"):
            first, second = ((folder / name).read_bytes() for folder in folders)
            assert first == second, name

    def test_json_says_where_they_are(self, call: Callable[..., Ended], tmp_path: Path) -> None:
        ended = call("simulate", "setup", *SMALL, "--out", str(tmp_path), "--json")
        files = [Path(name) for name in json.loads(ended.out)["files"]]
        assert len(files) == 4
        assert all(path.is_file() for path in files)


class TestStructureFiles:
    def test_a_file_gives_the_same_as_its_structure(
        self, call: Callable[..., Ended], tmp_path: Path
    ) -> None:
        structure = sb.load_structure("three-arms")
        structure.save(tmp_path / "mine.structure")
        ended = call(
            "simulate", str(tmp_path / "mine.structure"), *SMALL, "--theta", "0.5", "--json"
        )
        expected = sb.simulate(structure, ["ucb", "ucb-c"], theta=0.5, horizon=300, runs=4, seed=7)
        found = [row["regret"] for row in json.loads(ended.out)["results"]]
        np.testing.assert_allclose(found, expected.regret[:, 0, :, -1].mean(axis=1))

    def test_without_theta_some_are_tried_and_named(
        self, call: Callable[..., Ended], tmp_path: Path
    ) -> None:
        sb.load_structure("movielens").save(tmp_path / "films.structure")
        ended = call("simulate", str(tmp_path / "films.structure"), *SMALL)
        assert (
            "4 of 108 θ are simulated (the most likely); choose others with --theta." in ended.out
        )
        assert "25-34 executive/managerial" in ended.out

    def test_one_theta(self, call: Callable[..., Ended], tmp_path: Path) -> None:
        sb.Structure.from_table([[1.0, 2.0]], sigma=1).save(tmp_path / "one.structure")
        ended = call("simulate", str(tmp_path / "one.structure"), *SMALL, "--json")
        by_policy = {row["policy"]: row["regret"] for row in json.loads(ended.out)["results"]}
        # The policy that knows θ pulls the best arm, except where rewards contradict θ by chance.
        assert by_policy["ucb-c"] < by_policy["ucb"] / 2

    def test_very_many_arms(self, call: Callable[..., Ended], tmp_path: Path) -> None:
        means = np.random.default_rng(0).normal(size=(5, 2000))
        sb.Structure.from_table(means, sigma=1).save(tmp_path / "wide.structure")
        ended = call(
            "simulate", str(tmp_path / "wide.structure"), *SMALL, "--out", str(tmp_path / "r")
        )
        assert ended.code == 0

    def test_strange_labels(self, call: Callable[..., Ended], tmp_path: Path) -> None:
        labels = ["a, b", "[red]x[/red]", "日本 €", "50 %", "$x$"]
        structure = sb.Structure.from_table(
            [[float(i), 2.5] for i in range(5)], sb.Finite(labels), sigma=1
        )
        structure.save(tmp_path / "odd.structure")
        options = [part for label in labels for part in ("--theta", label)]
        ended = call(
            "simulate", str(tmp_path / "odd.structure"), *SMALL, *options, "--out", str(tmp_path)
        )
        assert ended.code == 0
        for label in labels:
            assert label in ended.out


def test_all_names_what_does_not_apply(
    call: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Compiling all sixty takes minutes; which ones are taken is tested beside.
    from structuredbandits.simulation import arguments

    names = ["ucb", "ts-beta", "ucb-c", "ts-beta-c"]
    monkeypatch.setattr(arguments, "policy_names", lambda: names)
    ended = call("simulate", "setup", *SMALL, "--policies", "all")
    assert [policy for policy, _, _ in numbers_in(ended.out)] == ["ucb", "ucb-c"]
    assert "left out: ts-beta, ts-beta-c (needs rewards between 0 and 1)" in ended.out
    found = json.loads(call("simulate", "setup", *SMALL, "--policies", "all", "--json").out)
    assert set(found["left_out"]) == {"ts-beta", "ts-beta-c"}


def test_empty_rounds_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    structure = sb.Structure.from_table([[1.0, 2.0], [2.0, 1.0]], sigma=1)
    truth = sb.Structure.from_table(structure.means + 50.0, sigma=1)
    wrong = sb.Problem(
        "wrong", structure, sb.Gaussian(truth), (0,), 300, "Far from the truth.", "Wrong means"
    )
    results = sb.simulate(wrong, ["ucb", "ucb-c"], runs=4)
    empty = results.empty_rounds[1].mean()
    assert empty > 250
    target = SimulationTarget(
        wrong, structure, "wrong", wrong.title, wrong.thetas, 300, remark=None
    )
    print_report(target, results, {}, [])
    shown = capsys.readouterr().out
    assert re.search(rf"ucb-c .* {empty:.0f} *$", shown, flags=re.MULTILINE)
    assert "no θ was plausible" in shown
