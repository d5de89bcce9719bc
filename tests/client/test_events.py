"""The export is split into lines at line feeds only."""

from __future__ import annotations

import json

import httpx
import pytest

# What `str.splitlines` takes for the end of a line, except characters that a subject cannot have.
LINE_ENDS = ["\u0085", "\u2028", "\u2029"]


@pytest.mark.parametrize("character", LINE_ENDS, ids=lambda one: f"U+{ord(one):04X}")
def test_a_line_of_the_export_ends_at_a_line_feed_only(both, script, character):
    rows = [{"id": "1", "subject": f"a{character}b"}, {"id": "2", "subject": "c"}]
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    headers = {"Content-Type": "application/x-ndjson", "Next-Cursor": "7.1.2"}
    service = script(httpx.Response(200, content=content, headers=headers))
    page = both.run(service, "events", "e", after="3.1.1", structure_version=2)
    assert (page.items, page.next) == (rows, "7.1.2")
    asked = service.requests[0].url.params
    assert (asked["after"], asked["structure_version"]) == ("3.1.1", "2")


def test_an_export_without_rows_is_empty(both, script):
    headers = {"Content-Type": "application/x-ndjson", "Next-Cursor": "7.1.2"}
    page = both.run(script(httpx.Response(200, content=b"", headers=headers)), "events", "e")
    assert (page.items, page.next) == ([], "7.1.2")
