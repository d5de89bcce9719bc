"""The TypeScript client in Node.js and in Chromium, against a real service."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import text

from structuredbandits.service.security.api_keys import create_key, subject_secret
from structuredbandits.service.security.publishable_keys import PublicTerms
from tests.service.conftest import Api, running, settings_for

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
NODE = Path(sys.executable).with_name("node")


class Shop(NamedTuple):
    """The example page on a server of its own, and the service that it asks."""

    api: Api
    origin: str


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def built() -> Path:
    """The client, as `make typescript` builds it."""
    if not (CLIENT / "dist" / "index.js").exists():
        pytest.fail("the TypeScript client is not built; run 'make typescript'.")
    return CLIENT / "dist"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, built: Path) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop") / "page"
    shutil.copytree(ROOT / "examples" / "shop", folder)
    shutil.copy(built / "index.js", folder / "structuredbandits.js")
    pages = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{pages.server_address[1]}"
    prepared = subprocess.run(
        [sys.executable, "prepare.py", "http://service.invalid", origin],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert prepared.returncode == 0, prepared.stderr
    for api in running(settings_for(str(folder / "shop.db"), insecure=False)):
        with api.service.database.write() as connection:
            key, _ = create_key(connection, ["admin"])
        api.client.headers["Authorization"] = f"Bearer {key}"
        settings = folder / "settings.js"
        address = str(api.client.base_url).rstrip("/")
        settings.write_text(settings.read_text().replace("http://service.invalid", address))
        yield Shop(api, origin)
    pages.shutdown()
    pages.server_close()


# -- Node.js ---------------------------------------------------------------------------------------


def test_the_client_works_in_node(shop: Shop) -> None:
    api = shop.api
    api.create("shop")
    body = {"id": "flag", "structure": {"problem": "three-arms"}, "policy": "ts-c"}
    images = {arm: {"image": f"{arm}.png"} for arm in ("1", "2", "3")}
    made = api.client.post("/v1/experiments", json=body | {"settings": {"payloads": images}})
    assert made.status_code == 201
    with api.service.database.write() as connection:
        scopes, terms = ["decide", "reward"], PublicTerms(("https://shop.example",))
        public, _ = create_key(connection, scopes, "shop", public=terms)
        terms = PublicTerms(("https://shop.example",), signed=True)
        signed, grant = create_key(connection, scopes, "shop", public=terms)
        secret = subject_secret(connection, grant)
    assert secret is not None
    environment = os.environ | {
        "SERVICE": str(api.client.base_url).rstrip("/"),
        "KEY": str(api.client.headers["Authorization"]).removeprefix("Bearer "),
        "PUBLISHABLE": public,
        "SIGNED": signed,
        "TOKEN_SECRET": secret,
    }
    done = subprocess.run(
        [NODE, "--test", "--test-reporter=spec", "test/client.test.mjs"],
        cwd=CLIENT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pass 8" in done.stdout


def test_the_client_is_small_and_alone(built: Path) -> None:
    assert (built / "index.js").stat().st_size <= 6_000
    for name in ("index.js", "openfeature.js", "server.js"):
        assert not re.search(r"\bimport\b", (built / name).read_text(encoding="utf-8"))
    assert "dependencies" not in _json("package.json")


def test_the_lock_file_names_no_registry() -> None:
    lock = (CLIENT / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    packages = _json("package-lock.json")["packages"]
    assert all("integrity" in package for name, package in packages.items() if name)


def test_the_types_are_those_of_the_api(tmp_path: Path) -> None:
    from tools.generate_typescript_types import TYPES, generate

    generate(tmp_path / "schema.ts")
    expected = (tmp_path / "schema.ts").read_text(encoding="utf-8")
    assert TYPES.read_text(encoding="utf-8") == expected, "run 'make generated'"
    for name in ("decide", "reward", "listExperiments", "evaluateFlag"):
        assert f"    {name}: {{\n" in expected


def _json(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CLIENT / name).read_text(encoding="utf-8"))
    return found


# -- Chromium --------------------------------------------------------------------------------------


def rewarded(shop: Shop) -> set[str]:
    """The decisions of the page that have a reward, as subject and round."""
    with shop.api.service.database.read() as connection:
        rows = connection.execute(
            text("SELECT subject, round FROM decisions WHERE experiment = 'banner' AND state = 1")
        )
        return {f"{row.subject:x}-{row.round}" for row in rows}


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def open_shop(shop: Shop, browser: Browser) -> tuple[Page, str]:
    """A new visitor's page, and its decision without the last part of the ID."""
    page = browser.new_context().new_page()
    page.goto(shop.origin)
    banner = page.locator("#banner")
    expect(banner).to_have_text(re.compile("Free delivery today|10 % off everything|New in store"))
    decision = str(banner.get_attribute("data-decision"))
    return page, decision.rpartition("-")[0]


def test_a_page_of_another_origin_decides_and_rewards(shop: Shop, browser: Browser) -> None:
    page, decision = open_shop(shop, browser)
    assert decision not in rewarded(shop)
    page.click("#buy")
    eventually(lambda: decision in rewarded(shop))


def test_a_reward_waits_until_the_browser_is_online(shop: Shop, browser: Browser) -> None:
    page, decision = open_shop(shop, browser)
    page.context.set_offline(True)
    page.click("#buy")
    expect(page.locator("#thanks")).to_have_text("Thank you!")
    assert page.evaluate("Object.keys(localStorage).length") == 2  # the visitor, and the reward
    page.context.set_offline(False)
    eventually(lambda: decision in rewarded(shop))
    page.wait_for_function("Object.keys(localStorage).length === 1")


def test_a_waiting_reward_is_sent_when_the_page_is_left(shop: Shop, browser: Browser) -> None:
    page, decision = open_shop(shop, browser)
    service = str(shop.api.client.base_url).rstrip("/")
    page.evaluate(
        "service => localStorage.setItem(`structuredbandits ${service} "
        "${document.getElementById('banner').dataset.decision}`, '1')",
        service,
    )
    assert decision not in rewarded(shop)
    page.goto("about:blank")
    eventually(lambda: decision in rewarded(shop))


def test_a_page_that_the_key_does_not_allow_keeps_its_banner(shop: Shop, browser: Browser) -> None:
    page = browser.new_context().new_page()
    with page.expect_console_message(lambda message: "usual banner" in message.text):
        page.goto(shop.origin.replace("127.0.0.1", "localhost"))
    expect(page.locator("#banner")).to_have_text("Welcome")
