"""`structuredbandits learn` writes a structure and reports its weak parts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run

ROLES = ["--arm", "genre", "--segment", "age,occupation", "--reward", "rating"]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run_here(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(part) for part in arguments])
        return (code, *capsys.readouterr())

    return run_here


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    survey = sb.simulate_survey("movielens", rows=20_000, seed=1)
    path = tmp_path / "ratings.csv"
    survey.rename(columns={"arm": "genre", "reward": "rating"}).to_csv(path, index=False)
    return path


def test_a_file_and_a_report(
    call: Callable[..., tuple[int, str, str]], ratings: Path, tmp_path: Path
) -> None:
    target = tmp_path / "movies.structure"
    code, out, err = call("learn", str(ratings), *ROLES, "-o", str(target))
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    counts = sb.load_structure(target).counts
    assert counts is not None
    assert counts.sum() < 20_000  # some segments are left out
    assert f"{counts.sum():,.0f} rewards used of 20,000 rows." in text
    assert "Film-Noir" in out
    assert "few rewards: segment" in text
    assert f"Try it: structuredbandits recommend {target}" in text
    structure = sb.load_structure(target)
    assert structure.name == "movies"
    assert structure == sb.learn_structure(
        ratings, arm="genre", segment=["age", "occupation"], reward="rating", name="movies"
    )


def test_every_option_reaches_the_library(
    call: Callable[..., tuple[int, str, str]], ratings: Path, tmp_path: Path
) -> None:
    target = tmp_path / "ages.structure"
    options = ["--estimate", "bounds", "--level", "0.8", "--sigma", "per-arm", "--minimize"]
    more = ["--empty", "arm-mean", "--min-count", "2", "--engine", "pandas", "--json"]
    roles = ["--arm", "genre", "--segment", "age", "--segment", "occupation", "--reward", "rating"]
    code, out, _ = call("learn", str(ratings), *roles, *options, *more, "-o", str(target))
    assert code == 0
    structure = sb.learn_structure(
        ratings,
        arm="genre",
        segment=["age", "occupation"],
        reward="rating",
        estimate="bounds",
        level=0.8,
        sigma="per-arm",
        minimize=True,
        empty="arm-mean",
        min_count=2,
        engine="pandas",
        name="ages",
    )
    assert sb.load_structure(target) == structure
    found = json.loads(out)
    assert found["digest"] == structure.digest
    assert found["rows"]["used"] == 20_000
    assert found["filled_cells"] > 0


def test_quiet_says_nothing(
    call: Callable[..., tuple[int, str, str]], ratings: Path, tmp_path: Path
) -> None:
    target = tmp_path / "q.structure"
    assert call("learn", str(ratings), *ROLES, "-o", str(target), "-q") == (0, "", "")
    assert target.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--reward", "stars"], "the log has no column 'stars'; choose one of"),
        (["--sigma", "much"], "sigma = 'much' is unknown"),
        (["--sigma", "-1"], "sigma = -1 for arm"),
        (["--estimate", "best"], "estimate = 'best' is unknown"),
        (["--level", "2"], "level = 2.0 is not a confidence level"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(
    call: Callable[..., tuple[int, str, str]],
    ratings: Path,
    tmp_path: Path,
    changes: list[str],
    words: str,
) -> None:
    target = tmp_path / "m.structure"
    code, out, err = call("learn", str(ratings), *ROLES, *changes, "-o", str(target))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert words in err
    assert not target.exists()


def test_a_missing_log(call: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, _, err = call("learn", str(tmp_path / "none.csv"), *ROLES)
    assert code == 2
    assert "there is no file" in err


def test_the_help_teaches_by_example(call: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = call("learn", "--help")
    assert code == 0
    assert "structuredbandits learn ratings.csv --arm genre" in out
