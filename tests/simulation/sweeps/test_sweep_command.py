"""`structuredbandits sweep`: the same from the command line, and how it ends."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.simulation.sweeps._worker import Outline, do_piece
from structuredbandits.simulation.sweeps.plan import Piece

SETTINGS = """\
problem = "two-arms"
theta = [2.0, 4.0]
policies = ["ucb", "ucb-c"]
horizon = 50
runs = 4
"""


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(SETTINGS, encoding="utf-8")
    return path


def test_a_table_and_where_it_is(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", str(settings), "--n-jobs", "1"]) == 0
    shown = capsys.readouterr()
    assert "4 configurations, 16 runs, 800 rounds in 4 pieces" in shown.err
    assert "ucb-c" in shown.out
    assert str(settings.with_suffix("")) in shown.out.replace("\n", "")
    assert sb.load_sweep(settings.with_suffix("")).complete


def test_json_is_the_summary(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = settings.parent / "out"
    assert run(["sweep", str(settings), "--out", str(out), "--n-jobs", "1", "--json", "-q"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    data = json.loads(shown.out)
    assert data["complete"] is True
    assert data["failed"] == {}
    table = sb.load_sweep(out).summary()
    assert [row["regret"] for row in data["cells"]] == table["regret"].tolist()


def test_check_runs_nothing(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", str(settings), "--check", "--until", "5%", "--max-runs", "20"]) == 0
    assert "then more runs until 5.00% or 20 runs per configuration" in capsys.readouterr().err
    assert not settings.with_suffix("").exists()


@pytest.mark.parametrize(
    ("old", "new", "options", "complaint"),
    [
        ("runs = 4", "runs = 0", [], "grid.toml, line 5: runs is 0"),
        ("", "", ["--engine", "slurm"], "there is no engine 'slurm'"),
        ("", "", ["--until", "2"], "until is '2'"),
    ],
)
def test_mistakes_are_one_sentence(
    old: str,
    new: str,
    options: list[str],
    complaint: str,
    settings: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings.write_text(SETTINGS.replace(old, new) if old else SETTINGS, encoding="utf-8")
    assert run(["sweep", str(settings), "--quiet", *options]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert complaint in told
    assert told.count("\n") == 1


def test_failed_pieces_are_named_and_the_code_is_one(
    settings: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # By its full name: the package offers the function `sweep` under the name of this module.
    home = sys.modules["structuredbandits.simulation.sweeps._sweep"]

    def unlucky(piece: Piece, folder: Path) -> Outline:
        if "_ucb-c_4.0" in piece.name:
            return Outline(piece.name, piece.rounds, "OSError: no space left")
        return do_piece(piece, folder)

    monkeypatch.setattr(home, "do_piece", unlucky)
    assert run(["sweep", str(settings), "--n-jobs", "1"]) == 1
    told = capsys.readouterr().err
    assert "failed: ucb-c on two-arms at θ = 4.0" in told
    assert (
        "1 pieces failed and the rest is complete; run the same command again to retry them."
        in told
    )
    monkeypatch.undo()
    assert run(["sweep", str(settings), "--n-jobs", "1", "--quiet"]) == 0
