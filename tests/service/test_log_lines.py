"""The log of a service: bounded, and one JSON object per line whatever happens."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys

import pytest

from structuredbandits.service import json_log
from structuredbandits.service.json_log import JsonFormatter, RepeatedLines

FAILING = """
import logging, threading, warnings
from structuredbandits.service.json_log import log_as_json
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
    monkeypatch.setattr(json_log, "_WINDOW_SECONDS", 0.0)
    log.warning("request", extra={"status": 503})
    assert json.loads(stream.getvalue().splitlines()[-1])["left_out"] == 980


def test_a_flood_stays_limited_among_many_other_lines() -> None:
    """Kinds of lines that are still coming are kept, whatever else is logged."""
    repeated = RepeatedLines()
    made = {"msg": "request", "levelno": logging.WARNING}
    written = 0
    for number in range(3 * json_log._KINDS_KEPT):
        written += repeated.filter(logging.makeLogRecord(made))
        other = logging.makeLogRecord(made | {"msg": f"another line {number}"})
        assert repeated.filter(other)
    assert written == json_log._LINES_PER_WINDOW


def test_warnings_threads_and_exceptions_are_json_lines() -> None:
    command = [sys.executable, "-c", FAILING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert len(lines) == 4
    assert lines[-1]["exception"] == "ValueError"
    assert "private" not in done.stderr
