"""`structuredbandits evaluate` prints what the library estimates."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run_here(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(part) for part in arguments])
        return (code, *capsys.readouterr())

    return run_here


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    sb.simulate_log("movielens", "uniform", subjects=30, rounds=10, seed=1).to_csv(
        path, index=False
    )
    return path


def test_a_table_with_the_log_itself_for_comparison(
    call: Callable[..., tuple[int, str, str]], log: Path
) -> None:
    code, out, err = call("evaluate", str(log), "--policy", "uniform,always Film-Noir")
    assert (code, err) == (0, "")
    estimate = sb.evaluate(log, "always Film-Noir")
    text = " ".join(out.split())
    assert f"{estimate.value:.4g} {estimate.low:.4g} to {estimate.high:.4g} snips" in text
    assert "logged policy" in text
    assert "300 decisions of 30 subjects" in text


def test_json_with_a_structure_and_an_algorithm(
    call: Callable[..., tuple[int, str, str]], log: Path
) -> None:
    options = ["--structure", "movielens", "--level", "0.8", "--json"]
    code, out, _ = call("evaluate", str(log), "--policy", "ucb(alpha=2)", *options)
    assert code == 0
    logged, ucb = json.loads(out)
    expected = sb.evaluate(log, "ucb(alpha=2)", structure="movielens", level=0.8)
    assert (logged["policy"], ucb["policy"]) == ("logged", "ucb(alpha=2)")
    assert (ucb["method"], ucb["value"], ucb["low"]) == ("dr", expected.value, expected.low)


def test_choices_that_the_log_never_shows_are_reported(
    call: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    simulated = sb.simulate_log("movielens", "uniform", subjects=30, rounds=10, seed=1)
    simulated.query("arm != 'War'").to_csv(path, index=False)
    code, out, _ = call("evaluate", str(path), "--policy", "uniform", "--structure", "movielens")
    assert code == 0
    assert "among arms that the log never shows" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--policy", "ucb"], "policy 'ucb' needs a structure"),
        (["--policy", " , "], "--policy is empty"),
        (["--policy", "uniform", "--method", "dr"], "needs a structure as its model"),
        (["--policy", "uniform", "--reward", "paid"], "the log has no column 'paid'"),
        (["--policy", "uniform", "--level", "7"], "level = 7.0 is not a confidence level"),
    ],
)
def test_mistakes_are_one_sentence(
    call: Callable[..., tuple[int, str, str]], log: Path, options: list[str], words: str
) -> None:
    code, out, err = call("evaluate", str(log), *options)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert words in err


def test_the_help_teaches_by_example(call: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = call("evaluate", "--help")
    assert code == 0
    assert "structuredbandits evaluate log.csv --policy uniform" in out
