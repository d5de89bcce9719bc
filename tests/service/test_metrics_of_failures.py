"""The metrics and the log say what is wrong with the database, by its own code."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from tests.service.conftest import Api


def test_a_failed_transaction_is_counted_and_logged_by_code(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    api.create()
    api.decide("ana")
    names = (
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "structuredbandits_ready 1.0",
    )
    before = api.client.get("/metrics").text
    for name in (*names, 'le="60.0"', "structuredbandits_reads_waiting"):
        assert name in before
    with api.service.database.write() as connection:
        connection.execute(text("ALTER TABLE decisions RENAME TO hidden"))
    answer = api.client.post("/v1/experiments/shop/decisions", json={"subject": "bea"})
    assert answer.status_code == 503
    code = "SQLITE_ERROR" if api.service.database.is_sqlite else "42P01"
    (record,) = [one for one in caplog.records if one.message.startswith("a transaction failed")]
    assert record.__dict__["database_code"] == code
    assert record.__dict__["experiments"] == ["shop"]
    after = api.client.get("/metrics").text
    assert f'structuredbandits_database_errors_total{{code="{code}"}} 1.0' in after
    assert "structuredbandits_transactions_failed_total 1.0" in after
