"""`structuredbandits lift` prints what the library estimates, and writes one page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run
from tests.holdout.test_lift import shown, two_groups


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    two_groups().to_csv(path, index=False)
    return path


def test_a_table_and_a_sentence(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lift", str(log), "--name", "stars", "--share", "0.3"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    found = sb.lift(log, name="stars")
    assert str(found) in text
    assert f"{found.per_decision.difference:+.4g}" in text
    assert "480 decisions of 120 subjects" in text
    assert "planned were 30.0 %: fits." in text
    assert re.search(r"clear since \d+ (January|February|March) 2026", text)


def test_json(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lift", str(log), "--json", "--level", "0.9"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = sb.lift(log, level=0.9)
    assert answer["per_decision"]["low"] == found.per_decision.low
    assert answer["per_decision"]["clear"] is True
    assert answer["sample_ratio"]["fits"] is None
    assert answer["sentence"] == str(found)


def test_one_page_that_needs_nothing_else(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "pages" / "lift.html"
    options = ["--share", "0.05", "--name", "<stars>", "--out", str(out)]
    assert run(["lift", str(log), *options]) == 0
    assert f"Page: {out}" in capsys.readouterr().out.replace("\n", "")
    page = out.read_text(encoding="utf-8")
    assert page.count("&lt;stars&gt;") >= 4
    assert "<stars>" not in page
    assert "does not fit" in page
    assert "<polyline" in page
    assert "@media print" in page
    assert not re.search(r'(src|href)="', page)


def test_a_page_with_little_data_and_one_with_the_baseline(tmp_path: Path) -> None:
    from structuredbandits.report import lift_page

    assert "too little data for a chart" in lift_page(sb.lift(two_groups(subjects=12)))
    page = lift_page(sb.lift(shown(400, seed=1), baseline="always old"))
    assert "weighted by their probabilities" in page
    assert "decisions</text>" in page


def test_a_page_that_cannot_be_written_is_one_sentence(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    code = run(["lift", str(log), "--out", str(tmp_path / "file" / "lift.html"), "--quiet"])
    assert code == 2
    assert "choose another folder" in capsys.readouterr().err
