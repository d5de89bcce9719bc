"""The app is complete: nothing of it is left out because something failed to import."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from fastapi import FastAPI

from structuredbandits.service.api import create_app, docs_page
from structuredbandits.service.settings import ServiceSettings
from tests.service.conftest import Api


@pytest.mark.parametrize("module", ["lab_runs", "lab_structures"])
def test_an_import_error_inside_the_lab_is_not_hidden(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = "structuredbandits.service.lab"
    importlib.import_module(f"{package}.router")
    for importing in ("router", "lab_work"):
        monkeypatch.delitem(sys.modules, f"{package}.{importing}", raising=False)
        monkeypatch.delattr(sys.modules[package], importing, raising=False)
    monkeypatch.delattr(sys.modules[package], module, raising=False)
    monkeypatch.setitem(sys.modules, f"{package}.{module}", None)
    with pytest.raises(ImportError, match=module):
        create_app(ServiceSettings(database=str(tmp_path / "service.db"), insecure=True))


@pytest.mark.parametrize("path", ["/docs", "/docs/reference.css", "/openapi.json"])
def test_documents_are_made_once_and_sent_from_memory(
    path: str, lite: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lite.client.get(path)

    def again(*_given: object) -> None:
        raise AssertionError("it was made again")

    monkeypatch.setattr(docs_page, "page", again)
    monkeypatch.setattr(FastAPI, "openapi", again)
    monkeypatch.setattr(Path, "read_bytes", again)
    assert lite.client.get(path).content == first.content
    known = lite.client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (known.status_code, known.content) == (304, b"")
