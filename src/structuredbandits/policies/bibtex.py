"""BibTeX entries of the papers behind the policies, read from their docstrings."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from structuredbandits.policies.registration import description_of, reference_of, registered

# Authors, a title in quotes, and what follows it; references are separated by semicolons.
_REFERENCE = re.compile(r'(?:^|; )(?P<authors>[^";]+), "(?P<title>[^"]+)", (?P<rest>[^;]+)')
# Where it was published: at a conference, in a journal, or as a book.
_CONFERENCE = re.compile(r"(?P<booktitle>[A-Z][A-Za-z]+) (?P<year>\d{4})\b")
_JOURNAL = re.compile(
    r"(?P<journal>[A-Z][A-Za-z ]+) (?P<volume>\d+)(?:\((?P<number>\d+)\))?, (?P<year>\d{4})\b"
)
_BOOK = re.compile(r"(?P<year>\d{4})\b")
_KINDS = (("article", _JOURNAL), ("inproceedings", _CONFERENCE), ("book", _BOOK))
_THIS_PAPER = "Gupta et al."
_SMALL_WORDS = {"a", "an", "the", "on", "of", "for", "in", "to", "and", "very"}


class Entry(NamedTuple):
    """One publication."""

    kind: str
    """"article", "inproceedings" or "book"."""
    fields: tuple[tuple[str, str], ...]
    """Author, title, year and what else the reference states."""

    @property
    def key(self) -> str:
        """The first author's family name, the year, and the first word of the title that matters.

        Examples
        --------
        >>> entries_of('T. Lattimore, R. Munos, "Bounded regret for bandits", NIPS 2014.')[0].key
        'lattimore2014bounded'
        """
        about = dict(self.fields)
        family = about["author"].split(" and ")[0].split(" ")[-1]
        words = [_ascii(word) for word in re.split(r"[ -]", about["title"])]
        first = next(word for word in words if word and word not in _SMALL_WORDS)
        return f"{_ascii(family)}{about['year']}{first}"

    def __str__(self) -> str:
        # A second pair of braces keeps the capitals of a title.
        lines = [
            f"  {name} = {{{{{value}}}}}" if name == "title" else f"  {name} = {{{value}}}"
            for name, value in self.fields
        ]
        return f"@{self.kind}{{{self.key},\n" + ",\n".join(lines) + "\n}"


def entries_of(reference: str) -> list[Entry]:
    """The publications that a reference names in full.

    Examples
    --------
    >>> print(entries_of('T. Lattimore, R. Munos, "Bounded regret for bandits", NIPS 2014.')[0])
    @inproceedings{lattimore2014bounded,
      author = {T. Lattimore and R. Munos},
      title = {{Bounded regret for bandits}},
      booktitle = {NIPS},
      year = {2014}
    }
    """
    found = []
    for match in _REFERENCE.finditer(reference):
        authors = match["authors"].replace(", ", " and ")
        for kind, pattern in _KINDS:
            place = pattern.match(match["rest"])
            if place is not None:
                where = tuple(item for item in place.groupdict().items() if item[1] is not None)
                found.append(Entry(kind, (("author", authors), ("title", match["title"]), *where)))
                break
    return found


def policy_entries() -> dict[Entry, list[str]]:
    """Every publication behind the registered policies, and the names of the policies.

    The suffixes of Algorithm-C are listed as ``-c``.

    Examples
    --------
    >>> [names for entry, names in policy_entries().items() if entry.key == "combes2017minimal"]
    [['ossb']]
    """
    from structuredbandits.policies.competitive import Competitive  # loads Numba

    (paper,) = entries_of(reference_of(Competitive))
    papers: dict[Entry, list[str]] = {paper: ["-c"]}
    for name, algorithm in registered().items():
        reference = description_of(algorithm).reference
        entries = entries_of(reference)
        if _THIS_PAPER in reference:
            entries.append(paper)
        for entry in entries:
            papers.setdefault(entry, []).append(name)
    return papers


def bibtex() -> str:
    """A BibTeX file of `policy_entries`; a comment above each entry names its policies."""
    entries = policy_entries().items()
    return "\n\n".join(f"% {', '.join(names)}\n{entry}" for entry, names in entries)


def _ascii(text: str) -> str:
    """Lower-case letters and digits of a word, without accents."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]", "", plain.lower())
