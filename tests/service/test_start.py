"""A database that is away at the start: that is said, it is tried again, and given up in time."""

from __future__ import annotations

import logging
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from structuredbandits.errors import FileError, WrongVersion
from structuredbandits.service import server
from structuredbandits.service.storage.migrate import newest_version

COMMAND = [sys.executable, "-c", "from structuredbandits.cli import main; main()"]


def nobody() -> str:
    """The address of a PostgreSQL that is not there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return f"postgresql://ana:secret@127.0.0.1:{port}/bandits"


def test_it_is_tried_again_for_a_bounded_time_and_then_said_in_a_sentence() -> None:
    command = [*COMMAND, "serve", "--db", nobody(), "--start-seconds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert any("the database does not answer yet; trying again" in line for line in lines)
    assert re.search(r"the database postgresql\S+ cannot be used", lines[-1] + lines[-2])
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


def test_it_goes_on_as_soon_as_the_database_is_there(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url, real, calls = nobody(), server.migrate, []

    def back_at_the_third(given: object) -> str:
        calls.append(given)
        return newest_version() if len(calls) == 3 else real(given)  # type: ignore[arg-type]

    monkeypatch.setattr(server, "migrate", back_at_the_third)
    monkeypatch.setattr(server, "log_as_json", lambda: None)
    with caplog.at_level(logging.WARNING):
        server.wait_for_database(url, 60.0)
    assert len(calls) == 3
    assert len(caplog.records) == 2
    assert "secret" not in caplog.text


def test_what_waiting_does_not_mend_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "log_as_json", lambda: None)
    rubbish = tmp_path / "no.db"
    rubbish.write_bytes(b"this is no database" * 100)
    with pytest.raises(FileError, match="cannot be used"):
        server.wait_for_database(str(rubbish), 3600.0)

    def newer(_url: object) -> str:
        raise WrongVersion("the database is newer.")

    monkeypatch.setattr(server, "migrate", newer)
    with pytest.raises(WrongVersion):
        server.wait_for_database(nobody(), 3600.0)
    # The start is logged; a warning would announce another attempt.
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
