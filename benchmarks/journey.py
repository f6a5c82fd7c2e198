"""From an upload to the exported best calibrator in a real browser: the seconds of each step, and the clicks.

    python -m benchmarks.journey [--rows 10000] [--classes 100] [--repeats 5]

Each repeat serves the app anew. A step ends when what it asks for can be seen; medians are reported. Needs Playwright
and a Chrome or Chromium.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect, sync_playwright

from benchmarks.measure import machine, markdown
from benchmarks.outputs import simulated
from benchmarks.process_tree import server

PATIENCE = 1_200_000
"""Milliseconds that a step may take."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ANSWER = re.compile(r"^(\*\*)?(Take|Keep) |lowest NLL")
"""How the first sentence of Compare begins, or what it says."""
COUNT_CLICKS = "window.clicks = 0; addEventListener('pointerdown', e => { window.clicks += e.isTrusted }, true)"
READY = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"


def steps(page: Page, url: str, file: Path) -> dict[str, float]:
    """The seconds of each step of one journey, and the number of clicks."""
    main, menu = page.get_by_test_id("stMain"), page.get_by_test_id("stSidebar")
    took: dict[str, float] = {}
    began = time.perf_counter()

    def ends(step: str) -> None:
        nonlocal began
        page.wait_for_function(READY, polling=10)
        took[step] = time.perf_counter() - began
        began = time.perf_counter()

    def go(title: str) -> None:
        menu.get_by_role("link", name=title, exact=True).click()
        expect(page.get_by_role("heading", name=title, exact=True, level=1)).to_be_visible()

    page.goto(url)
    page.get_by_role("heading", level=1).wait_for()
    page.evaluate(COUNT_CLICKS)
    ends("first page")
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(file)
    expect(page.get_by_text("Recognised as")).to_be_visible()
    ends("upload read")
    page.get_by_role("button", name="recommended").click()
    expect(menu.get_by_text(re.compile(r"(?<!of )\b\d+ fitted"))).to_be_visible()
    ends("all fitted")
    if not page.get_by_role("heading", name="Compare", exact=True, level=1).count():
        go("Compare")
    expect(main.get_by_test_id("stProgress")).to_have_count(0)
    expect(main.get_by_test_id("stMarkdownContainer").filter(has_text=ANSWER).first).to_be_visible()
    ends("answer on Compare")
    go("Export")
    expect(page.get_by_role("button", name="Bundle")).to_be_visible()
    ends("Export")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Bundle").click()
    saved.value.path()
    ends("file saved")
    return {**took, "in all, s": sum(took.values()), "clicks, the file dialog one": 1 + page.evaluate("window.clicks")}


def journey(file: Path, chrome: str) -> dict[str, float]:
    """One journey with a server and a browser of its own."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as (url, _), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chrome, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": 1500, "height": 1000}).new_page()
        page.set_default_timeout(PATIENCE)
        try:
            return steps(page, url, file)
        finally:
            browser.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    expect.set_options(timeout=PATIENCE)
    chrome = next(filter(None, map(shutil.which, BROWSERS)))
    runs: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outputs.npz"
        logits, labels = simulated(asked.rows, asked.classes)
        np.savez(file, logits=logits, labels=labels)
        for _ in range(asked.repeats):
            runs.append(journey(file, chrome))
            print({step: round(value, 2) for step, value in runs[-1].items()}, flush=True)
    rows = [[step, f"{statistics.median(run[step] for run in runs):.2f}"] for step in runs[0]]
    print(machine())
    print(markdown(["step", "median"], rows))


if __name__ == "__main__":
    main()
