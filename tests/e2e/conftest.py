"""A real service in a separate process, and a real Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

COMMAND = [sys.executable, "-c", "from structuredbandits.cli import main; main()"]
# Long, since a busy machine must not make a test red.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Site(NamedTuple):
    """A running service."""

    url: str
    admin: str
    """A key that opens everything."""
    reader: str
    """A key that only reads."""
    database: Path

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.admin}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=900.0)


def make_key(database: Path, *scopes: str) -> str:
    done = subprocess.run(
        [*COMMAND, "keys", "create", "--db", str(database), "--scopes", ",".join(scopes)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    database, log = folder / "site.db", folder / "log"
    admin, reader = make_key(database, "admin"), make_key(database, "read")
    with log.open("wb") as written:
        process = subprocess.Popen(
            # A busy machine must not be reported as a database error.
            [*COMMAND, "serve", "--db", str(database), "--port", "0", "--request-seconds", "600"],
            stderr=written,
            stdout=subprocess.DEVNULL,
        )
    try:
        running = Site(_address(process, log), admin, reader, database)
        _compile(running)
        yield running
    finally:
        process.terminate()
        process.wait(timeout=300)


def _compile(site: Site) -> None:
    """Run once what the pages run, so that no test waits for a compiler."""
    policies = ["ucb", "ucb-s", "ucb-c", "ts", "ts-c"]
    for problem, theta in (("three-arms", 0.5), ("plane", [0.9, 0.2]), ("movielens", 67)):
        body = {"structure": {"problem": problem}, "theta": theta, "rounds": 3}
        _insist(site, "POST", "/v1/lab/runs", body | {"policies": policies})
    body = {"id": "warm-up", "structure": {"problem": "three-arms"}, "policy": "ts-c"}
    _insist(site, "POST", "/v1/experiments", body | {"settings": {"floor": 0.3}})
    path = "/v1/experiments/warm-up"
    many = {"decisions": [{"subject": f"visitor-{number % 40}"} for number in range(200)]}
    made = _insist(site, "POST", f"{path}/decisions/batch", many)["decisions"]
    rewards = [{"decision": one["id"], "reward": 3.0 + i % 2} for i, one in enumerate(made)]
    _insist(site, "POST", "/v1/rewards", {"rewards": rewards})
    assert _insist(site, "GET", f"{path}/summary")["baseline"]


def _insist(site: Site, method: str, path: str, body: Any = None) -> dict[str, Any]:
    """Ask until it is done: what is compiled for too long is there the next time."""
    with site.client() as client:
        while (answer := client.request(method, path, json=body)).status_code == 503:
            time.sleep(1.0)
    answer.raise_for_status()
    told: dict[str, Any] = answer.json()
    return told


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the service says where it listens."""
    end = time.monotonic() + 600
    while process.poll() is None and time.monotonic() < end:
        for line in log.read_text(encoding="utf-8").splitlines():
            told: dict[str, Any] = json.loads(line) if line.endswith("}") else {}
            if told.get("message") == "listening":
                return str(told["url"])
        time.sleep(0.05)
    pytest.fail(f"the service did not start: {log.read_text(encoding='utf-8')}")


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A Chromium for one test.

    While Playwright runs, its thread has a running event loop; a browser that lived longer would
    make `asyncio.run` fail in whichever test comes next.
    """
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("there is no Chromium here; install it, for example 'apt-get install chromium'")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


class Visit:
    """Opens pages, and remembers everything that a page must not do."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self._browser = browser
        self._site = site
        self._contexts: list[BrowserContext] = []
        self.faults: list[str] = []
        self.expected: tuple[str, ...] = ()
        """Parts of messages that the test provokes itself."""

    def __call__(self, path: str, *, key: str | None = None, **options: Any) -> Page:
        context = self._browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"} | options
        )
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self._hear(message.type, message.text))
        page.on("request", lambda request: self._watch(request.url))
        if key is None and path.startswith("/lab"):
            key = self._site.reader  # any key opens the lab
        if key:
            context.add_init_script(f"sessionStorage.setItem('structuredbandits-key', '{key}')")
        page.goto(self._site.url + path)
        return page

    def _hear(self, kind: str, text: str) -> None:
        # A run of a page that was left may keep the lab busy for a moment: the next page waits.
        expected = (*self.expected, "429")
        if kind in ("error", "warning") and not any(part in text for part in expected):
            self.faults.append(text)

    def _watch(self, url: str) -> None:
        if not url.startswith(self._site.url):
            self.faults.append(f"asks elsewhere: {url}")
        if self._site.admin in url or self._site.reader in url:
            self.faults.append("a key is in an address")

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Visit]:
    """Open a page; the test fails if a page errs, breaks its policy or asks another host."""
    visits = Visit(browser, site)
    yield visits
    visits.close()
    assert visits.faults == []
