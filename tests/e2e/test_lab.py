"""The lab in a real browser: choose, draw, drag, step, play; with mouse, finger and keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import Site, Visit

RUN = {"structure": {"problem": "three-arms"}, "theta": 0.5, "rounds": 500, "seed": 0}
POLICIES = ["ucb", "ucb-s", "ucb-c", "ts-c"]


def open_lab(visit: Visit, **options: Any) -> Page:
    page = visit("/lab", **options)
    expect(page.locator("#score tbody tr")).to_have_count(4)
    return page


def to_round(page: Page, number: int) -> None:
    page.get_by_role("slider", name="Round", exact=True).fill(str(number))
    expect(page.locator(".round")).to_have_text(f"Round {number} of 500")


@pytest.fixture(scope="module")
def answer(site: Site) -> dict[str, Any]:
    """The run that the page shows at first."""
    body = RUN | {"policies": POLICIES}
    with site.client() as client:
        return dict(client.post("/v1/lab/runs", json=body, timeout=600).json())


def test_stepping_shows_the_run_that_the_service_computed(
    visit: Visit, answer: dict[str, Any]
) -> None:
    page = open_lab(visit)
    for number in (1, 2, 3):
        page.get_by_role("button", name="Next round").click()
        expect(page.locator(".round")).to_have_text(f"Round {number} of 500")
    page.get_by_role("button", name="Previous round").click()
    expect(page.locator(".round")).to_have_text("Round 2 of 500")
    page.get_by_role("button", name="Last round").click()
    for row, run in zip(page.locator("#score tbody tr").all(), answer["policies"], strict=True):
        cells = row.locator("td").all_inner_texts()
        assert cells[0].strip() == run["policy"]
        assert float(cells[1].replace(",", "")) == pytest.approx(run["regret"][-1], abs=0.51)
    page.get_by_role("button", name="First round").click()
    expect(page.locator("#sentence")).to_contain_text("Before the first round 100 % of Θ")


def test_arms_drop_out_when_the_set_shrinks(visit: Visit, answer: dict[str, Any]) -> None:
    sets = answer["policies"][2]["sets"]
    first = next(entry for entry in sets if len(entry["competitive"]) < 3)
    page = open_lab(visit)
    whole = page.locator("#structure .plausible").get_attribute("d")
    to_round(page, first["round"])
    for k in range(3):
        curve = page.locator(f"#structure g[data-arm='{k + 1}']")
        out = k not in first["competitive"]
        expect(curve).to_have_class("out" if out else re.compile("^$|^(?!.*out)"))
        if out:
            expect(page.locator("#sentence")).to_contain_text(re.compile(f"arm {k + 1}.* out"))
    assert page.locator("#structure .plausible").get_attribute("d") != whole


def test_watching_a_policy_without_a_set(visit: Visit) -> None:
    page = open_lab(visit)
    page.get_by_role("radio", name="ucb", exact=True).check()
    to_round(page, 40)
    expect(page.locator("#sentence")).to_contain_text("does not keep a set of plausible θ")
    expect(page.locator("#structure .out")).to_have_count(0)


def test_play_pause_and_speed(visit: Visit) -> None:
    page = open_lab(visit)
    # By the test's own clock: on that of a busy machine all might be played before a look at it.
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    page.get_by_label("Rounds per second").select_option("100")
    page.get_by_role("button", name="Play").click()
    slider = page.get_by_role("slider", name="Round", exact=True)
    page.clock.run_for(500)
    assert 30 <= int(slider.input_value()) <= 50
    page.get_by_role("button", name="Pause").click()
    stopped = slider.input_value()
    page.clock.run_for(1_000)
    assert slider.input_value() == stopped
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(6_000)
    expect(page.get_by_role("button", name="Play")).to_be_visible()  # it ended by itself
    expect(slider).to_have_value("500")


def test_the_keyboard_alone_is_enough(visit: Visit) -> None:
    page = open_lab(visit)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".round")).to_have_text("Round 1 of 500")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    seen = []
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break  # past the last one
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.ariaLabel"))
        ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring == "solid" or seen[-1] == "hidden θ*"
    for wanted in ("theme", "problem", "draw", "theta", "rounds", "seed", "hidden θ*", "Round"):
        assert wanted in seen
    handle = page.get_by_role("slider", name="hidden θ*")
    handle.focus()
    page.keyboard.press("End")
    expect(page.locator("#theta")).to_have_value("6")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#theta")).to_have_value("5.95")


def test_dragging_theta_runs_again(visit: Visit) -> None:
    page = open_lab(visit)
    handle = page.get_by_role("slider", name="hidden θ*").locator("circle")
    box = handle.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    with page.expect_response(
        lambda response: (
            response.url.endswith("/v1/lab/runs")
            and (response.request.post_data_json or {}).get("theta", 0) > 2
        )
    ):
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 150, y, steps=4)
        page.mouse.move(x + 300, y, steps=4)
        page.mouse.up()
    assert float(page.locator("#theta").input_value()) > 2
    page.locator("#theta").fill("99")
    page.locator("#theta").press("Enter")
    expect(page.locator("#trouble")).to_have_text("θ* must be a number from 0 to 6.")


def test_a_late_answer_leaves_what_the_page_said_meanwhile(visit: Visit) -> None:
    page = open_lab(visit)
    held: list[Route] = []
    page.route("**/v1/lab/runs", lambda route: held.append(route))
    with page.expect_request("**/v1/lab/runs"):
        page.locator("#theta").fill("3")
        page.locator("#theta").press("Enter")
    page.locator("#theta").fill("99")
    page.locator("#theta").press("Enter")
    sentence = "θ* must be a number from 0 to 6."
    expect(page.locator("#trouble")).to_have_text(sentence)
    expect(page.locator("#stage")).to_have_class(re.compile("working"))
    held[0].continue_()
    expect(page.locator("#stage")).not_to_have_class(re.compile("working"))
    assert page.locator("#trouble").inner_text() == sentence
    page.unroute_all()
    page.locator("#theta").fill("2")
    page.locator("#theta").press("Enter")
    expect(page.locator("#trouble")).to_have_text("")


def test_a_plane_and_kinds_of_people(visit: Visit) -> None:
    page = open_lab(visit)
    page.locator("#problem").select_option("plane")
    expect(page.locator("#structure .cell")).to_have_count(1681)
    expect(page.locator("#steps-card")).to_be_hidden()
    with page.expect_response("**/v1/lab/runs"):
        page.locator("#structure .cell[data-position='0']").click()
    expect(page.locator("#theta-1")).to_have_value("-1")
    page.locator("#problem").select_option("movielens")
    expect(page.locator("#structure .cell")).to_have_count(108)
    with page.expect_response("**/v1/lab/runs"):
        page.locator("#structure .cell[data-position='5']").click()
    expect(page.locator("#theta")).to_have_value("5")
    page.get_by_role("radio", name="ucb-s").check()
    page.get_by_role("button", name="Last round").click()
    expect(page.locator("#structure .ruled-out").first).to_be_attached()


def test_a_structure_is_drawn(visit: Visit) -> None:
    page = open_lab(visit)
    page.locator("#draw").click()
    dialog = page.locator("#editor")
    dialog.get_by_role("button", name="Add arm").click()
    expect(dialog.locator(".knob")).to_have_count(2)
    dialog.get_by_role("button", name="Remove point").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The first and the last point stay")
    box = dialog.locator("#editor-chart > svg").bounding_box()
    assert box
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.15 * box["height"])
    expect(dialog.locator(".knob")).to_have_count(3)
    knob = dialog.get_by_role("button", name=re.compile("point 2 of 3"))
    expect(knob).to_be_focused()
    before = knob.get_attribute("aria-label")
    page.keyboard.press("Shift+ArrowDown")
    moved = dialog.get_by_role("button", name=re.compile("point 2 of 3"))
    assert moved.get_attribute("aria-label") != before
    dialog.get_by_label("Arm's name").fill("mine")
    dialog.get_by_label("Arm's name").press("Enter")
    with page.expect_response("**/v1/lab/runs"):
        dialog.get_by_role("button", name="Use this structure").click()
    expect(page.locator("#structure g[data-arm]")).to_have_count(4)
    expect(page.locator("#problem")).to_have_value("(drawn)")
    expect(page.locator("#trouble")).to_have_text("")
    page.locator("#draw").click()
    expect(dialog.get_by_role("radio", name="mine")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_policies_are_chosen_typed_and_refused(visit: Visit) -> None:
    visit.expected = ("422",)
    page = open_lab(visit)
    page.locator("#other-policy").fill("UCB-C(alpha=1)")
    page.locator("#add-policy").click()
    expect(page.locator("#score")).to_contain_text("ucb-c(alpha=1)")
    page.get_by_role("checkbox", name="ts", exact=True).check()
    expect(page.locator("#score tbody tr")).to_have_count(6)
    page.get_by_role("checkbox", name="posterior").click()
    expect(page.locator("#trouble")).to_contain_text("At most 6 policies")
    page.get_by_role("checkbox", name="ts", exact=True).uncheck()
    expect(page.locator("#score tbody tr")).to_have_count(5)
    page.locator("#other-policy").fill("usb-c")
    page.locator("#other-policy").press("Enter")
    expect(page.locator("#trouble")).to_contain_text("there is no policy 'usb-c'; did you mean")
    expect(page.get_by_role("checkbox", name="hierarchical")).to_be_disabled()
    expect(page.locator("#policies")).to_contain_text("needs the standard errors")


def test_other_luck_and_other_lengths(visit: Visit) -> None:
    page = open_lab(visit)
    with page.expect_request("**/v1/lab/runs") as sent:
        page.locator("#new-seed").click()
    assert sent.value.post_data_json["seed"] == 1
    page.locator("#rounds").fill("50")
    page.locator("#rounds").press("Enter")
    expect(page.locator(".round")).to_have_text("Round 0 of 50")


def test_a_finger_on_a_phone(visit: Visit) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    page = open_lab(visit, **phone)
    page.get_by_role("button", name="Next round").tap()
    expect(page.locator(".round")).to_have_text("Round 1 of 500")
    for problem in ("three-arms", "movielens", "plane"):
        page.locator("#problem").select_option(problem)
        expect(page.locator("#structure svg")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#draw").tap()
    assert page.evaluate("document.querySelector('#editor').scrollWidth") <= 360
    small = page.evaluate(
        """[...document.querySelectorAll('#transport button, #editor button')]
           .filter((b) => b.offsetHeight < 36).length"""
    )
    assert small == 0
