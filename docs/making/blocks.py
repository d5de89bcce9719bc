"""Find the code blocks of a page, and insert their results.

Python blocks are run, with one state per page. Commands (`console`) are run in the folder of the
page if they have the option `run`, and only shown otherwise. Options after the language:

    picture="name.svg" alt="..."   show the picture that the block draws or writes
    show="result"                  hide the code
    show="markdown"                hide the code; its output is Markdown
    run="here"                     run these commands
    run="background"               a command that runs until the end of the page
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w+-]+)(?P<options>[^\n`]*)\n(?P<code>.*?)^(?P=indent)``` *$",
    flags=re.MULTILINE | re.DOTALL,
)
_OPTION = re.compile(r'(\w+)="([^"]*)"')
_OWN = {"picture", "alt", "show", "run"}


class Block(NamedTuple):
    """One fenced block."""

    language: str
    options: dict[str, str]
    code: str
    line: int
    """Line number of its first line of code in the page."""
    span: tuple[int, int]
    indent: str


class Result(NamedTuple):
    """The result of a block."""

    output: str
    picture: str | None
    """The path of its picture, relative to the top of the site."""


def blocks_of(markdown: str) -> list[Block]:
    """All fenced blocks of a page with a language.

    Examples
    --------
    >>> page = 'Text.\\n\\n```python picture="a.svg"\\nprint(1)\\n```\\n'
    >>> (block,) = blocks_of(page)
    >>> block.language, block.options, block.code, block.line
    ('python', {'picture': 'a.svg'}, 'print(1)\\n', 4)
    """
    return [
        Block(
            found["language"],
            dict(_OPTION.findall(found["options"])),
            textwrap.dedent(found["code"]),
            markdown.count("\n", 0, found.start("code")) + 1,
            found.span(),
            found["indent"],
        )
        for found in _FENCE.finditer(markdown)
    ]


def runnable(markdown: str) -> list[Block]:
    """The blocks to run."""
    return [
        block
        for block in blocks_of(markdown)
        if block.language == "python" or (block.language == "console" and "run" in block.options)
    ]


def weave(markdown: str, results: Sequence[Result], up: str) -> str:
    """The page with the output and the picture of each block after it.

    Parameters
    ----------
    markdown
        The page.
    results
        One result per runnable block, in order.
    up
        The path from the folder of the page to the top of the site: "" or "../".
    """
    pieces, end = [], 0
    for block, result in zip(runnable(markdown), results, strict=True):
        pieces += [markdown[end : block.span[0]], _shown(block, result, up)]
        end = block.span[1]
    return "".join([*pieces, markdown[end:]])


def _shown(block: Block, result: Result, up: str) -> str:
    show = block.options.get("show", "")
    if show == "markdown":
        return textwrap.indent(result.output, block.indent)
    parts = []
    if show != "result":
        own = {name: value for name, value in block.options.items() if name not in _OWN}
        options = "".join(f' {name}="{value}"' for name, value in own.items())
        parts.append(f"```{block.language}{options}\n{block.code}```")
    if result.output.strip():
        parts.append(f"``` {{ .text .output }}\n{result.output.rstrip()}\n```")
    if result.picture is not None:
        parts.append(f"![{block.options.get('alt', '')}]({up}{result.picture})")
    return textwrap.indent("\n\n".join(parts), block.indent)
