"""A real server and a real headless browser for the journey."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import calib
from calib.data import Predictions
from calib.registry import METHODS
from calib.ui.progress import offered_presets
from calib.ui.session import OpenSession
from tests.server.conftest import free_port, serve, start_app

PATIENCE = 300_000
"""Milliseconds that whatever is to appear may take on a busy machine."""

expect.set_options(timeout=PATIENCE)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def recommended(data: Predictions) -> list[str]:
    """The methods that pages choose to begin with."""
    remedy = calib.audit(data).methods
    return offered_presets(OpenSession.from_data(data), remedy)["Recommended"]


def switch_methods(page: Page, methods: Iterable[str]) -> None:
    """Choose methods on the page Fit, or leave out those that are chosen; all of the table is opened."""
    page.get_by_text("More methods").click()
    for name in methods:
        page.get_by_text(METHODS[name].title, exact=True).first.click()
        settle(page)


def all_fitted(page: Page, n: int | None = None) -> None:
    """Wait until no fit runs: the menu then says how many there are."""
    number = r"\d+" if n is None else n
    line = page.get_by_test_id("stSidebar").get_by_text(re.compile(rf"(?<!of )\b{number} fitted"))
    expect(line).to_be_visible()


def browser_path() -> str:
    """Path of a Chrome or Chromium; fails loudly where there is none."""
    found = os.environ.get("CALIB_CHROME") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and MAC.exists():
        found = str(MAC)
    if found is None:
        pytest.fail(
            "no Chrome or Chromium: install one, set CALIB_CHROME, or skip with CALIB_SKIP_BROWSER=1"
        )
    return found


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on a free port, as `streamlit run app.py` starts it."""
    if os.environ.get("CALIB_SKIP_BROWSER") == "1":
        pytest.skip("CALIB_SKIP_BROWSER=1")
    with serve(tmp_path_factory.mktemp("server") / "log") as served:
        yield served.url


@pytest.fixture(scope="session")
def browser(server: str) -> Iterator[Browser]:
    """Headless Chrome or Chromium."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=browser_path(), headless=True, args=QUIET
        )
        yield launched
        launched.close()


def new_page(browser: Browser, **options: Any) -> Page:
    """A page of a fresh visitor, 1500 pixels wide, that waits as long as it takes."""
    context = browser.new_context(**{"viewport": {"width": 1500, "height": 1000}, **options})
    context.set_default_timeout(PATIENCE)
    return context.new_page()


@pytest.fixture
def visitor(server: str, browser: Browser) -> Iterator[Page]:
    """A fresh visitor on the Data page, 1500 pixels wide."""
    page = new_page(browser)
    page.goto(server)
    page.get_by_role("heading", level=1).wait_for()
    yield page
    page.context.close()


def go(page: Page, title: str) -> None:
    """Follow the menu to a page and wait until it is drawn."""
    page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True).click()
    expect(page.get_by_role("heading", name=title, exact=True, level=1)).to_be_visible()
    settle(page)


def settle(page: Page) -> None:
    """Wait until Streamlit has finished the rerun."""
    page.wait_for_function(
        "document.querySelector('[data-testid=stApp]').getAttribute('data-test-script-state') === 'notRunning'",
        polling=10,
    )


def no_trouble(page: Page) -> None:
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)


Restart = Callable[[], None]


@pytest.fixture
def own_server(server: str, tmp_path: Path) -> Iterator[tuple[str, Restart]]:
    """A server with a workspace, and the function that kills it outright and starts it again."""
    port, log, workspace = free_port(), tmp_path / "log", str(tmp_path / "workspace")
    running = [start_app(port, log, CALIB_WORKSPACE=workspace)]

    def restart() -> None:
        running[-1].kill()
        running[-1].wait(timeout=300)
        running.append(start_app(port, log, CALIB_WORKSPACE=workspace))

    yield f"http://127.0.0.1:{port}", restart
    running[-1].terminate()
    running[-1].wait(timeout=300)
