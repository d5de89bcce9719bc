"""`Results`: tables, errors and files, against pandas and SciPy; damaged files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import structuredbandits as sb
from structuredbandits.simulation._result_files import FORMAT
from structuredbandits.structure import show_theta


def results_of(thetas: tuple[Any, ...] = (0.5, 2.6), runs: int = 4, marks: int = 3) -> sb.Results:
    """Made-up numbers, all different."""
    generator = np.random.default_rng(5)
    shape = (2, len(thetas), runs)
    return sb.Results(
        policies=("ucb", "ucb-c(alpha=2)"),
        thetas=thetas,
        arms=("low", "mid", "high"),
        rounds=np.arange(1, marks + 1) * 10,
        regret=generator.normal(100.0, 20.0, (*shape, marks)),
        reward=generator.normal(10.0, 20.0, (*shape, marks)),
        pulls=generator.integers(0, 99, (*shape, 3)),
        empty_rounds=generator.integers(0, 9, shape),
        seed=3,
        problem="made-up",
    )


def assert_same(first: sb.Results, second: sb.Results) -> None:
    for name in ("policies", "thetas", "arms", "seed", "problem", "runs", "horizon"):
        assert getattr(first, name) == getattr(second, name), name
    for name in ("rounds", "regret", "reward", "pulls", "empty_rounds"):
        one, other = getattr(first, name), getattr(second, name)
        assert one.dtype == other.dtype, name
        np.testing.assert_array_equal(one, other, err_msg=name)


class TestTables:
    def test_a_row_has_the_numbers_of_its_policy_and_theta(self) -> None:
        results = results_of()
        frame = results.to_frame()
        assert list(frame) == ["policy", "theta", "run", "round", "regret", "reward"]
        assert len(frame) == results.regret.size
        for i, policy in enumerate(results.policies):
            for j, theta in enumerate(results.thetas):
                selected = frame[(frame["policy"] == policy) & (frame["theta"] == theta)]
                for run in range(results.runs):
                    rows = selected[selected["run"] == run]
                    assert rows["round"].tolist() == results.rounds.tolist()
                    assert rows["regret"].tolist() == results.regret[i, j, run].tolist()
                    assert rows["reward"].tolist() == results.reward[i, j, run].tolist()

    def test_the_summary_is_what_pandas_finds(self) -> None:
        results = results_of(runs=9)
        frame = results.to_frame()
        final = frame[frame["round"] == results.horizon].groupby(["policy", "theta"], sort=False)
        summary = results.summary().set_index(["policy", "theta"])
        assert list(summary.index) == list(final.groups)
        for column, expected in {
            "regret": final["regret"].mean(),
            "standard_error": final["regret"].sem(),
            "median": final["regret"].median(),
            "worst": final["regret"].max(),
            "reward": final["reward"].mean(),
        }.items():
            np.testing.assert_allclose(summary[column], expected, err_msg=column)
        np.testing.assert_allclose(
            summary["empty_rounds"], results.empty_rounds.mean(axis=2).ravel()
        )

    def test_the_band_is_the_normal_95_percent_interval(self) -> None:
        results = results_of(runs=9)
        low, high = results.band()
        expected = stats.norm.interval(
            0.95, loc=results.regret.mean(axis=2), scale=stats.sem(results.regret, axis=2)
        )
        np.testing.assert_allclose(low, expected[0])
        np.testing.assert_allclose(high, expected[1])

    def test_one_run_has_no_error(self) -> None:
        results = results_of(runs=1)
        assert np.isnan(results.standard_error()).all()
        assert np.isnan(results.band()).all()
        assert results.summary()["standard_error"].isna().all()

    @pytest.mark.parametrize(
        ("thetas", "labels"),
        [
            ((0.5, 2.6), [0.5, 2.6]),
            ((1, 2), [1, 2]),
            (("low", "high"), ["low", "high"]),
            (((0.9, -0.2), (0.0, 0.1)), ["(0.9, -0.2)", "(0, 0.1)"]),
            (
                (("18-24", "artist"), ("25-34", "doctor")),
                ["18-24 artist", "25-34 doctor"],
            ),
        ],
    )
    def test_theta_is_labelled_as_everywhere(
        self, thetas: tuple[Any, ...], labels: list[Any]
    ) -> None:
        results = results_of(thetas)
        assert results.summary()["theta"].tolist() == 2 * labels
        assert results.to_frame()["theta"].drop_duplicates().tolist() == labels
        assert [show_theta(label) for label in labels] == [show_theta(theta) for theta in thetas]

    def test_numbers_stay_numbers(self) -> None:
        assert results_of().summary()["theta"].dtype.kind == "f"


class TestFiles:
    @pytest.mark.parametrize(
        "thetas", [(0.5,), (1, 2), ("low", "日本"), ((0.9, 0.2),), (("18-24", "artist"),)]
    )
    @pytest.mark.parametrize(("runs", "marks"), [(1, 1), (4, 3)])
    def test_parquet_holds_everything(
        self, thetas: tuple[Any, ...], runs: int, marks: int, tmp_path: Path
    ) -> None:
        results = results_of(thetas, runs, marks)
        results.save(tmp_path / "all.parquet")
        loaded = sb.load_results(str(tmp_path / "all.parquet"))
        assert_same(results, loaded)
        assert [type(theta) for theta in loaded.thetas] == [type(theta) for theta in thetas]
        loaded.regret[0] = 0.0  # a copy of its own, as from `simulate`

    def test_any_reader_of_parquet_finds_the_columns(self, tmp_path: Path) -> None:
        results = results_of()
        results.save(tmp_path / "all.parquet")
        frame = pd.read_parquet(tmp_path / "all.parquet")
        pd.testing.assert_frame_equal(
            frame[["policy", "theta", "run", "round", "regret", "reward"]], results.to_frame()
        )
        final = frame[frame["round"] == results.horizon]
        assert final["pulls"].map(list).tolist() == results.pulls.reshape(-1, 3).tolist()
        assert final["empty_rounds"].tolist() == results.empty_rounds.ravel().tolist()
        rest = frame[frame["round"] < results.horizon]
        assert rest["pulls"].isna().all()
        assert rest["empty_rounds"].isna().all()

    def test_what_is_told_about_it_does_not_grow_with_the_runs(self, tmp_path: Path) -> None:
        sizes = []
        for runs in (2, 2000):
            results_of(runs=runs).save(tmp_path / "all.parquet")
            metadata = pq.read_schema(tmp_path / "all.parquet").metadata
            sizes.append(len(metadata[FORMAT.encode()]))
        assert sizes[1] <= sizes[0] + 3

    def test_csv_is_the_frame(self, tmp_path: Path) -> None:
        results = results_of(("low", "high, higher"))
        results.save(tmp_path / "all.csv")
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "all.csv"), results.to_frame())

    def test_simulated_results_survive(self, tmp_path: Path) -> None:
        results = sb.simulate("linear", ["ucb", "ucb-c"], horizon=50, runs=3)
        results.save(tmp_path / "all.parquet")
        assert_same(results, sb.load_results(tmp_path / "all.parquet"))

    @pytest.mark.parametrize("name", ["all.json", "all", ".parquet", "all.parquet.gz"])
    def test_other_endings_are_refused(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(sb.InvalidInput, match=r"end it in \.parquet or \.csv\."):
            results_of().save(tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("path", [None, 5, "", "a\0b.csv", "a\0b.parquet", b"all.csv"])
    def test_an_invalid_file_name_is_refused(self, path: Any) -> None:
        with pytest.raises(sb.InvalidInput) as caught:
            results_of().save(path)
        assert str(caught.value) == (
            f"{path!r} is not the name of a file; give one that ends in .parquet or .csv."
        )
        with pytest.raises(sb.InvalidInput) as caught:
            sb.load_results(path)
        assert str(caught.value) == (
            f"{path!r} is not the path of a file; give one that Results.save wrote."
        )

    @pytest.mark.parametrize("name", ["all.parquet", "all.csv"])
    def test_a_place_that_is_not_there_is_one_sentence(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(sb.FileError, match="cannot be written: No such file or directory;"):
            results_of().save(tmp_path / "missing" / name)

    @pytest.mark.parametrize("name", ["all.parquet", "all.csv"])
    def test_a_full_disk_keeps_the_older_file(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        results_of().save(tmp_path / name)
        before = (tmp_path / name).read_bytes()

        def full(_descriptor: int) -> None:
            raise OSError(28, os.strerror(28))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(sb.FileError, match="cannot be written: No space left on device;"):
            results_of(runs=2).save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == [name]


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        results_of().save(tmp_path / "all.parquet")
        return tmp_path / "all.parquet"

    def refuse(self, path: Path) -> None:
        with pytest.raises(sb.DamagedFile) as caught:
            sb.load_results(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert str(caught.value).endswith("save them again to a .parquet file.")

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(sb.FileError, match="cannot be read: No such file or directory"):
            sb.load_results(tmp_path / "none.parquet")
        with pytest.raises(sb.FileError, match="cannot be read: Is a directory"):
            sb.load_results(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"hello", b"PAR1", b"PAR1PAR1", b"policy,theta\n"])
    def test_no_parquet(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "x.parquet").write_bytes(content)
        self.refuse(tmp_path / "x.parquet")

    @given(share=st.floats(0.0, 1.0, exclude_max=True))
    def test_a_part_of_it(self, tmp_path_factory: pytest.TempPathFactory, share: float) -> None:
        path = tmp_path_factory.mktemp("cut") / "all.parquet"
        results_of().save(path)
        data = path.read_bytes()
        path.write_bytes(data[: int(share * len(data))])
        self.refuse(path)

    def test_another_table(self, path: Path) -> None:
        pq.write_table(pa.table({"regret": [1.0]}), path)
        self.refuse(path)

    @pytest.mark.parametrize("column", ["regret", "reward", "pulls", "empty_rounds"])
    def test_a_column_is_missing(self, path: Path, column: str) -> None:
        pq.write_table(pq.read_table(path).drop_columns([column]), path)
        self.refuse(path)

    def test_rows_are_missing(self, path: Path) -> None:
        pq.write_table(pq.read_table(path).slice(0, 20), path)
        self.refuse(path)

    def test_numbers_are_missing(self, path: Path) -> None:
        table = pq.read_table(path)
        gaps = pa.array([None, *table["regret"].to_pylist()[1:]], pa.float64())
        place = table.column_names.index("regret")
        pq.write_table(table.set_column(place, "regret", gaps), path)
        self.refuse(path)

    @pytest.mark.parametrize(
        "key", ["version", "policies", "thetas", "arms", "rounds", "runs", "seed", "problem"]
    )
    def test_something_about_it_is_missing(self, path: Path, key: str) -> None:
        table = pq.read_table(path)
        about = json.loads(table.schema.metadata[FORMAT.encode()])
        del about[key]
        pq.write_table(table.replace_schema_metadata({FORMAT: json.dumps(about)}), path)
        self.refuse(path)

    def test_another_version(self, path: Path) -> None:
        table = pq.read_table(path)
        about = json.loads(table.schema.metadata[FORMAT.encode()]) | {"version": 9}
        pq.write_table(table.replace_schema_metadata({FORMAT: json.dumps(about)}), path)
        with pytest.raises(sb.WrongVersion, match="has version 9, this library reads 1; use the"):
            sb.load_results(path)
