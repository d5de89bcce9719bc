"""A log that cannot be used is refused in one sentence that says what to do."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.errors import FileError, InvalidInput, InvalidReward

ROLES: dict[str, Any] = {"arm": "arm", "segment": "who", "reward": "paid"}
ENGINES = pytest.mark.parametrize("engine", ["pandas", "ibis"])


def log(**changes: Any) -> pd.DataFrame:
    plain = {"arm": ["a", "b", "a", "b"], "who": ["x", "x", "y", "y"], "paid": [1.0, 2.0, 3.0, 4.5]}
    return pd.DataFrame(plain | changes)


@ENGINES
@pytest.mark.parametrize(
    ("column", "values", "error", "words"),
    [
        ("paid", ["1", "good", "2", "3"], InvalidReward, "1 rewards that are not numbers, such "),
        ("paid", [1, 2, np.inf, 3], InvalidReward, "1 infinite rewards"),
        ("paid", [np.nan] * 4, InvalidInput, "none of the 4 rows of the log has an arm"),
        ("paid", pd.to_datetime(["2024-01-01"] * 4), InvalidReward, "4 rewards that are not num"),
        ("arm", [None] * 4, InvalidInput, "none of the 4 rows"),
    ],
)
def test_values(column: str, values: Any, error: type[Exception], words: str, engine: Any) -> None:
    with pytest.raises(error, match=words):
        sb.learn_structure(log(**{column: values}), **ROLES, engine=engine)


@ENGINES
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights(weight: float, engine: Any) -> None:
    with pytest.raises(InvalidInput, match="1 weights that are negative, missing or not finite"):
        sb.learn_structure(log(w=[1, 1, weight, 1]), **ROLES, weight="w", engine=engine)


@ENGINES
def test_text_that_means_nothing_is_a_missing_reward(engine: Any) -> None:
    texts = log(paid=["1", "NA", " ", "2.5"])
    cells = sb.read_cells(texts, **ROLES, engine=engine)
    assert (cells.rows.used, cells.rows.missing_reward) == (2, 2)


@ENGINES
def test_an_example_of_what_is_no_number_is_shown(engine: Any) -> None:
    with pytest.raises(InvalidReward, match="'good'"):
        sb.learn_structure(log(paid=["1", "good", "2", "3"]), **ROLES, engine=engine)


@pytest.mark.parametrize("name", ["arm", "who", "paid"])
def test_an_unknown_column_names_the_nearest(name: str, tmp_path: Path) -> None:
    log().to_csv(tmp_path / "log.csv", index=False)
    roles = {key: f"{value}s" if value == name else value for key, value in ROLES.items()}
    for source in (log(), tmp_path / "log.csv"):
        with pytest.raises(InvalidInput, match=f"no column '{name}s'; did you mean '{name}'"):
            sb.learn_structure(source, **roles)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"segment": []}, "segment names no column"),
        ({"segment": ["who", "arm"]}, "'arm' is given twice"),
        ({"segment": ["who", "who"]}, "'who' is given twice"),
        ({"weight": "paid"}, "'paid' is given twice"),
        ({"arm": 3}, "3 is not the name of a column"),
        ({"engine": "spark"}, "engine = 'spark' is unknown"),
        ({"weight_kind": "heavy"}, "weight_kind = 'heavy' is unknown"),
        ({"estimate": "median"}, "estimate = 'median' is unknown"),
        ({"empty": "ignore"}, "empty = 'ignore' is unknown"),
        ({"sigma": "guess"}, "sigma = 'guess' is unknown"),
        ({"level": 95}, "level = 95 is not a confidence level"),
        ({"min_count": -1}, "min_count = -1 is not a number"),
    ],
)
def test_arguments(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        sb.learn_structure(log(), **(ROLES | changes))


@pytest.mark.parametrize("content", ["", "\n\n", "arm,who,paid\n"])
@ENGINES
def test_empty_files(content: str, engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(content)
    with pytest.raises((FileError, InvalidInput), match=r"is empty; give a file|has no rows; give"):
        sb.learn_structure(path, **ROLES, engine=engine)


@ENGINES
def test_empty_tables(engine: Any, tmp_path: Path) -> None:
    log().iloc[:0].to_parquet(tmp_path / "log.parquet")
    for source in (log().iloc[:0], tmp_path / "log.parquet"):
        with pytest.raises(InvalidInput, match="the log has no rows"):
            sb.learn_structure(source, **ROLES, engine=engine)


@ENGINES
def test_files_that_are_none(engine: Any, tmp_path: Path) -> None:
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and nothing else")
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)) * 9)
    (tmp_path / "empty").mkdir()
    for name, words in (
        ("damaged.parquet", "cannot be read"),
        ("binary.csv", "neither Parquet nor text in UTF-8"),
        ("empty", "holds no Parquet, CSV or JSON-lines file"),
        ("missing.csv", "there is no file"),
    ):
        with pytest.raises(FileError, match=words):
            sb.learn_structure(tmp_path / name, **ROLES, engine=engine)


@ENGINES
def test_a_ragged_file_is_refused(engine: Any, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,who,paid\na,x,1\nb,x,2,3,4\n" * 2)
    with pytest.raises((FileError, InvalidReward)):
        sb.learn_structure(tmp_path / "log.csv", **ROLES, engine=engine)


def test_formats_are_not_mixed(tmp_path: Path) -> None:
    log().to_csv(tmp_path / "1.csv", index=False)
    log().to_parquet(tmp_path / "2.parquet")
    with pytest.raises(FileError, match="holds Parquet and CSV files"):
        sb.learn_structure(tmp_path, **ROLES)


@pytest.mark.parametrize("thing", [3, None, {"arm": ["a"]}, [[1, 2]]])
def test_what_is_no_log(thing: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be read; give a path, a DataFrame"):
        sb.learn_structure(thing, **ROLES)


def test_columns_that_cannot_be_grouped() -> None:
    with pytest.raises(InvalidInput, match="hold lists or other values"):
        sb.learn_structure(log(who=[["x"], ["x"], ["y"], ["y"]]), **ROLES)
    twice = pd.concat([log(), log()[["paid"]]], axis=1)
    with pytest.raises(InvalidInput, match="two columns 'paid'"):
        sb.learn_structure(twice, **ROLES)
    with pytest.raises(InvalidInput, match="column of mixed kinds"):
        sb.learn_structure(log(who=[1, "x", 2, "y"]), **ROLES, engine="ibis")
