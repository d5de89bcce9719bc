"""The log of a service: bounded, and one JSON object per line whatever happens."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys

import pytest

from structuredbandits.service import repeated_lines
from structuredbandits.service.repeated_lines import RepeatedLines
from structuredbandits.service.server import JsonFormatter

FAILING = """
import logging, threading, warnings
from structuredbandits.service.server import log_as_json
log_as_json()
warnings.warn("two\\nlines")
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
logging.getLogger("structuredbandits").error("odd %s", "\\u2028\\n", extra={"more": object()})
raise ValueError("a private subject")
"""


def test_a_flood_of_equal_warnings_is_counted_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RepeatedLines())
    log = logging.Logger("flood")
    log.addHandler(handler)
    for _ in range(1_000):
        log.warning("request", extra={"status": 503})
        log.info("request")
    log.warning("request", extra={"status": 500})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len([one for one in lines if one.get("status") == 503]) == 20
    assert len([one for one in lines if one["level"] == "info"]) == 1_000
    assert lines[-1]["status"] == 500
    monkeypatch.setattr(repeated_lines, "_WINDOW_SECONDS", 0.0)
    log.warning("request", extra={"status": 503})
    assert json.loads(stream.getvalue().splitlines()[-1])["left_out"] == 980


def test_warnings_threads_and_exceptions_are_json_lines() -> None:
    command = [sys.executable, "-c", FAILING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert len(lines) == 4
    assert lines[-1]["exception"] == "ValueError"
    assert "private" not in done.stderr
