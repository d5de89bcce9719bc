"""The site builds as with `make docs`: strictly, and without external resources."""

import os
import re
import subprocess
import sys
from pathlib import Path

import structuredbandits as sb
from docs.making.result_cache import STORY
from docs.making.site import misspellings
from tests.built_in import built_in_names

ROOT = Path(__file__).parents[2]
STRICT = "-m mkdocs build --quiet --strict"


def build(site: Path) -> None:
    """Build the site as `make docs` does, into another folder."""
    assert STRICT in (ROOT / "Makefile").read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *STRICT.split(), "--site-dir", str(site)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pages_of(site: Path) -> dict[str, str]:
    return {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in site.rglob("*.html")
    }


def check_that_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, str]) -> None:
    for name, text in pages.items():
        loaded = re.findall(r'(?:\bsrc|<link[^>]*\bhref)="?((?:https?:)?//[^" >]+)', text)
        assert loaded == [], name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", sheet.read_text("utf-8"))


def check_pictures(site: Path, pages: dict[str, str]) -> None:
    """Every picture exists and has a text alternative."""
    for name, text in pages.items():
        for tag in re.findall(r"<img [^>]+>", text):
            source = re.search(r'src="?([^" >]+)', tag)
            assert source is not None
            assert (site / name).parent.joinpath(source[1]).resolve().exists(), (name, tag)
            assert re.search(r'alt="[^"]{10,}"', tag), (name, tag)


def check_the_tutorial(pages: dict[str, str]) -> None:
    """Each step has code, its output and a picture."""
    for name in STORY:
        text = pages[name.replace(".md", ".html")]
        assert 'class="output' in text or "output highlight" in text or " output" in text, name
        assert "made/tutorial/" in text, name


def check_the_reference(pages: dict[str, str]) -> None:
    reference = "".join(text for name, text in pages.items() if name.startswith("reference/"))
    modules = {"__version__", "experiments", "testing"}
    missing = [
        name
        for name in sb.__all__
        if name not in modules
        and f'id="structuredbandits.{name}"' not in reference
        and f'id="structuredbandits.errors.{name}"' not in reference
    ]
    assert missing == []
    for name in built_in_names():
        if sb.make_algorithm(name).name == name:
            assert f"<code>{name}" in pages["reference/policy-table.html"], name
    for name in sb.problem_names():
        assert f"<code>{name}</code>" in pages["reference/problem-table.html"], name
    for command in ("simulate", "serve", "keys-create"):
        assert f'id="{command}"' in pages["reference/commands.html"], command


def test_make_docs_builds_the_site(tmp_path: Path) -> None:
    build(tmp_path)
    pages = pages_of(tmp_path)
    assert len(pages) > 30
    check_that_nothing_is_loaded_from_elsewhere(tmp_path, pages)
    check_pictures(tmp_path, pages)
    check_the_tutorial(pages)
    check_the_reference(pages)
    assert (tmp_path / "search" / "search_index.js").exists()


def test_a_misspelt_word_is_found(tmp_path: Path) -> None:
    wrong = "recie" + "ve"
    (tmp_path / "page.md").write_text(f"To {wrong} a reward.\n", encoding="utf-8")
    (line,) = misspellings(tmp_path, ["page.md"])
    assert "page.md:1" in line
    assert "receive" in line
    (tmp_path / "page.md").write_text("To get a reward.\n", encoding="utf-8")
    assert misspellings(tmp_path, ["page.md"]) == []
