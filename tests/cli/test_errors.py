"""Rubbish gets one sentence that names it and says what to do, exit code 2, and changes nothing."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import structuredbandits as sb
from tests.cli.conftest import Ended

HELP = "(see 'structuredbandits simulate --help')."


@pytest.fixture
def rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that are not structures."""
    (tmp_path / "empty.structure").touch()
    (tmp_path / "text.structure").write_text("hello", encoding="utf-8")
    (tmp_path / "folder.structure").mkdir()
    structure = sb.Structure.from_table([[1.0, 2.0], [2.0, 1.0]], sigma=1)
    structure.save(tmp_path / "good.structure")
    data = (tmp_path / "good.structure").read_bytes()
    (tmp_path / "half.structure").write_bytes(data[: len(data) // 2])
    one = b"\x00\x00\x00\x00\x00\x00\xf0\x3f"
    nan = b"\x00\x00\x00\x00\x00\x00\xf8\x7f"
    assert data.count(one) > 1
    (tmp_path / "nan.structure").write_bytes(data.replace(one, nan))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems() -> dict[str, tuple[list[str], str]]:
    """What is typed after `simulate`, and what the answer must contain."""
    return {
        "no problem": ([], f"Missing argument 'PROBLEM' {HELP}"),
        "misspelt": (["thre-arms"], "'thre-arms' is neither a file nor an embedded name; did you"),
        "nothing": ([" "], "PROBLEM is ' '; give an embedded name such as three-arms, or a"),
        "no such file": (["no.structure"], "'no.structure' is neither a file nor an embedded name"),
        "unicode": (["日本"], "'日本' is neither a file nor an embedded name"),
        "long": (["a" * 5000], "File name too long"),
        "folder": (["folder.structure"], "folder.structure cannot be read: Is a directory."),
        "empty file": (["empty.structure"], "empty.structure is not a complete structure file"),
        "text file": (["text.structure"], "text.structure is not a complete structure file"),
        "half a file": (["half.structure"], "half.structure is not a complete structure file"),
        "NaN in a file": (["nan.structure"], "nan.structure is not a complete structure file"),
        "two": (["setup", "corner"], HELP),
        "θ outside": (["setup", "--theta", "7"], "θ = 7 is not in Θ; give a number from 0 to 6."),
        "θ below": (["setup", "--theta", "-1"], "θ = -1 is not in Θ; give a number from 0 to 6."),
        "θ NaN": (["setup", "--theta", "nan"], "θ = nan is not in Θ; give a number from 0 to 6."),
        "θ infinite": (["setup", "--theta", "inf"], "θ = inf is not in Θ; give a number from 0"),
        "θ text": (["setup", "--theta", "ä"], "θ = ä is not in Θ; give a number from 0 to 6."),
        "θ empty": (["setup", "--theta", ""], "--theta '' contains no θ; give one, or omit"),
        "θ too short": (["linear", "--theta", "0.9"], "give 2 numbers in [-1, 1] × [-1, 1]."),
        "θ of many": (["movielens", "--theta", "18-24"], "θ = '18-24' fits 18 members ("),
        "θ unknown": (["movielens", "--theta", "astronaut"], "θ = astronaut is not in Θ;"),
        "no policy": (["setup", "--policies", ""], "--policies '' contains no policy; give some,"),
        "commas": (["setup", "--policies", ",,"], "--policies ',,' contains no policy; give some,"),
        "unknown policy": (["setup", "--policies", "ücb"], "there is no policy 'ücb'; did you"),
        "twice": (["setup", "--policies", "ucb,UCB"], "policy 'ucb' is given twice; give each"),
        "α negative": (["setup", "--policies", "ucb(alpha=-1)"], "UCB needs a positive finite"),
        "α NaN": (["setup", "--policies", "ucb(alpha=nan)"], "'alpha=nan' in policy 'ucb(alpha="),
        "open": (["setup", "--policies", "ucb("], "policy 'ucb(' cannot be read: ')' is missing"),
        "unfit": (["setup", "--policies", "ts-beta"], "ts-beta needs rewards between 0 and 1"),
        "no runs": (["setup", "--runs", "0"], "runs is 0; give a whole number of at least 1."),
        "negative runs": (["setup", "--runs", "-3"], "runs is -3; give a whole number of at"),
        "half a run": (["setup", "--runs", "1.5"], "'--runs': '1.5' is not a whole number, such"),
        "NaN runs": (["setup", "--runs", "nan"], "'--runs': 'nan' is not a whole number, such"),
        "many runs": (["setup", "--runs", "1e12"], "GB of memory, more than this machine has;"),
        "no rounds": (["setup", "--horizon", "0"], "horizon is 0; give a whole number of at"),
        "long horizon": (["setup", "--horizon", "1e13"], "more than this machine has;"),
        "no horizon": (["setup", "--horizon", "1e300"], "horizon is 1e+300, which is too large;"),
        "infinite horizon": (["setup", "--horizon", "inf"], "'inf' is not a whole number, such"),
        "seed": (["setup", "--seed", "-1"], "the seed is -1; give a whole number, 0 or more."),
        "no workers": (["setup", "--n-jobs", "0"], "n_jobs is 0; give a whole number from 1 to"),
        "workers": (["setup", "--n-jobs", "1e9"], "n_jobs is 1000000000; give a whole number"),
        "out is a file": (
            ["setup", "--out", "text.structure"],
            "nothing can be written to 'text.structure' (File exists); "
            "choose another folder with --out.",
        ),
        "out in a file": (
            ["setup", "--out", "text.structure/in"],
            "nothing can be written to 'text.structure/in' (Not a directory); choose another",
        ),
        "out is empty": (
            ["setup", "--out", ""],
            "'--out': the name of the folder is empty; give one such as results",
        ),
        "option": (
            ["setup", "--polices", "ucb"],
            f"--polices (Possible options: --policies) {HELP}",
        ),
        "no value": (["setup", "--runs"], "Option '--runs' requires an argument"),
    }


@pytest.mark.parametrize("case", problems())
def test_rubbish_is_one_sentence(call: Callable[..., Ended], rubbish: Path, case: str) -> None:
    arguments, says = problems()[case]
    before = sorted(rubbish.rglob("*"))
    ended = call("simulate", *arguments)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("error: ")
    assert says in line
    assert line.endswith((".", "?")) or "choose one of" in line
    assert len(line) < 1000
    assert sorted(rubbish.rglob("*")) == before


@pytest.mark.parametrize("name", ["simulat", "fly", ""])
def test_an_unknown_command_is_one_sentence(call: Callable[..., Ended], name: str) -> None:
    ended = call(name)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1
    assert ("Did you mean 'simulate'?" in ended.err) == (name == "simulat")


def test_a_failure_while_writing_leaves_nothing(
    call: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: sb.Results, path: Path) -> None:
        Path(path).write_text("half of it", encoding="utf-8")
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(sb.Results, "save", full)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "regret.csv").write_text("old", encoding="utf-8")
    options = ("--policies", "ucb", "--horizon", "50", "--runs", "2")
    for folder in (kept, tmp_path / "new" / "er"):
        ended = call("simulate", "setup", *options, "--out", str(folder))
        assert ended.code == 2
        # What was computed is not lost: the table is there, and says of no file that it is.
        assert "ucb has the least mean regret." in ended.out
        assert "Picture" not in ended.out
        reason = "No space left on device"
        assert ended.err.splitlines()[-1] == (
            f"error: nothing can be written to {str(folder)!r} ({reason}); "
            "choose another folder with --out."
        )
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert [path.name for path in kept.iterdir()] == ["regret.csv"]
    assert (kept / "regret.csv").read_text(encoding="utf-8") == "old"


def test_no_memory_is_one_sentence(
    call: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    from structuredbandits import simulation

    def too_much(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(simulation, "simulate", too_much)
    ended = call("simulate", "setup")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "error: there is not enough memory; give fewer --runs or a shorter --horizon.\n"
    )


def test_a_mistake_of_ours_is_not_hidden(
    call: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    from structuredbandits import simulation

    def mistaken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(simulation, "simulate", mistaken)
    with pytest.raises(ZeroDivisionError):
        call("simulate", "setup")


@pytest.mark.parametrize(
    "arguments",
    [["analyze", "setup"], ["reproduce", "figure-1"], ["sweep", "text.structure"]],
    ids=["analyze", "reproduce", "sweep"],
)
@pytest.mark.parametrize("name", ["", " "])
def test_a_folder_without_a_name_is_refused_everywhere(
    call: Callable[..., Ended], rubbish: Path, arguments: list[str], name: str
) -> None:
    before = sorted(rubbish.rglob("*"))
    ended = call(*arguments, "--out", name)
    assert (ended.code, ended.out) == (2, "")
    assert "'--out': the name of the folder is empty; give one" in ended.err
    assert sorted(rubbish.rglob("*")) == before
