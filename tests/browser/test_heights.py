"""How tall every page and the report are at first sight, and that nothing has to be scrolled sideways.

Run as a script it prints the heights as a table, and keeps pictures of what it saw:
``python -m tests.browser.test_heights --pictures FOLDER --cases event --pages Data,Fit --theme dark``.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from calib.formatting import plural
from calib.ui.menu import entries
from tests.browser.conftest import QUIET, browser_path, new_page
from tests.browser.test_journey import no_trouble, settle
from tests.server.conftest import serve

WIDTHS = (1500, 1100, 420)
MOST = {1500: 2200, 420: 3500}
"""Pixels of a page's height by the window's width; at other widths it is only measured."""
MOST_OF_REPORT, MOST_BYTES = 12_000, 6_000_000
"""Pixels of a report with all its sections opened, in a window of 1500, and bytes of its file."""
REPORT = "the report, opened"
PATHS = {entry.title: entry.path for entry in entries()}
PAGES = tuple(PATHS)
CASES = {
    "10 classes": ("digits-cnn", True),
    "100 classes": ("simulated-100", True),
    "event": ("clinic-tumours", True),
    "nothing fitted": ("digits-cnn", False),
}
"""A sample, and whether the methods that the Fit page offers first are fitted to it."""

# The page scrolls inside Streamlit's main section, in a report the document does.
SIZE = """() => {
  const scroller = document.querySelector("[data-testid=stMain]") ?? document.scrollingElement
  const clipped = element => {
    for (let at = element.parentElement; at && at !== scroller; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== "visible") return true
    return false
  }
  const beyond = [...scroller.querySelectorAll("*")].filter(element => {
    const box = element.getBoundingClientRect()
    return box.width > 0 && box.height > 0 && box.right > innerWidth + 1 && !clipped(element)
  })
  const sideways = [document.scrollingElement, scroller].some(part => part.scrollWidth > part.clientWidth)
  const named = beyond.map(element => element.dataset.testid || element.className?.baseVal || element.tagName)
  return {height: scroller.scrollHeight, wide: sideways ? [...named, "the page"] : named}
}"""
DRAWN = """() => {
  const main = document.querySelector("[data-testid=stMain]")
  const state = document.querySelector("[data-testid=stApp]").dataset.testScriptState
  const count = selector => main.querySelectorAll(selector).length
  const size = main.scrollHeight
  window.calmFor = window.lastSize === size ? (window.calmFor ?? 0) + 1 : 0
  window.lastSize = size
  return state === "notRunning" && window.calmFor > 4 && !count("[data-testid=stSkeleton], [data-testid=stSpinner]")
    && count("[data-testid=stPlotlyChart]") === count("[data-testid=stPlotlyChart] .main-svg:first-of-type")
}"""


@dataclass(frozen=True)
class Seen:
    """A page of a case as a window of one width shows it; ``wide`` names what is wider than the window."""

    case: str
    page: str
    width: int
    height: int
    wide: tuple[str, ...]

    @property
    def faults(self) -> list[str]:
        """What is wrong with it, in words."""
        most = MOST_OF_REPORT if self.page == REPORT and self.width == max(WIDTHS) else MOST.get(self.width)
        high = self.page != REPORT or self.width == max(WIDTHS)
        where = f"{self.page} ({self.case}) at {self.width}"
        faults = [f"{where}: {self.height:,} px tall"] if high and most is not None and self.height > most else []
        return faults + [f"{where}: wider than the window: {', '.join(sorted(set(self.wide)))}"] * bool(self.wide)


def open_case(page: Page, url: str, case: str) -> None:
    """Open a sample and wait for its fits."""
    sample, fitted = CASES[case]
    page.goto(url)
    page.locator(f".st-key-sample-{sample} button").first.dispatch_event("click")  # with its help it is there twice
    expect(page.get_by_text("Recognised as")).to_be_visible()
    settle(page)
    if not fitted:
        return
    go(page, "Fit")
    start = page.locator(".st-key-fit-start button")
    n_fits = int(start.inner_text().split()[-2])
    start.click()
    expect(page.get_by_test_id("stSidebar").get_by_text(re.compile(rf"\b{n_fits} fitted\s*$"))).to_be_visible()


def link_to(page: Page, title: str) -> Locator:
    """The page's line in the menu, which may be folded away."""
    links = page.get_by_test_id("stSidebar").get_by_test_id("stPageLink-NavLink")
    name = Path(PATHS[title]).stem.partition("_")[2]  # the title may be another one in the view
    return links.and_(page.locator(f'[href^="{name}"]')) if name else links.first


def go(page: Page, title: str) -> None:
    """Follow the menu and wait until all of the page is drawn and its height stays."""
    link_to(page, title).dispatch_event("click")
    expect(page).to_have_title(f"{title} · calib")
    settle(page)
    page.wait_for_function(DRAWN, polling=200)


def unfold(page: Page) -> None:
    """Open every folded question of the page, one after the other, and wait for what it draws."""
    folded = page.get_by_test_id("stMain").locator("details:not([open]) > summary")
    while folded.count():
        folded.first.click()
        settle(page)
        page.wait_for_function(DRAWN, polling=200)


def see(page: Page, case: str, title: str, width: int, picture: Path | None = None) -> Seen:
    """Measure what is shown, and keep a picture of all of it where a folder is given."""
    size = page.evaluate(SIZE)
    if picture is not None:
        before = page.viewport_size
        page.set_viewport_size({"width": width, "height": size["height"]})
        page.wait_for_function(DRAWN, polling=200)
        page.screenshot(path=picture / f"{case} {title} {width}.png".replace(" ", "_").replace(",", ""))
        assert before is not None
        page.set_viewport_size(before)
    return Seen(case, title, width, size["height"], tuple(size["wide"]))


def pages_of(
    page: Page, url: str, case: str, titles: Sequence[str] = PAGES, widths: Sequence[int] = WIDTHS,
    picture: Path | None = None,
) -> list[Seen]:  # fmt: skip
    """Every page of a case at each width, from the widest, where the menu stands open, to the narrowest."""
    open_case(page, url, case)
    seen = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 1000})
        for title in titles:
            if not link_to(page, title).count():  # left out: the data lack what it needs
                continue
            go(page, title)
            no_trouble(page)
            seen.append(see(page, case, title, width, picture))
    return seen


def report_of(page: Page, folder: Path, case: str) -> tuple[list[Seen], int]:
    """The report of the fits that a page has open, with all its sections opened; and the bytes of its file."""
    page.set_viewport_size({"width": max(WIDTHS), "height": 1000})
    go(page, "Export")
    page.get_by_role("button", name="Report (HTML)").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save report.html").click()
    path = folder / "report.html"
    saved.value.save_as(path)
    report = page.context.new_page()
    seen = []
    for width in WIDTHS:
        report.set_viewport_size({"width": width, "height": 1000})
        report.goto(path.as_uri())  # anew: plotly fits figures to another width a moment later
        report.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        report.wait_for_function("[...document.querySelectorAll('.chart')].every(one => one.querySelector('svg'))")
        seen.append(see(report, case, REPORT, width))
    report.close()
    return seen, path.stat().st_size


def as_markdown(seen: Sequence[Seen]) -> str:
    """A row for each page, with its heights by case and width."""
    cases, widths = list(dict.fromkeys(one.case for one in seen)), sorted({one.width for one in seen}, reverse=True)
    heights = {(one.page, one.case, one.width): f"{one.height:,}" for one in seen}
    head = ["page", *(f"{case}, {width}" for case in cases for width in widths)]
    rows = [
        [title, *(heights.get((title, case, width), "–") for case in cases for width in widths)]
        for title in dict.fromkeys(one.page for one in seen)
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] + ["--:"] * (len(head) - 1), *rows])


@pytest.mark.browser
def test_a_page_is_short_and_as_wide_as_the_window(visitor: Page, server: str) -> None:
    seen = pages_of(visitor, server, "nothing fitted", ["Reliability"], (1500, 420))
    assert [fault for one in seen for fault in one.faults] == []


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.parametrize("case", ["10 classes", "event"])
def test_every_page_is_short_and_as_wide_as_the_window(visitor: Page, server: str, case: str, tmp_path: Path) -> None:
    seen = pages_of(visitor, server, case)
    assert {one.page for one in seen} >= set(PAGES) - {"Geometry", "Active learning"}
    if CASES[case][1]:
        report, n_bytes = report_of(visitor, tmp_path, case)
        assert n_bytes < MOST_BYTES
        seen += report
    assert [fault for one in seen for fault in one.faults] == []


def test_what_is_too_tall_or_too_wide_is_a_fault() -> None:
    assert Seen("event", "Data", 1500, 2200, ()).faults == []
    assert "2,201 px tall" in Seen("event", "Data", 1500, 2201, ()).faults[0]
    assert Seen("event", "Data", 1100, 9999, ()).faults == []
    assert "stDataFrame" in Seen("event", "Data", 1100, 10, ("stDataFrame",)).faults[0]
    assert Seen("event", REPORT, 1500, 12_000, ()).faults == []
    assert Seen("event", REPORT, 420, 30_000, ()).faults == []
    assert "12,001 px tall" in Seen("event", REPORT, 1500, 12_001, ()).faults[0]


def _measure(browser: Browser, url: str, asked: argparse.Namespace) -> list[Seen]:
    seen: list[Seen] = []
    for case in asked.cases.split(","):
        page = new_page(browser, color_scheme=asked.theme)
        titles = asked.pages.split(",") if asked.pages else PAGES
        widths = [int(width) for width in asked.widths.split(",")]
        seen += pages_of(page, url, case, titles, widths, asked.pictures)
        if CASES[case][1] and not asked.pages:
            with tempfile.TemporaryDirectory() as folder:
                report, n_bytes = report_of(page, Path(folder), case)
            seen += report
            print(f"The report of {case} has {n_bytes:,} bytes.")
        page.context.close()
    return seen


def main() -> None:
    """Measure, and print the table and what is too tall or too wide."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--pages", default="", help="titles, all and the report by default")
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    parser.add_argument("--theme", default="light", choices=("light", "dark"))
    parser.add_argument("--pictures", type=Path, help="a folder for a picture of each page")
    asked = parser.parse_args()
    if asked.pictures is not None:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder) / "log") as served,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=browser_path(), headless=True, args=QUIET)
        seen = _measure(browser, served.url, asked)
        browser.close()
    print(as_markdown(seen))
    faults = [fault for one in seen for fault in one.faults]
    print("\n".join([f"\n{plural(len(faults), 'fault')}", *faults]))


if __name__ == "__main__":
    main()
