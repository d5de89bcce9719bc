"""Code in the documentation is run or at least parsed, and its output is inserted."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from docs.making.blocks import Block, Result, blocks_of, runnable, weave
from docs.making.run_blocks import Failed, run_story
from structuredbandits.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
LANGUAGES = {"python", "py", "console", "sh", "text", "toml", "json", "ts"}
TYPESCRIPT = ROOT / "clients" / "typescript" / "src"

PAGE = """
```python
n = 2
print(n)
```

```console run="here"
echo written > file.txt
cat file.txt
```

```python picture="line.svg" alt="A line"
from pathlib import Path
from matplotlib import pyplot as plt
plt.plot([1, n])
print(Path("file.txt").read_text().strip())
```

```console
structuredbandits problems
```
"""


def test_blocks_share_a_state_and_a_folder() -> None:
    done = run_story({"page.md": runnable(PAGE)})["page.md"]
    assert [block.output for block in done] == ["2", "written", "written"]
    assert done[2].picture is not None
    assert b"<svg" in done[2].picture


def test_results_stand_after_their_blocks() -> None:
    results = [Result("2", None), Result("written", None), Result("", "made/line.svg")]
    woven = weave(PAGE, results, "../")
    assert "print(n)\n```\n\n``` { .text .output }\n2\n```" in woven
    assert "![A line](../made/line.svg)" in woven
    assert "run=" not in woven
    assert woven.endswith("structuredbandits problems\n```\n")


def test_hidden_code_leaves_its_result() -> None:
    page = '```python show="markdown"\nprint("| a |")\n```\n'
    assert weave(page, [Result("| a |", None)], "") == "| a |\n"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import warnings\nwarnings.warn('old')", "UserWarning: old"),
    ],
)
def test_a_failing_block_says_where(code: str, reason: str) -> None:
    with pytest.raises(Failed, match=rf"page.md, line 5(.|\n)*{reason}"):
        run_story({"page.md": runnable(f"Text.\n\nMore.\n```python\n{code}\n```\n")})


def test_a_failing_command_says_what_it_said() -> None:
    page = '```console run="here"\nstructuredbandits simulate nothing\n```\n'
    with pytest.raises(Failed, match=r"there is no|neither a file"):
        run_story({"page.md": runnable(page)})


def commands_in(page: Path) -> list[list[str]]:
    """The lines of this library's command that a page shows without running them."""
    found = []
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.language in ("console", "sh") and "run" not in block.options:
            code = re.sub(r"\\\n\s*", " ", block.code)
            lines = [shlex.split(line, comments=True) for line in code.splitlines()]
            found += [words[1:] for words in lines if words[:1] == ["structuredbandits"]]
    return found


def understand(arguments: list[str]) -> None:
    """Read a command line as the command would, without doing it."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands") and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        command = command.commands[name]
    if not hasattr(command, "commands"):
        command.make_context(command.name, arguments)


@pytest.mark.parametrize("page", PAGES, ids=[p.relative_to(ROOT).as_posix() for p in PAGES])
def test_a_page_shows_only_what_is_checked(page: Path) -> None:
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    assert {block.language for block in blocks} <= LANGUAGES
    for arguments in commands_in(page):
        if not {"--help", "--version"} & set(arguments):
            understand(arguments)
    for block in blocks:
        if block.language == "py":  # it needs what the page only describes
            check_imports(block)
        if block.language == "ts":
            check_typescript(block)


def check_typescript(block: Block) -> None:
    """Every name that is imported from our package is exported by it."""
    found = re.findall(r'import \{ ([^}]+) \} from "structuredbandits(?:/(\w+))?"', block.code)
    assert found
    for names, module in found:
        source = (TYPESCRIPT / f"{module or 'index'}.ts").read_text(encoding="utf-8")
        for name in names.split(","):
            assert re.search(rf"^export .*\b{name.strip()}\b", source, re.MULTILINE), name


def check_imports(block: Block) -> None:
    compile(block.code, "page", "exec")
    for line in block.code.splitlines():
        if re.match(r"(from|import) ", line):
            exec(line, {})


def test_a_command_that_is_not_understood_is_found() -> None:
    with pytest.raises(typer.BadParameter.__mro__[1]):
        understand(["simulate", "three-arms", "--no-such-option"])
    with pytest.raises(KeyError):
        understand(["no-such-command"])
