"""MkDocs hooks: run the code of the pages, insert the results, check spelling and pictures.

Problems are logged as warnings, which `make docs` treats as errors.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# MkDocs loads this file by its path; the other modules are imported as a package.
sys.path.insert(0, str(ROOT))

from docs.making.blocks import Result, runnable, weave  # noqa: E402
from docs.making.result_cache import results_of  # noqa: E402
from docs.making.run_blocks import Failed  # noqa: E402

log = logging.getLogger("mkdocs.hooks.site")
_IMAGE = re.compile(r"!\[([^\]]*)\]\(")
WRITTEN = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "examples", "src")
_woven: dict[str, list[Result]] = {}


def on_pre_build(config: MkDocsConfig) -> None:
    """Check the spelling of all documents and sources."""
    for line in misspellings(ROOT, WRITTEN):
        log.warning("spelling: %s", line)


def misspellings(folder: Path, places: Sequence[str]) -> list[str]:
    """One line per likely misspelling, with the file, the line and a suggestion."""
    skipped = "--skip=*.js,*.css,*.csv,*.svg,*.png"
    names = "--ignore-words-list=mannor,vermillion,dependant"  # the last one is FastAPI's
    command = [sys.executable, "-m", "codespell_lib", skipped, names, *places]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    # 65 is the exit code if it found misspellings.
    return done.stdout.splitlines() if done.returncode in (0, 65) else [done.stderr.strip()]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Run the code of all pages and add their pictures to the site."""
    pages = {file.src_uri: file.content_string for file in files.documentation_pages()}
    try:
        results = results_of(pages)
    except Failed as error:
        raise PluginError(str(error)) from None
    _woven.clear()
    for name, done in results.items():
        _woven[name] = []
        for block, (output, picture) in zip(runnable(pages[name]), done, strict=True):
            place = None
            if picture is not None:
                place = f"made/{name.removesuffix('.md')}/{block.options['picture']}"
                files.append(File.generated(config, place, content=picture))
            _woven[name].append(Result(output, place))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the results of the code."""
    name = page.file.src_uri
    if name in _woven:
        markdown = weave(markdown, _woven[name], "../" * name.count("/"))
    # Without a prompt, the highlighter would take console commands for output.
    markdown = re.sub(r"^( *```)console\b", r"\1text", markdown, flags=re.MULTILINE)
    for words in _IMAGE.findall(markdown):
        if not words.strip():
            log.warning("%s: a picture has no alternative text.", name)
    return markdown
