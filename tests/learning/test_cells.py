"""The table of cells is the same from every kind of log and engine, and it is the right one."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.learning import Cells, read_cells
from structuredbandits.learning._pandas_grouping import Columns, group_frames, merge

ROLES: dict[str, Any] = {"arm": "arm", "segment": ["age", "job"], "reward": "paid"}


def plain_cells(log: pd.DataFrame, weight: str | None = None) -> dict[Any, tuple[Any, ...]]:
    """The readable twin: exact fractions, one row at a time."""
    rows: dict[Any, list[tuple[Fraction, Fraction]]] = {}
    for row in log.to_dict("records"):
        own = Fraction(row[weight]) if weight is not None else Fraction(1)
        if math.isnan(row["paid"]) or own == 0:
            continue
        key = (row["age"], row["job"], row["arm"])
        rows.setdefault(key, []).append((Fraction(row["paid"]), own))
    cells = {}
    for key, pairs in rows.items():
        total = sum(w for _, w in pairs)
        mean = sum(r * w for r, w in pairs) / total
        deviations = sum(w * (r - mean) ** 2 for r, w in pairs)
        squares = sum(w * w for _, w in pairs)
        cells[key] = (float(total), float(squares), float(mean), float(deviations))
    return cells


def assert_equal_to_plain(cells: Cells, log: pd.DataFrame, weight: str | None = None) -> None:
    expected = plain_cells(log, weight)
    found = {(*cells.segments[i], cells.arms[k]): (i, k) for i, k in np.argwhere(cells.counts > 0)}
    assert set(found) == set(expected)
    for key, (total, squares, mean, deviations) in expected.items():
        i, k = found[key]
        size = float(np.abs(log["paid"]).max())
        assert cells.weights[i, k] == pytest.approx(total, rel=1e-9)
        assert cells.means[i, k] == pytest.approx(mean, rel=1e-9, abs=1e-9 * size)
        assert cells.deviations[i, k] == pytest.approx(
            deviations, rel=1e-9, abs=1e-9 * size * size * total
        )
        if weight is None:
            assert cells.counts[i, k] == total
            assert cells.freedom[i, k] == total - 1
        else:
            assert cells.counts[i, k] == pytest.approx(total**2 / squares)
            assert cells.freedom[i, k] == pytest.approx(total - squares / total, abs=1e-9 * total)


def assert_same(first: Cells, second: Cells) -> None:
    assert (first.segments, first.arms, first.rows) == (second.segments, second.arms, second.rows)
    assert first.segment_names == second.segment_names
    for name in ("counts", "weights", "means", "deviations", "freedom", "low", "high"):
        np.testing.assert_allclose(
            getattr(first, name), getattr(second, name), rtol=1e-9, atol=1e-12, err_msg=name
        )


def sample(rows: int = 3000, seed: int = 5, offset: float = 0.0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    log = pd.DataFrame(
        {
            "arm": generator.choice(["low", "mid", "high"], rows),
            "age": generator.choice([18, 25, 35], rows),
            "job": generator.choice(["artist", "clerk, senior"], rows),
            "paid": offset + generator.normal(size=rows).round(3),
            "weight": generator.integers(0, 4, rows) / 2,
            "unused": "x",
        }
    )
    log.loc[::97, "paid"] = np.nan
    return log


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.sampled_from([1, 2]),
            st.sampled_from(["x", "y"]),
            st.one_of(st.floats(-1e6, 1e6), st.just(math.nan)),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 10),
    st.booleans(),
)
def test_pandas_agrees_with_exact_fractions_however_the_log_is_cut(
    rows: list[tuple[Any, ...]], size: int, weighted: bool
) -> None:
    log = pd.DataFrame(rows, columns=["arm", "age", "job", "paid", "weight"])
    weight = "weight" if weighted else None
    if not plain_cells(log, weight):
        return
    assert_equal_to_plain(read_cells(log, **ROLES, weight=weight), log, weight)
    columns = Columns("arm", ("age", "job"), "paid", weight)
    pieces = (log[start : start + size] for start in range(0, len(log), size))
    whole = group_frames([log], columns).sort_values(["key_0", "key_1", "key_2"])
    cut = group_frames(pieces, columns).sort_values(["key_0", "key_1", "key_2"])
    for name in ("rows", "missing", "used", "weight", "mean", "deviations", "low", "high"):
        scale = 1e12 if name == "deviations" else 1e6
        np.testing.assert_allclose(
            cut[name].to_numpy(float), whole[name].to_numpy(float), rtol=1e-9, atol=1e-12 * scale
        )


@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_database_agrees_with_exact_fractions(weight: str | None) -> None:
    log = sample(400)
    cells = read_cells(log, **ROLES, weight=weight, engine="ibis")
    assert_equal_to_plain(cells, log, weight)


def as_csv(log: pd.DataFrame, folder: Path) -> str:
    log.to_csv(folder / "log.csv", index=False)
    return str(folder / "log.csv")


def as_packed_semicolons(log: pd.DataFrame, folder: Path) -> Path:
    log.to_csv(folder / "log.csv.gz", index=False, sep=";")
    return folder / "log.csv.gz"


def as_parquet(log: pd.DataFrame, folder: Path) -> Path:
    log.to_parquet(folder / "log.parquet")
    return folder / "log.parquet"


def as_folder(log: pd.DataFrame, folder: Path) -> Path:
    (folder / "days" / "monday").mkdir(parents=True)
    log[:1000].to_parquet(folder / "days" / "1.parquet")
    log[1000:].to_parquet(folder / "days" / "monday" / "2.parquet")
    (folder / "days" / "_notes.txt").write_text("not a part of it")
    return folder / "days"


def as_pattern(log: pd.DataFrame, folder: Path) -> str:
    log[:10].to_csv(folder / "part1.csv", index=False)
    log[10:].to_csv(folder / "part2.csv", index=False)
    return str(folder / "part*.csv")


def as_list(log: pd.DataFrame, folder: Path) -> list[Path]:
    log[:10].to_parquet(folder / "1.parquet")
    log[10:].to_parquet(folder / "2.parquet")
    return [folder / "1.parquet", folder / "2.parquet"]


def as_partitions(log: pd.DataFrame, folder: Path) -> Path:
    table = pa.Table.from_pandas(log, preserve_index=False)
    pq.write_to_dataset(table, folder / "parts", partition_cols=["job"])
    return folder / "parts"


def as_arrow(log: pd.DataFrame, folder: Path) -> Any:
    return pa.Table.from_pandas(log, preserve_index=False)


def as_ibis(log: pd.DataFrame, folder: Path) -> Any:
    # Ibis and DuckDB raise deprecation warnings about each other.
    connection = ibis.duckdb.connect()
    connection.con.register("log", pa.Table.from_pandas(log, preserve_index=False))
    return connection.table("log")


FILES = [as_csv, as_packed_semicolons, as_parquet, as_folder, as_pattern, as_list, as_partitions]


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("engine", ["ibis", "pandas"])
@pytest.mark.parametrize("form", [*FILES, as_arrow])
def test_every_form_and_engine_gives_the_same_cells(
    form: Callable[..., Any], engine: Any, weight: str | None, tmp_path: Path
) -> None:
    log = sample()
    given_log = form(log, tmp_path)
    expected = read_cells(log, **ROLES, weight=weight)
    assert_same(read_cells(given_log, **ROLES, weight=weight, engine=engine), expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of DuckDB 2, for the makers of Ibis
def test_an_ibis_table_is_grouped_where_it_is(tmp_path: Path) -> None:
    log = sample()
    assert_same(read_cells(as_ibis(log, tmp_path), **ROLES), read_cells(log, **ROLES))
    with pytest.raises(sb.InvalidInput, match="own database; use engine='ibis'"):
        read_cells(as_ibis(log, tmp_path), **ROLES, engine="pandas")


@pytest.mark.parametrize("engine", ["ibis", "pandas"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_large_offset_costs_no_digits(engine: Any, weight: str | None) -> None:
    """A sum of squares about zero would have an error of about 100 % here."""
    near, far = sample(), sample(offset=1e6)
    expected = read_cells(near, **ROLES, weight=weight)
    cells = read_cells(far, **ROLES, weight=weight, engine=engine)
    np.testing.assert_allclose(cells.means - 1e6, expected.means, atol=1e-8)
    np.testing.assert_allclose(cells.deviations, expected.deviations, rtol=1e-7)


def test_without_duckdb_files_are_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sample()
    monkeypatch.setattr("structuredbandits.learning._ibis_grouping.find_spec", lambda name: None)
    assert_same(read_cells(as_parquet(log, tmp_path), **ROLES), read_cells(log, **ROLES))
    with pytest.raises(sb.InvalidInput, match=r"pip install 'structuredbandits\[learn\]'"):
        read_cells(log, **ROLES, engine="ibis")


def test_rows_that_are_left_out_are_counted() -> None:
    log = pd.DataFrame(
        {
            "arm": ["a", "b", None, "a", "a", "b"],
            "age": [1, 1, 1, None, 1, 1],
            "paid": [1.0, 2.0, 3.0, 4.0, np.nan, 5.0],
            "w": [1, 1, 1, 1, 1, 0],
        }
    )
    for engine in ("pandas", "ibis"):
        rows = read_cells(
            log,
            arm="arm",
            segment="age",
            reward="paid",
            weight="w",
            engine=engine,  # type: ignore[arg-type]
        ).rows
        assert rows._asdict() == {
            "total": 6,
            "used": 2,
            "missing_reward": 1,
            "missing_label": 2,
            "weightless": 1,
        }


def test_weights_of_importance_and_of_frequency() -> None:
    log = pd.DataFrame({"arm": ["a", "a", "b"], "s": [1, 1, 1], "r": [1, 4, 2], "w": [2.0, 1.0, 5]})
    roles: dict[str, Any] = {"arm": "arm", "segment": "s", "reward": "r", "weight": "w"}
    importance = read_cells(log, **roles)
    assert importance.means.tolist() == [[2.0, 2.0]]
    assert importance.counts.tolist() == [[9 / 5, 1.0]]
    scaled = read_cells(log.assign(w=log["w"] * 8), **roles)
    np.testing.assert_allclose(scaled.counts, importance.counts)
    frequency = read_cells(log, **roles, weight_kind="frequency")
    repeated = log.loc[log.index.repeat(log["w"].astype(int))].drop(columns="w")
    plain = read_cells(repeated, **{**roles, "weight": None})
    assert frequency.counts.tolist() == plain.counts.tolist() == [[3.0, 5.0]]
    np.testing.assert_allclose(frequency.deviations, plain.deviations)
    assert frequency.freedom.tolist() == plain.freedom.tolist()


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([3, 1, 20], (1, 3, 20)),
        (["007", "12", "5"], ("007", "12", "5")),
        (["10", "9", "100"], (9, 10, 100)),
        ([1.5, 2.5, 1.5], (1.5, 2.5)),
        ([True, False, True], ("False", "True")),
        (pd.to_datetime(["2024-01-02", "2024-01-01", "2024-01-01"]), ("2024-01-01", "2024-01-02")),
        (pd.Categorical(["b", "a", "b"]), ("a", "b")),
        ([2**60, 2**60 + 1, 2**60], (str(2**60), str(2**60 + 1))),
    ],
    ids=["int", "codes", "digits", "float", "bool", "date", "category", "huge"],
)
@pytest.mark.parametrize("engine", ["pandas", "ibis"])
def test_labels_are_plain(values: Any, labels: tuple[Any, ...], engine: Any) -> None:
    log = pd.DataFrame({"arm": ["a", "b", "c"], "s": values, "r": [1.0, 2.0, 3.0]})
    assert read_cells(log, arm="arm", segment="s", reward="r", engine=engine).segments == labels


def test_arms_are_sorted_by_size_if_they_are_numbers() -> None:
    log = pd.DataFrame({"arm": [10, 9, 1], "s": [1, 1, 1], "r": [1.0, 2.0, 3.0]})
    assert read_cells(log, arm="arm", segment="s", reward="r").arms == ("1", "9", "10")


def test_one_label_in_two_forms_is_one_segment() -> None:
    log = pd.DataFrame({"arm": ["a", "a", "b"], "s": [1, "1", 1], "r": [1.0, 3.0, 2.0]})
    cells = read_cells(log, arm="arm", segment="s", reward="r")
    assert cells.segments == ("1",)
    assert cells.counts.tolist() == [[2.0, 1.0]]
    assert cells.means.tolist() == [[2.0, 2.0]]


def test_a_table_of_cells_can_be_looked_at() -> None:
    frame = read_cells(sample(), **ROLES).to_frame()
    assert list(frame.columns)[:4] == ["age", "job", "arm", "count"]
    assert len(frame) == 18
    assert "3,000" not in repr(read_cells(sample(), **ROLES))


def test_merging_nothing_new_changes_nothing() -> None:
    columns = Columns("arm", ("age", "job"), "paid", None)
    raw = group_frames([sample()], columns)
    merged = merge([raw, raw.iloc[:0]], columns)
    np.testing.assert_array_equal(merged["mean"], raw["mean"])
    np.testing.assert_array_equal(merged["deviations"], raw["deviations"])


@settings(max_examples=30)
@given(st.floats(0.01, 1e3), st.floats(-1e3, 1e3))
def test_another_unit_changes_nothing_else(scale: float, shift: float) -> None:
    log = sample(300)
    base = read_cells(log, **ROLES)
    moved = read_cells(log.assign(paid=shift + scale * log["paid"]), **ROLES)
    size = abs(shift) + 5 * scale
    np.testing.assert_allclose(moved.means, shift + scale * base.means, atol=1e-12 * size)
    np.testing.assert_allclose(
        moved.deviations, scale**2 * base.deviations, rtol=1e-9, atol=1e-11 * scale * size
    )
