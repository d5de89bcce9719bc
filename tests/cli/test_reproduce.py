"""`structuredbandits reproduce`: lists, options, errors, and work that is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from structuredbandits import experiments

Start = Callable[..., "subprocess.Popen[str]"]
#: How long a busy machine may take, which compiles first; nobody waits so long on an idle one.
PATIENCE_SECONDS = 900


def test_without_an_id_all_are_listed(call) -> None:
    ended = call("reproduce")
    assert ended.code == 0
    listed = [line.split()[0] for line in ended.out.splitlines()]
    assert listed == [*experiments.experiment_ids(), *experiments.experiments_with_data()]


def test_one_figure_with_its_claims_and_the_page(call, tmp_path: Path) -> None:
    ended = call("reproduce", "corner", "--out", str(tmp_path / "figures"))
    assert ended.code == 0
    assert "corner: held: C(3) = 2" in ended.out
    assert "1 of 1 claims of the paper held." in ended.out
    assert (tmp_path / "figures" / "report.html").exists()
    assert (tmp_path / "figures" / "corner" / "regions.png").exists()
    about = json.loads(
        (tmp_path / "figures" / "corner" / "outcome.json").read_text(encoding="utf-8")
    )
    assert about["claims"][0]["held"] is True


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_vector_pictures_on_request(call, tmp_path: Path, ending: str) -> None:
    out = str(tmp_path)
    assert call("reproduce", "setup", "--format", ending, "--out", out, "--quiet").code == 0
    begins = {"svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert (tmp_path / "setup" / f"functions.{ending}").read_bytes().startswith(begins)


def test_the_number_of_runs_is_taken_and_said(call, tmp_path: Path) -> None:
    ended = call("reproduce", "bernoulli", "--runs", "3", "--out", str(tmp_path), "--quiet")
    assert (ended.code, ended.out) == (0, "")
    assert (
        json.loads((tmp_path / "bernoulli" / "outcome.json").read_text(encoding="utf-8"))["runs"]
        == 3
    )
    assert "reproduce bernoulli --seed 0 --runs 3" in (tmp_path / "report.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tree-arms"], "three-arms"),
        (["corner", "--runs", "0"], "runs is 0"),
        (["corner", "--runs", "many"], "'many'"),
        (["corner", "--format", "gif"], "png, svg, pdf"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    call, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    ended = call("reproduce", *arguments, "--out", str(tmp_path / "figures"))
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert "Traceback" not in ended.err
    assert not (tmp_path / "figures").exists()


def test_a_place_that_cannot_be_written_is_named(call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = call("reproduce", "corner", "--out", str(tmp_path / "file"))
    assert ended.code == 2
    assert "choose another folder" in ended.err


def test_a_machine_that_knows_only_ascii_gets_the_same_files(start: Start, tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    process = start("reproduce", "corner", "--out", "figures", "--quiet", env=os.environ | plain)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (0, "")
    written = (tmp_path / "figures" / "corner" / "outcome.json").read_text(encoding="utf-8")
    assert not written.isascii()


def test_after_an_interrupt_the_same_command_goes_on(start: Start, tmp_path: Path) -> None:
    """The first figure is done, the second is under way and would take minutes."""
    work = ("reproduce", "corner", "bernoulli", "--out", "figures")
    process = start(*work, "--runs", "20000")
    done = tmp_path / "figures" / "corner" / "outcome.json"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not done.exists():
        assert time.monotonic() < deadline, "the first figure was never done"
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted"
    assert not (tmp_path / "figures" / "bernoulli").exists()
    assert not (tmp_path / "figures" / "report.html").exists()
    before = done.stat().st_mtime_ns
    again = start(*work, "--runs", "2")
    out, _ = again.communicate(timeout=PATIENCE_SECONDS)
    assert again.returncode == 0
    # Nothing is simulated in the first figure, so the number of runs does not matter to it.
    assert done.stat().st_mtime_ns == before
    assert "bernoulli: " in out
    assert (tmp_path / "figures" / "report.html").exists()
