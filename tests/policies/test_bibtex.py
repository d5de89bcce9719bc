"""BibTeX entries of all policies, read from the references in their docstrings."""

from __future__ import annotations

import re

import pytest

from structuredbandits.policies.bibtex import entries_of, policy_entries
from structuredbandits.policies.registration import description_of, registered

BUILT_IN = registered(built_in=True)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_policy_has_an_entry(name: str) -> None:
    assert any(name in names for names in policy_entries().values())


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_title_of_a_reference_becomes_an_entry(name: str) -> None:
    reference = description_of(BUILT_IN[name]).reference
    titles = [dict(entry.fields)["title"] for entry in entries_of(reference)]
    assert titles == re.findall(r'"([^"]+)"', reference)


def test_entries_are_complete_and_their_keys_differ() -> None:
    entries = list(policy_entries())
    assert len({entry.key for entry in entries}) == len(entries) > 25
    for entry in entries:
        about = dict(entry.fields)
        assert all(about.values())
        assert 1930 < int(about["year"]) < 2030
        place = {"article": "journal", "inproceedings": "booktitle", "book": "year"}[entry.kind]
        assert place in about
        assert re.fullmatch(r"[a-z]+\d{4}[a-z0-9]+", entry.key)


def test_a_journal_a_conference_and_a_book() -> None:
    text = (
        'A. First, B. C. Second, "On the Time of T", JMLR 16(2), 2015, with a remark; D. Third, '
        '"Bandits", 2020, chapter 9; E. Fourth et al. 2002 without a title.'
    )
    article, book = entries_of(text)
    assert str(article) == (
        "@article{first2015time,\n  author = {A. First and B. C. Second},\n"
        "  title = {{On the Time of T}},\n  journal = {JMLR},\n  volume = {16},\n"
        "  number = {2},\n  year = {2015}\n}"
    )
    assert (book.kind, book.key) == ("book", "third2020bandits")


def test_the_paper_of_algorithm_c_is_that_of_the_suffix() -> None:
    (names,) = [names for entry, names in policy_entries().items() if "-c" in names]
    assert {"-c", "ucb", "ts", "hierarchical-c"} <= set(names)
