"""The console without a mouse, on a wide screen and on a phone; long logs, and fine planes."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import structuredbandits as sb
from tests.e2e.conftest import Site, Visit

NAME, LONG = "by-key", 2_400
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
WIDE: dict[str, Any] = {}


def batch(client: Any, experiment: str, subject: str, count: int) -> list[dict[str, Any]]:
    """Decisions for one subject, whose rewards are near what arm 2 earns at θ = 0.5."""
    path = f"/v1/experiments/{experiment}/decisions/batch"
    made: list[dict[str, Any]] = []
    while len(made) < count:
        some = min(100, count - len(made))
        answer = client.post(path, json={"decisions": [{"subject": subject}] * some})
        assert answer.status_code == 200, answer.text
        told = answer.json()["decisions"]
        rewards = [{"decision": one["id"], "reward": 4.0 + i % 2} for i, one in enumerate(told)]
        assert client.post("/v1/rewards", json={"rewards": rewards}).status_code == 200
        made += told
    return made


@pytest.fixture(scope="session", autouse=True)
def experiment(site: Site) -> str:
    """It lives as long as the service: a worker may come back to this file after another one."""
    with site.client() as client:
        body = {"id": NAME, "structure": {"problem": "three-arms"}, "policy": "ts-c"}
        assert client.post("/v1/experiments", json=body).status_code == 201
        for number in range(3):
            batch(client, NAME, f"visitor-{number}", 12)
        batch(client, NAME, "regular", LONG)
    return NAME


def active(page: Page) -> str:
    """What the keyboard stands on: its name or its text."""
    return str(
        page.evaluate(
            """() => { const e = document.activeElement;
              return e.getAttribute("aria-label") || e.id || e.innerText; }"""
        )
    )


def tab_to(page: Page, name: str, most: int = 60) -> None:
    """Press Tab until the thing of that name has the focus, and see that it is marked."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if active(page) == name:
            break
    assert active(page) == name
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    assert page.evaluate(
        """() => { const box = document.activeElement.getBoundingClientRect();
          return box.width > 0 && box.left >= -1 && box.right <= innerWidth + 1; }"""
    )


@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_link_to_the_content_stays_on_the_page(
    visit: Visit, site: Site, screen: dict[str, Any]
) -> None:
    for path, head in (
        (f"/#/experiments/{NAME}", NAME),
        (f"/#/experiments/{NAME}/subjects/visitor-1", "visitor-1"),
    ):
        page = visit(path, key=site.reader, **screen)
        expect(page.get_by_role("heading", name=head, exact=True)).to_be_visible()
        page.keyboard.press("Tab")
        assert active(page) == "Skip to content"
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()
        assert page.url.endswith(path)
        expect(page.get_by_role("heading", name=head, exact=True)).to_be_visible()
        page.keyboard.press("Tab")
        assert active(page) == "Experiments"


@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_an_experiment_by_keyboard(visit: Visit, site: Site, screen: dict[str, Any]) -> None:
    page = visit(f"/#/experiments/{NAME}", key=site.admin, **screen)
    expect(page.locator("#arms tbody tr")).to_have_count(3)
    tab_to(page, "change-state")
    page.keyboard.press("Enter")
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    expect(page.locator("#change-state")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_text("running", exact=True)).to_be_visible()
    tab_to(page, "retire 2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_text("retired", exact=True)).to_be_hidden()
    tab_to(page, "Subject ID")
    page.keyboard.type("visitor-2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="visitor-2")).to_be_visible()
    expect(page.locator("#main")).to_be_focused()
    tab_to(page, NAME)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=NAME, exact=True)).to_be_visible()
    tab_to(page, "visitor-0")


@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_subject_by_keyboard(visit: Visit, site: Site, screen: dict[str, Any]) -> None:
    page = visit(f"/#/experiments/{NAME}/subjects/visitor-1", key=site.reader, **screen)
    slider = page.get_by_role("slider", name="Decision")
    expect(slider).to_have_value("12")
    tab_to(page, "Previous decision")
    page.keyboard.press("Enter")
    expect(slider).to_have_value("11")
    tab_to(page, "Decision")
    page.keyboard.press("Home")
    expect(page.locator("#sentence")).to_contain_text(
        "Before decision 1: 100 % of the visitor types are still possible"
    )
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("1")
    tab_to(page, "decision-2")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#decision-3")).to_be_focused()
    expect(slider).to_have_value("2")
    page.keyboard.press("Home")
    expect(page.locator("#decision-12")).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator("#decision-1")).to_be_focused()
    expect(slider).to_have_value("0")
    # It is redrawn every few seconds, and the focus stays where it is.
    page.evaluate("document.querySelector('#decision-1').dataset.old = 'yes'")
    expect(page.locator("#decision-1[data-old]")).to_have_count(0)
    expect(page.locator("#decision-1")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")


def test_a_subject_with_a_long_log_is_shown_as_it_is_now(visit: Visit, site: Site) -> None:
    page = visit(f"/#/experiments/{NAME}/subjects/regular", key=site.reader)
    place = page.locator(".stepper > .number")
    expect(place).to_have_text("Now, after 2,400 decisions")
    expect(page.locator("#decisions tbody tr").first).to_have_attribute("data-round", "2400")
    expect(page.locator("#decisions tbody tr")).to_have_count(2_000)
    expect(page.get_by_text("The latest 2,000 of 2,400 decisions")).to_be_visible()
    page.get_by_role("slider", name="Decision").fill("0")
    expect(place).to_have_text("Before decision 401 of 2,400")
    expect(page.locator("#sentence")).to_contain_text("Before decision 401")
    # What was known then holds the 400 rewards that are not shown.
    drawn = str(page.locator("#arms svg").get_attribute("aria-label"))
    assert sum(int(pulls) for pulls in re.findall(r"(\d+) pulls", drawn)) == 400
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    # The page is redrawn after each request, whatever the response.
    page.evaluate("document.querySelector('#decision-401').dataset.old = 'yes'")
    expect(page.locator("#decision-401[data-old]")).to_have_count(0)
    assert any(url.endswith("/subjects/regular") for url in asked)
    assert not any("/steps" in url for url in asked)


def test_a_fine_plane_is_a_map(visit: Visit, site: Site, tmp_path: Path) -> None:
    arms = {
        "east": lambda theta: theta[..., 0],
        "north": lambda theta: theta[..., 1],
        "flat": lambda theta: 0.6 + 0.0 * theta[..., 0],
    }
    plane = sb.Box([(0.0, 1.0), (0.0, 1.0)], points=201)
    path = tmp_path / "fine.structure"
    sb.Structure.from_functions(arms, plane, sigma=0.5).save(path)
    with site.client() as client:
        source = {"file": base64.b64encode(path.read_bytes()).decode()}
        body = {"id": "fine", "structure": source, "policy": "ts-c"}
        answer = client.post("/v1/experiments", json=body)
        assert answer.status_code == 201, answer.text
        batch(client, "fine", "ana", 20)
    page = visit("/#/experiments/fine/subjects/ana", key=site.reader)
    expect(page.locator("#structure .cell")).to_have_count(64 * 64)
    box = page.locator("#structure svg").bounding_box()
    assert box is not None
    assert box["height"] < 700
    expect(page.locator("#structure .cell.ruled-out").first).to_be_attached()
    expect(page.locator("#structure text.letters")).to_have_count(0)


def test_costs_that_are_saved_are_in_the_colour_of_a_gain(visit: Visit, site: Site) -> None:
    page = visit("/", key=site.reader)
    colours = page.evaluate(
        """async () => {
          const { gain } = await import("/static/console/words.js");
          const baseline = { logged: 1, estimate: 2, low: 1.5, high: 2.5 };
          return [true, false].map((minimize) => gain({ baseline }, minimize).className);
        }"""
    )
    assert colours == ["up", "down"]
    with site.client() as client:
        costs = {"id": "costs", "structure": _costs(), "policy": "ts-c"}
        assert client.post("/v1/experiments", json=costs).status_code == 201
        assert client.get("/v1/experiments/costs/summary").json()["minimize"] is True
    # The list asks with what the summary says, not without.
    source = page.evaluate("fetch('/static/console/list.js').then((answer) => answer.text())")
    assert "gain(summary, summary.minimize)" in source


def _costs() -> dict[str, str]:
    import tempfile

    arms = {"a": lambda x: x, "b": lambda x: 1 - x}
    interval = sb.Interval(0.0, 1.0, points=21)
    costs = sb.Structure.from_functions(arms, interval, sigma=0.5, minimize=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "costs.structure"
        costs.save(path)
        return {"file": base64.b64encode(path.read_bytes()).decode()}
