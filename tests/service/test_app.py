"""The app is complete: nothing of it is left out because something failed to import."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from structuredbandits.service.api import create_app
from structuredbandits.service.settings import ServiceSettings


@pytest.mark.parametrize("module", ["lab_runs", "lab_structures"])
def test_an_import_error_inside_the_lab_is_not_hidden(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = "structuredbandits.service.lab"
    importlib.import_module(f"{package}.router")
    monkeypatch.delitem(sys.modules, f"{package}.router", raising=False)
    monkeypatch.delattr(sys.modules[package], module, raising=False)
    monkeypatch.setitem(sys.modules, f"{package}.{module}", None)
    with pytest.raises(ImportError, match=module):
        create_app(ServiceSettings(database=str(tmp_path / "service.db"), insecure=True))
