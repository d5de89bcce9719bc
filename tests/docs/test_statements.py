"""The page of statistical statements is the one that the recorded figures make."""

from benchmarks.statements import page
from benchmarks.statements.__main__ import PARTS


def test_the_page_has_the_recorded_figures() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), (
        "write it with python -m benchmarks.statements --record"
    )


def test_every_part_has_a_row_with_a_figure() -> None:
    rows = [line for line in page.text().splitlines() if line.startswith("| **")]
    assert len(rows) == len(PARTS) == len(page.PARTS)
    for part in PARTS:
        (row,) = [line for line in rows if f"--only {part}`" in line]
        assert "%" in row.split("|")[-2]
