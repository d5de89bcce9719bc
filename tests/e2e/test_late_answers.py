"""Late responses, and clicks while a page is redrawn: the latest action wins.

The tests delay every relevant response and release it at the worst moment, so nothing depends on
the speed of the machine.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Page, Request, Route, expect

from tests.e2e.conftest import Site, Visit

NAME, SUBJECTS = "late", 40
HERE = f"/#/experiments/{NAME}"
ABOUT, SUMMARY = re.compile(f"/experiments/{NAME}$"), re.compile(f"/experiments/{NAME}/summary$")


@pytest.fixture(scope="session", autouse=True)
def experiment(site: Site) -> str:
    """It lives as long as the service: a worker may come back to this file after another one."""
    with site.client() as client:
        body = {"id": NAME, "structure": {"problem": "three-arms"}, "policy": "ts-c"}
        assert client.post("/v1/experiments", json=body).status_code == 201
        decisions = [{"subject": f"visitor-{number:02}"} for number in range(SUBJECTS)]
        path = f"/v1/experiments/{NAME}/decisions/batch"
        assert client.post(path, json={"decisions": decisions}).status_code == 200
    return NAME


class Held:
    """The next request of a kind, which waits until the test lets it go; others pass."""

    def __init__(self, page: Page, address: str | re.Pattern[str], method: str = "GET") -> None:
        self._page, self._method = page, method
        self._route: Route | None = None
        self._answer: APIResponse | None = None
        page.route(address, self._take)

    def _take(self, route: Route) -> None:
        if self._route is None and route.request.method == self._method:
            self._route = route
        else:
            route.fallback()

    @property
    def route(self) -> Route:
        """The held request, as soon as there is one."""
        for _ in range(12_000):  # two minutes: long, since a busy machine must not make a test red
            if self._route is not None:
                return self._route
            self._page.wait_for_timeout(10)
        pytest.fail("the page never asked")

    def do(self) -> None:
        """Let the service do it now; the page hears of it later."""
        self._answer = self.route.fetch()

    def let_go(self, **answer: Any) -> None:
        """Give the page its answer (the service's, or another one), and time to read it."""
        request = self.route.request

        def is_it(ended: Request) -> bool:
            return ended == request

        with self._page.expect_event("requestfinished", is_it):
            if answer:
                self.route.fulfill(**answer)
            elif self._answer is not None:
                self.route.fulfill(response=self._answer)
            else:
                self.route.continue_()
        self._page.evaluate("new Promise((done) => setTimeout(done, 200))")


def refusal(status: int, sentence: str) -> dict[str, Any]:
    error = {"code": "no", "status": status, "message": sentence, "remedy": None}
    return {"status": status, "json": {"error": error}}


def open_experiment(visit: Visit, key: str) -> Page:
    page = visit(HERE, key=key)
    expect(page.locator("#arms tbody tr")).to_have_count(3)
    return page


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_a_press_outlasts_a_new_drawing(visit: Visit, site: Site, how: str) -> None:
    page = open_experiment(visit, site.admin)
    held = Held(page, SUMMARY)
    button = page.get_by_role("button", name="retire 3")
    held.do()
    button.evaluate("(element) => { element.dataset.old = 'yes'; }")
    if how == "mouse":
        button.hover()
        page.mouse.down()
    else:
        button.focus()
        page.keyboard.down("Space")
    held.let_go()
    if how == "mouse":
        page.mouse.up()
    else:
        page.keyboard.up("Space")
    page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("[data-old]")).to_have_count(0)  # drawn as soon as it was let go


def test_a_look_from_before_does_not_undo_a_change(visit: Visit, site: Site) -> None:
    page = open_experiment(visit, site.admin)
    held = Held(page, ABOUT)
    held.do()  # it says "running"
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    held.let_go()
    assert page.get_by_text("paused", exact=True).is_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("running", exact=True)).to_be_visible()


def test_the_end_of_a_press_does_not_clear_words_about_a_later_one(
    visit: Visit, site: Site
) -> None:
    visit.expected = ("403",)
    page = open_experiment(visit, site.reader)
    held = Held(page, ABOUT, "PATCH")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="retire 3").click()
    page.get_by_role("dialog").get_by_role("button", name="Retire").click()
    refused = page.get_by_role("alert").filter(has_text="scope 'admin'")
    expect(refused).to_be_visible()
    held.let_go(status=200, json={})
    assert refused.is_visible()


def test_pages_of_subjects_come_one_after_the_other(visit: Visit, site: Site) -> None:
    page = open_experiment(visit, site.reader)
    first = page.locator("#subjects tbody a").first
    expect(first).to_have_text("visitor-00")
    look = Held(page, re.compile("/subjects\\?limit=15$"))
    look.do()
    held = Held(page, re.compile("/subjects\\?.*after=visitor-14"))
    more = page.get_by_role("button", name="Next")
    more.click()
    more.click()  # too early: nobody knows yet what comes after that page
    held.let_go()
    expect(first).to_have_text("visitor-15")
    look.let_go()  # of the page before
    assert first.inner_text() == "visitor-15"
    page.get_by_role("button", name="Previous").click()
    expect(first).to_have_text("visitor-00")
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()


def test_whoever_is_being_deleted_is_not_looked_for(visit: Visit, site: Site) -> None:
    page = visit(f"{HERE}/subjects/visitor-38", key=site.admin)
    held = Held(page, re.compile("/subjects/visitor-38$"), "DELETE")
    page.get_by_role("button", name="Delete subject").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    held.do()  # a look would now be a fault on the page, which fails this test
    page.wait_for_timeout(4_500)
    held.let_go()
    expect(page.get_by_role("heading", name=NAME)).to_be_visible()


def test_a_deletion_does_not_call_back_whoever_went_on(visit: Visit, site: Site) -> None:
    page = visit(f"{HERE}/subjects/visitor-39", key=site.admin)
    held = Held(page, re.compile("/subjects/visitor-39$"), "DELETE")
    page.get_by_role("button", name="Delete subject").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    held.do()
    page.evaluate("location.hash = '#/'")
    expect(page.get_by_role("heading", name="Experiments")).to_be_visible()
    held.let_go()
    assert page.url.endswith("/#/")


def test_an_address_that_was_left_does_not_take_the_focus(visit: Visit, site: Site) -> None:
    page = visit("/", key=site.reader)
    expect(page.get_by_role("heading", name="Experiments")).to_be_visible()
    held = Held(page, ABOUT)
    page.evaluate(f"location.hash = '{HERE[1:]}'")
    held.do()
    page.evaluate("location.hash = '#/'")
    expect(page.locator("#main")).to_be_focused()
    page.locator("#theme").focus()
    held.let_go()
    expect(page.locator("#theme")).to_be_focused()


def test_the_answer_to_a_wrong_key_does_not_end_the_stay_of_a_right_one(
    visit: Visit, site: Site
) -> None:
    visit.expected = ("401",)
    page = visit("/")
    expect(page.get_by_label("API key")).to_be_focused()
    held = Held(page, "**/v1/experiments")
    page.get_by_label("API key").fill("sb_wrong")
    page.keyboard.press("Enter")
    held.do()
    page.get_by_label("API key").fill(site.reader)
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name=NAME)).to_be_visible()
    held.let_go()
    assert page.evaluate("sessionStorage.length") == 1


def test_steps_that_did_not_come_are_asked_for_again(visit: Visit, site: Site) -> None:
    visit.expected = ("503",)
    page = visit(f"{HERE}/subjects/visitor-07", key=site.reader)
    rows = page.locator("#decisions tbody tr")
    expect(rows).to_have_count(1)
    held = Held(page, re.compile("/visitor-07/steps"))
    with site.client() as client:
        path = f"/v1/experiments/{NAME}/decisions"
        assert client.post(path, json={"subject": "visitor-07"}).status_code == 201
    held.let_go(**refusal(503, "the database did not answer."))
    expect(rows).to_have_count(2)
    expect(page.locator("#trouble")).to_have_text("")


def open_lab(visit: Visit) -> Page:
    page = visit("/lab")
    expect(page.locator("#score tbody tr")).to_have_count(4)
    return page


def test_a_structure_that_nobody_waits_for_is_not_complained_about(visit: Visit) -> None:
    visit.expected = ("422",)
    page = open_lab(visit)
    held = Held(page, "**/v1/lab/structures", "POST")
    page.locator("#problem").select_option("plane")
    assert held.route
    page.locator("#problem").select_option("movielens")
    expect(page.locator("#structure .cell")).to_have_count(108)
    held.let_go(**refusal(422, "this plane cannot be shown."))
    assert page.locator("#trouble").inner_text() == ""


def test_a_late_refusal_leaves_what_the_page_said_meanwhile(visit: Visit) -> None:
    visit.expected = ("422",)
    page = open_lab(visit)
    held = Held(page, "**/v1/lab/runs", "POST")
    page.locator("#other-policy").fill("usb-c")
    page.locator("#other-policy").press("Enter")
    expect(page.locator("#sentence")).to_contain_text("Computing…")
    page.locator("#theta").fill("99")
    page.locator("#theta").press("Enter")
    sentence = "θ* must be a number from 0 to 6."
    expect(page.locator("#trouble")).to_have_text(sentence)
    held.let_go()
    assert page.locator("#trouble").inner_text() == sentence
    expect(page.locator("#sentence")).to_contain_text("Before the first round")  # nobody computes
    page.locator("#theta").fill("2")
    page.locator("#theta").press("Enter")
    expect(page.locator("#trouble")).to_contain_text("there is no policy 'usb-c'")


def test_a_new_run_does_not_take_away_what_is_pressed_or_chosen(visit: Visit) -> None:
    page = open_lab(visit)
    held = Held(page, "**/v1/lab/runs", "POST")
    page.locator("#new-seed").click()
    watch = page.get_by_role("radio", name="ucb-s")
    watch.hover()
    page.mouse.down()
    held.let_go()
    page.mouse.up()
    expect(watch).to_be_checked()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="ucb-c")).to_be_checked()
    expect(page.get_by_role("radio", name="ucb-c")).to_be_focused()
    expect(page.locator("#arms-text")).to_contain_text("of ucb-c")
