"""The text of the project is plain technical English: standard words and standard grammar.

Each pattern stands for a habit of style that made the text hard to read, with the words to use
in its place. The patterns are narrow: they may overlook a sentence, but a match is rarely good
English. What is still right goes into `ALLOWED`, with the reason.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
WRITTEN = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Makefile",
    "mkdocs.yml",
    "pyproject.toml",
    "src",
    "docs",
    "examples",
    "benchmarks",
    "deploy",
    "tests",
    "tools",
    "clients/typescript/README.md",
    "clients/typescript/src",
    "clients/typescript/test",
)
TEXT = {
    *(".py", ".pyi", ".js", ".mjs", ".ts", ".css", ".html", ".ipynb", ".md", ".txt", ""),
    *(".toml", ".yml", ".yaml"),
}
LEFT_OUT = {
    "tests/frame/test_plain_english.py",  # the patterns themselves
}

# What is counted, as in "ns a round"; words that are also verbs count after a number only.
COUNTED = (
    r"(?:ns|µs|ms|nanoseconds?|microseconds?|milliseconds?|seconds?|minutes?|bytes?|kB|MB|GB|TB|"
    r"once|nothing|rows?|lines?|files?|folders?|columns?|numbers?|floats?|rounds?|"
    r"transactions?|decisions?|rewards?|requests?|commits?|comparisons?|entries|panels?|tiles?)"
)
UNIT = (
    r"(?:round|arm|θ|theta|row|line|command|commit|policy|task|run|cell|request|decision|second|"
    r"minute|hour|day|week|month|subject|visitor|pull|reward|step|call|core|process|worker|"
    r"experiment|structure|group|segment|file|folder|batch|transaction|table|column|problem|panel|"
    r"key|page|test|piece|block|client|connection|thread|user|update|version|replica|side|kind|"
    r"genre|configuration)"
)
DISTRIBUTED = rf"(?-i:an?) {UNIT}\b(?!['’-]| time)"


class Habit(NamedTuple):
    """A pattern that is not plain English, and what to write."""

    name: str
    pattern: re.Pattern[str]
    remedy: str


def _habit(name: str, pattern: str, remedy: str) -> Habit:
    return Habit(name, re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), remedy)


HABITS = [
    _habit("distributive a", rf"(?<![-/'])\b{COUNTED} {DISTRIBUTED}", "per"),
    _habit(
        "distributive a",
        r"\b(?:one|two|three|four|\d+) "
        r"(?!in\b|to\b|of\b|at\b|on\b|for\b|from\b|with\b|without\b|is\b|as\b)"
        rf"\w+ {DISTRIBUTED}",
        "per",
    ),
    _habit("distributive a", rf"(?:^|[.:;,] )an? (?:dot|curve|panel|bar) {DISTRIBUTED}", "per"),
    _habit(
        "is no",
        r"(?<!here\s)\b(?:is|are|was|were|be) no "
        r"(?!longer\b|more\b|larger\b|smaller\b|less\b|fewer\b|better\b|worse\b|other\b|"
        r"one\b|need\b|matter\b|different\b|later\b|earlier\b|slower\b|faster\b|older\b)\w+",
        "is not a",
    ),
    _habit("anew", r"\b(?:anew|afresh)\b", "again, or re- before the verb"),
    _habit("beforehand", r"\bbeforehand\b", "in advance, or before it"),
    _habit("an URL", r"\ban (?:URLs?|unique|uniform|user)\b", "a URL"),
    _habit("expected", r"\b(?:nobody|no one) expect\w*", "unexpected, or damaged"),
    _habit("for ever", r"\bfor ever\b", "forever"),
    _habit("reckon", r"\breckon\w*\b", "compute, estimate or consider"),
    _habit("so many", r"\bso many\b", "this many, or the number"),
    _habit("must not know", r"\bmust (?:not|never) know\b", "say what the module does"),
    _habit("told", r"\btold\b", "given, reported or recorded"),
    _habit("luck", r"\b(?:luck|lucky|unlucky)\b", "random numbers or rewards"),
    _habit("mend", r"\bmend(?:ed|s|ing)?\b", "fix or repair"),
    _habit("room", r"(?<!no\s)\brooms?\b(?! for\b| left\b| to\b)", "package or module"),
    _habit("foretell", r"\bforet(?:ell|old)\w*\b", "predict"),
    _habit("worth", r"\bworth of\b|\bwould tell as much\b", "effective sample size, or the amount"),
    _habit("for good", r"\bfor good\b", "permanently, or in production"),
]

# (file, matched words): why the words are right there.
ALLOWED: dict[tuple[str, str], str] = {}


class Found(NamedTuple):
    """A match: where it stands and what it says."""

    path: str
    line: int
    habit: Habit
    words: str


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The text of a file that people read, as pieces with the line where each begins."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".py", ".pyi"}:
        yield from _python_text(text)
    elif path.suffix == ".ipynb":
        for cell in json.loads(text)["cells"]:
            yield 1, "".join(cell["source"])
    else:
        yield 1, text


def _python_text(text: str) -> Iterator[tuple[int, str]]:
    """Comments, with consecutive lines joined, and strings, with neighbours joined."""
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.string.lstrip("#: ")))
    begin, joined = 0, ""
    last = -1
    for line, words in comments:
        if line == last + 1:
            joined += "\n" + words
        else:
            if joined:
                yield begin, joined
            begin, joined = line, words
        last = line
    if joined:
        yield begin, joined
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
            yield node.lineno, "".join(map(str, parts))


def files(places: tuple[str, ...] = WRITTEN) -> Iterator[Path]:
    for place in places:
        top = ROOT / place
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and path.suffix in TEXT and "__pycache__" not in path.parts:
                name = path.relative_to(ROOT).as_posix()
                if name not in LEFT_OUT and "/records/" not in name:
                    yield path


def found(path: Path) -> Iterator[Found]:
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    seen = set()
    for begin, text in sentences(path):
        for habit in HABITS:
            for match in habit.pattern.finditer(text):
                words = " ".join(match[0].split())
                line = begin + text.count("\n", 0, match.start())
                if (line, habit.name) not in seen and (name, words) not in ALLOWED:
                    seen.add((line, habit.name))
                    yield Found(name, line, habit, words)


@pytest.mark.parametrize("place", WRITTEN)
def test_the_text_is_plain_english(place: str) -> None:
    wrong = [
        f"{one.path}:{one.line}: {one.words!r}: write {one.habit.remedy}"
        for path in files((place,))
        for one in found(path)
    ]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "It takes 25 ns a round.",
        "One file a command.",
        "The table has a row a θ.",
        "One random number\na round is enough.",
        "'x' is no structure; give one.",
        "Rewards that are no numbers.",
        "It is computed anew.",
        "Every θ is compared afresh.",
        "The q is known beforehand.",
        "A path or an URL.",
        "A row that nobody expected.",
        "It explores for ever.",
        "Too large to reckon with.",
        "After so many rewards.",
        "It must not know policies.",
        "A reward counts once however often it is told.",
        "All policies meet the same luck.",
        "A mended file.",
        "A room imports only from the rooms before it.",
        "A small panel an arm.",
        "How many decisions of its own would tell as much.",
    ],
)
def test_a_pattern_finds_its_example(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert len(list(found(page))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "It takes 25 ns per round.",
        "One file per command.",
        "`pull` draws an arm, and `update` records a reward.",
        "There is no structure in this file.",
        "The value is no longer used, and is no larger than 1.",
        "There is no room for more rows.",
        "Give the file a name.",
    ],
)
def test_a_plain_sentence_passes(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert list(found(page)) == []


def test_comments_and_strings_of_code_are_read(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        '"""Docstring: computed\nanew."""\n\n# One row a\n# round.\nroom = f"{1} is no number"\n',
        encoding="utf-8",
    )
    assert [(one.line, one.habit.name) for one in found(module)] == [
        (4, "distributive a"),
        (2, "anew"),
        (6, "is no"),
    ]


def test_every_exception_is_still_needed() -> None:
    for name, words in ALLOWED:
        texts = [text for _, text in sentences(ROOT / name)]
        assert any(words in " ".join(text.split()) for text in texts), (name, words)
