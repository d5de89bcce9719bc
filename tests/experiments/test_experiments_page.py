"""The page of figures in the documentation shows every experiment, with small pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import structuredbandits as sb
from structuredbandits import experiments
from tests.built_in import built_in_names

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "experiments.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^`([a-z-]+)`\. (.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_every_experiment_is_there_and_none_that_is_gone() -> None:
    assert list(SECTIONS) == list(experiments.experiment_ids())


@pytest.mark.parametrize("name", experiments.experiment_ids())
def test_a_section_says_what_is_shown_and_has_its_pictures(name: str) -> None:
    section = SECTIONS[name]
    assert section.startswith(experiments.load_experiment(name).shows)
    pictures = re.findall(r"\]\((images/[^)]+\.png)\)", section)
    assert pictures
    for picture in pictures:
        assert (DOCS / picture).stat().st_size <= 150_000


def test_no_picture_is_left_over() -> None:
    shown = set(re.findall(r"\]\((images/[^)]+\.png)\)", PAGE))
    there = {f"images/experiments/{p.name}" for p in (DOCS / "images/experiments").glob("*.png")}
    assert there == shown


COMPARISON = (DOCS / "comparison.md").read_text(encoding="utf-8")


def test_the_comparison_has_every_embedded_problem() -> None:
    shown = dict.fromkeys(re.findall(r"^## (\S+), θ = ", COMPARISON, re.MULTILINE))
    assert list(shown) == list(sb.problem_names())


def test_the_comparison_has_every_policy_or_a_reason_why_not() -> None:
    """Informative steps are compared in the experiments."""
    wanted = {name for name in built_in_names() if not re.search(r"-c-[a-z]+$", name)}
    measured = set(re.findall(r"^\| ([a-z][a-z-]*) \| \d", COMPARISON, re.MULTILINE))
    refused = set(re.findall(r"^- `([a-z-]+)` on ", COMPARISON, re.MULTILINE))
    assert measured | refused == wanted
