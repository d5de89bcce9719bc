"""An experiment that this version cannot serve, in a real browser: its state, and why."""

from __future__ import annotations

import sqlite3

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Site, Visit

GOOD, OLD = "in-use", "from-before"
COPY = """\
INSERT INTO experiments (id, state, policy, settings, seed, retired, version, revision, created)
SELECT ?, state, 'ts-old', settings, seed, retired, version, revision, created
FROM experiments WHERE id = ?
"""


@pytest.fixture(scope="session", autouse=True)
def old(site: Site) -> None:
    """An experiment with a policy that this version does not know; as long as the service is."""
    with site.client() as client:
        body = {"id": GOOD, "structure": {"problem": "three-arms"}, "policy": "ts-c"}
        assert client.post("/v1/experiments", json=body).status_code == 201
        path = f"/v1/experiments/{GOOD}/decisions"
        assert client.post(path, json={"subject": "ana"}).status_code == 201
    with sqlite3.connect(site.database) as database:
        database.execute(COPY, (OLD, GOOD))
        database.execute(
            "INSERT INTO structures (experiment, version, digest, content, created) "
            "SELECT ?, version, digest, content, created FROM structures WHERE experiment = ?",
            (OLD, GOOD),
        )
        database.execute(
            "INSERT INTO subjects (experiment, name, version, state, created, updated) "
            "SELECT ?, name, version, state, created, updated FROM subjects WHERE experiment = ?",
            (OLD, GOOD),
        )
    database.close()


def test_an_unusable_experiment_is_shown_with_its_reason(visit: Visit, site: Site) -> None:
    with site.client() as client:
        told = client.get(f"/v1/experiments/{OLD}").json()
    assert "'ts-old'" in told["reason"]
    page = visit("/", key=site.reader)
    row = page.locator("tr", has=page.get_by_role("link", name=OLD, exact=True))
    expect(row.get_by_text("unusable", exact=True)).to_have_attribute("title", told["reason"])
    row.get_by_role("link", name=OLD).click()
    expect(page.get_by_role("heading", name=OLD)).to_be_visible()
    expect(page.locator("#unusable")).to_have_text(told["reason"])
    expect(page.locator("#change-state")).to_have_count(0)
    expect(page.locator("#allocation")).to_be_hidden()
    expect(page.locator("#trouble")).to_be_empty()
    page.goto(f"{site.url}/#/experiments/{GOOD}")
    expect(page.get_by_role("heading", name=GOOD)).to_be_visible()
    expect(page.locator("#unusable")).to_be_hidden()
    expect(page.locator("#change-state")).to_be_visible()
    expect(page.locator("#structure g[data-arm]")).to_have_count(3)


def test_a_subject_of_it_says_why_she_cannot_be_shown(visit: Visit, site: Site) -> None:
    visit.expected = ("409",)
    page = visit(f"/#/experiments/{OLD}/subjects/ana", key=site.reader)
    expect(page.locator("#trouble")).to_contain_text("cannot be served")
    expect(page.get_by_role("link", name="All experiments")).to_be_visible()
