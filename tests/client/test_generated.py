"""The synchronous client is what its generator makes of the asynchronous one."""

from __future__ import annotations

import pytest

from tools import generate_sync_client


def test_the_sync_client_is_up_to_date():
    generated = generate_sync_client.generate()
    stored = generate_sync_client.TARGET.read_text(encoding="utf-8")
    assert stored == generated, "run 'make generated' and commit the result"
    assert "await " not in generated
    assert "Async" not in generated


def test_a_docstring_that_the_generator_does_not_find_is_named(monkeypatch):
    monkeypatch.setattr(generate_sync_client, "TEXTS", {"not in the file": ""})
    with pytest.raises(ValueError, match=r"_async_client\.py holds this text 0 times"):
        generate_sync_client.generate()
