"""Number of attempts and waits between them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structuredbandits.client._retry import Retries, read_retry_after
from structuredbandits.errors import InvalidInput


@given(
    failures=st.integers(1, 10_000),
    first=st.floats(0.001, 10),
    longest=st.floats(0.001, 100),
    asked=st.none() | st.floats(0, 1000),
)
def test_a_wait_grows_to_its_limit_and_respects_retry_after(failures, first, longest, asked):
    retries = Retries(first_wait_seconds=first, longest_wait_seconds=longest)
    wait = retries.wait(failures, asked)
    doubled = min(first * 2.0 ** min(failures - 1, 30), longest)
    if asked is None:
        assert doubled / 2 <= wait <= doubled
    else:
        assert asked <= wait <= asked + 1.0


def test_waits_differ_so_that_clients_do_not_retry_together():
    retries = Retries()
    assert len({retries.wait(3, None) for _ in range(100)}) > 90
    assert len({retries.wait(3, 2.0) for _ in range(100)}) > 90


def test_an_attempt_that_would_begin_after_the_deadline_is_not_made():
    retries = Retries(attempts=3, deadline_seconds=10)
    assert retries.may_go_on(2, 4.0, 6.0)
    assert not retries.may_go_on(2, 4.0, 6.1)
    assert not retries.may_go_on(3, 0.0, 0.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"attempts": 0},
        {"attempts": True},
        {"attempts": 1.5},
        {"first_wait_seconds": -1},
        {"longest_wait_seconds": float("inf")},
        {"deadline_seconds": float("nan")},
        {"deadline_seconds": "soon"},
    ],
)
def test_invalid_settings_are_named(settings):
    with pytest.raises(InvalidInput, match=next(iter(settings))):
        Retries(**settings)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3.0), ("0.25", 0.25), ("-4", 0.0), ("soon", None), ("nan", None)],
)
def test_retry_after_in_seconds(header, seconds):
    assert read_retry_after(header) == seconds


def test_retry_after_as_a_date():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    seconds = read_retry_after(later)
    assert seconds is not None
    assert 80 < seconds <= 90
    assert read_retry_after("Sun, 06 Nov 1994 08:49:37 GMT") == 0.0
