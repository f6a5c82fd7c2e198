"""A real server and a real headless browser for the journey."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import ROOT

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


def browser_path() -> str:
    """Path of a Chrome or Chromium; fails loudly where there is none."""
    found = os.environ.get("CALIB_CHROME") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and MAC.exists():
        found = str(MAC)
    if found is None:
        pytest.fail("no Chrome or Chromium: install one, set CALIB_CHROME, or skip with CALIB_SKIP_BROWSER=1")
    return found


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The app on a free port, as `streamlit run app.py` starts it."""
    if os.environ.get("CALIB_SKIP_BROWSER") == "1":
        pytest.skip("CALIB_SKIP_BROWSER=1")
    port = free_port()
    process = start_app(port)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_app(port: int, **environment: str) -> subprocess.Popen[bytes]:
    """Start the app and wait until it answers."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true", f"--server.port={port}"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ | environment)
    _wait_until_healthy(f"http://127.0.0.1:{port}", process)
    return process


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(240):
        if process.poll() is not None:
            pytest.fail(f"the app ended with {process.returncode} before it answered")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.25)
    pytest.fail("the app did not answer on its health address within a minute")


@pytest.fixture(scope="session")
def browser(server: str) -> Iterator[Browser]:
    """Headless Chrome or Chromium."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser_path(), headless=True, args=QUIET)
        yield launched
        launched.close()


@pytest.fixture
def visitor(server: str, browser: Browser) -> Iterator[Page]:
    """A fresh visitor on the Data page, 1500 pixels wide."""
    context = browser.new_context(viewport={"width": 1500, "height": 1000}, accept_downloads=True)
    page = context.new_page()
    page.goto(server)
    page.get_by_role("heading", name="Data", exact=True).wait_for(timeout=60_000)
    yield page
    context.close()
