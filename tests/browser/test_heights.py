"""How tall every page and the report are at first sight, and that nothing has to be scrolled sideways."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from calib.ui.menu import entries
from tests.browser.conftest import no_trouble, settle

WIDTHS = (1500, 1100, 420)
MOST = {1500: 2200, 420: 3500}
"""Pixels of a page's height by the window's width; at other widths it may have any."""
MOST_OF_REPORT, MOST_BYTES = 12_000, 6_000_000
"""Pixels of a report with all its sections opened, in a window of 1500, and bytes of its file."""
PATHS = {entry.title: entry.path for entry in entries()}
PAGES = tuple(PATHS)

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


def faults(page: Page, where: str, most: float) -> list[str]:
    """What is wrong with what is shown, in words."""
    size = page.evaluate(SIZE)
    tall = [f"{where}: {size['height']:,} px tall"] * (size["height"] > most)
    return tall + [f"{where}: wider than the window: {', '.join(sorted(set(size['wide'])))}"] * bool(size["wide"])


def open_sample(page: Page, url: str, sample: str, fitted: bool = True) -> None:
    """Open a sample, fit what the Fit page offers first, and wait for it."""
    page.goto(url)
    page.locator(f".st-key-sample-{sample} button").first.dispatch_event("click")  # with its help it is there twice
    expect(page.get_by_text("Recognised as")).to_be_visible()
    settle(page)
    if not fitted:
        return
    go_and_draw(page, "Fit")
    start = page.locator(".st-key-fit-start button")
    n_fits = int(start.inner_text().split()[-2])
    start.click()
    expect(page.get_by_test_id("stSidebar").get_by_text(re.compile(rf"\b{n_fits} fitted\s*$"))).to_be_visible()


def link_to(page: Page, title: str) -> Locator:
    """The page's line in the menu, which may be folded away."""
    links = page.get_by_test_id("stSidebar").get_by_test_id("stPageLink-NavLink")
    name = Path(PATHS[title]).stem.partition("_")[2]  # the title may be another one in the view
    return links.and_(page.locator(f'[href^="{name}"]')) if name else links.first


def go_and_draw(page: Page, title: str) -> None:
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


def faults_of_pages(page: Page, titles: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Those of every page at each width, from the widest, where the menu stands open, to the narrowest."""
    found, seen = [], set()
    for width in widths:
        page.set_viewport_size({"width": width, "height": 1000})
        for title in titles:
            if not link_to(page, title).count():  # left out: the data lack what it needs
                continue
            go_and_draw(page, title)
            no_trouble(page)
            seen.add(title)
            found += faults(page, f"{title} at {width}", MOST.get(width, float("inf")))
    assert seen >= set(titles) - {"Geometry", "Active learning"}
    return found


def faults_of_report(page: Page, path: Path) -> list[str]:
    """Those of the report of the fits that a page has open, with all its sections opened."""
    page.set_viewport_size({"width": max(WIDTHS), "height": 1000})
    go_and_draw(page, "Export")
    page.get_by_role("button", name="Report (HTML)").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save report.html").click()
    saved.value.save_as(path)
    assert path.stat().st_size < MOST_BYTES
    report, found = page.context.new_page(), []
    for width in WIDTHS:
        report.set_viewport_size({"width": width, "height": 1000})
        report.goto(path.as_uri())  # anew: plotly fits figures to another width a moment later
        report.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        report.wait_for_function("[...document.querySelectorAll('.chart')].every(one => one.querySelector('svg'))")
        found += faults(report, f"the report at {width}", MOST_OF_REPORT if width == max(WIDTHS) else float("inf"))
    report.close()
    return found


@pytest.mark.browser
def test_a_page_is_short_and_as_wide_as_the_window(visitor: Page, server: str) -> None:
    open_sample(visitor, server, "digits-cnn", fitted=False)
    assert faults_of_pages(visitor, ["Reliability"], (1500, 420)) == []


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.parametrize("sample", ["digits-cnn", "clinic-tumours"])
def test_every_page_is_short_and_as_wide_as_the_window(visitor: Page, server: str, sample: str, tmp_path: Path) -> None:
    open_sample(visitor, server, sample)
    assert faults_of_pages(visitor, PAGES, WIDTHS) + faults_of_report(visitor, tmp_path / "report.html") == []
