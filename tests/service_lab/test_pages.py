"""The pages' files: what is sent, with which headers, and that nothing comes from elsewhere."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from structuredbandits.plots import style
from structuredbandits.service.web.pages import FOLDER, add_pages, read_files

PAGES = sorted(FOLDER.glob("*.html"))
FILES = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
SCRIPTS = sorted(path for path in FOLDER.rglob("*.js") if "vendor" not in path.parts)


def get(path: str, **options: Any) -> httpx.Response:
    app = FastAPI()
    add_pages(app)

    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
            return await client.get(path, **options)

    return asyncio.run(asked())


@pytest.mark.parametrize("path", ["/", "/lab"])
def test_a_browser_keeps_a_page_that_has_not_changed(path: str) -> None:
    tag = get(path).headers["ETag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        assert get(path, headers={"If-None-Match": known}).status_code == 304
    assert get(path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/lab"])
def test_pages_have_a_strict_policy(path: str) -> None:
    answer = get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_a_browser_keeps_what_has_not_changed() -> None:
    first = get("/static/site.css")
    again = get("/static/site.css", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.content == b""
    assert first.headers["Cache-Control"] == again.headers["Cache-Control"] == "no-cache"
    assert "default-src 'none'" in first.headers["Content-Security-Policy"]


def test_the_tag_of_a_file_follows_its_content_and_not_its_time(tmp_path: Path) -> None:
    def tag(content: str) -> str:
        (tmp_path / "site.css").write_text(content)
        return read_files(tmp_path)["site.css"].etag

    assert tag("a {}") == tag("a {}") != tag("b {}")


def test_files_are_sent_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def app() -> FastAPI:
        made = FastAPI()
        add_pages(made)
        return made

    first = app()

    def no_disk(*_given: object, **_options: object) -> None:
        raise AssertionError("a file was read")

    for name in ("open", "read_bytes", "stat"):
        monkeypatch.setattr(Path, name, no_disk)
    monkeypatch.setattr("builtins.open", no_disk)

    async def asked() -> list[int]:
        transport = httpx.ASGITransport(app=first)
        async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
            paths = ("/", "/lab", "/static/site.css", "/static/vendor/uplot/uPlot.esm.js")
            return [(await client.get(path)).status_code for path in paths]

    assert asyncio.run(asked()) == [200] * 4


def test_large_files_are_compressed_for_a_browser_that_can_read_them() -> None:
    path = "/static/vendor/uplot/uPlot.esm.js"
    plain = get(path, headers={"Accept-Encoding": "identity"})
    small = get(path, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert small.headers["Content-Encoding"] == "gzip"
    assert small.content == plain.content


@pytest.mark.parametrize("name", ["../pages.py", "..%2fpages.py", "/etc/passwd", "no.js"])
def test_no_other_file_can_be_reached(name: str) -> None:
    answer = get(f"/static/{name}")
    assert answer.status_code == 404
    assert "import" not in answer.text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_uses_only_files_that_are_here(page: Any) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r'(?:src|href)="/static/([^"]+)"', text):
        assert name in FILES
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    assert "style=" not in text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"\son[a-z]+=", text)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_imports_only_files_that_are_here_and_makes_no_markup(script: Any) -> None:
    text = script.read_text(encoding="utf-8")
    for name in re.findall(r'from "([^"]+)"', text):
        assert name.removeprefix("/static/") in FILES
    assert "innerHTML" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert len(text.splitlines()) < 400


def test_the_chart_library_comes_with_its_licence() -> None:
    assert "Permission is hereby granted" in (FOLDER / "vendor/uplot/LICENSE").read_text()


def test_drawn_arms_have_the_colours_of_the_figures() -> None:
    text = (FOLDER / "lab/editor.js").read_text()
    found = re.search(r"const COLOURS = \[(.*?)\];", text)
    assert found
    assert re.findall(r'"(#\w+)"', found[1]) == list(style.PALETTE)
