"""How tall every page is at first sight, and that nothing has to be scrolled sideways; of reports see test_report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from calib.ui.menu import entries
from tests.browser.conftest import no_trouble, settle

WIDTHS = (1500, 1100, 420)
MOST = {1500: 2200, 420: 2200}
"""Pixels of a page's height by the window's width; at other widths it may have any."""
PATHS = {entry.title: entry.path for entry in entries()}
PAGES = tuple(PATHS)

# The page scrolls inside Streamlit's main section.
SIZE = """() => {
  const scroller = document.querySelector("[data-testid=stMain]")
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


def open_sample(page: Page, url: str, sample: str, fitted: bool = True) -> None:
    """Open a sample, fit what the Fit page offers first, and wait for it."""
    page.goto(url)
    page.locator(f".st-key-sample-{sample} button").first.dispatch_event(
        "click"
    )  # with its help it is there twice
    expect(page.get_by_text("Read as: ")).to_be_visible()
    settle(page)
    if not fitted:
        return
    go_and_draw(page, "Fit")
    start = page.locator(".st-key-fit-start button")
    n_fits = int(start.inner_text().split()[-2])
    start.click()
    expect(
        page.get_by_test_id("stSidebar").get_by_text(re.compile(rf"\b{n_fits} fitted\s*$"))
    ).to_be_visible()


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
            size, most = page.evaluate(SIZE), MOST.get(width, float("inf"))
            found += [f"{title} at {width}: {size['height']:,} px tall"] * (size["height"] > most)
            found += [
                f"{title} at {width}: {beyond} wider than the window"
                for beyond in sorted(set(size["wide"]))
            ]
    assert seen >= set(titles) - {"Geometry", "Active learning"}
    return found


@pytest.mark.browser
def test_a_page_is_short_and_as_wide_as_the_window(visitor: Page, server: str) -> None:
    open_sample(visitor, server, "digits-cnn", fitted=False)
    assert faults_of_pages(visitor, ["Reliability"], (1500, 420)) == []


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.parametrize("sample", ["digits-cnn", "clinic-tumours"])
def test_every_page_is_short_and_as_wide_as_the_window(
    visitor: Page, server: str, sample: str
) -> None:
    open_sample(visitor, server, sample)
    assert faults_of_pages(visitor, PAGES, WIDTHS) == []
