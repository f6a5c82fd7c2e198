"""Every page once: its height at first sight, its width, what axe-core finds and the way through it by keyboard.

Of reports see test_report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from calib.plots.style import PAGES as BACKGROUNDS
from calib.ui.menu import entries
from tests.browser.axe import faint, faults
from tests.browser.conftest import no_trouble, settle
from tests.browser.keyboard import faults_of_the_keyboard

WIDTHS = (1500, 1100, 420)
MOST = {1500: 2200, 420: 2200}
"""Pixels of a page's height by the window's width; at other widths it may have any."""
PATHS = {entry.title: entry.path for entry in entries()}
PAGES = tuple(PATHS)
DARK = BACKGROUNDS["dark"][0]
POLLING = 100
"""Milliseconds between two looks at what is drawn."""

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


HAS_BACKGROUND = """([red, green, blue]) => `rgb(${red}, ${green}, ${blue})`
  === getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor"""


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


def all_drawn(page: Page) -> None:
    """Wait until no figure is missing and the page's height has stayed for a while."""
    page.evaluate("window.calmFor = 0")
    page.wait_for_function(DRAWN, polling=POLLING)


def go_and_draw(page: Page, title: str) -> None:
    """Follow the menu and wait until all of the page is drawn and its height stays."""
    link_to(page, title).dispatch_event("click")
    expect(page).to_have_title(f"{title} · calib")
    settle(page)
    all_drawn(page)


def unfold(page: Page) -> None:
    """Open every folded question of the page, one after the other, and wait for what they draw."""
    folded = page.get_by_test_id("stMain").locator("details:not([open]) > summary")
    while folded.count():
        folded.first.click()
        settle(page)
        if not folded.count():
            all_drawn(page)


def faults_of_size(page: Page, widths: Sequence[int]) -> list[str]:
    """What is too tall or wider than the window, at each width from that of the window, where the menu stands open."""
    found = []
    for width in widths:
        if page.viewport_size != (size := ViewportSize(width=width, height=1000)):
            page.set_viewport_size(size)
            all_drawn(page)
        seen, most = page.evaluate(SIZE), MOST.get(width, float("inf"))
        found += [f"at {width}: {seen['height']:,} px tall"] * (seen["height"] > most)
        found += [f"at {width}: {beyond} too wide" for beyond in sorted(set(seen["wide"]))]
    page.set_viewport_size({"width": widths[0], "height": 1000})
    return found


def faults_in_both_themes(page: Page) -> list[str]:
    """What axe-core finds, and texts that are too faint, in the light and in the dark.

    The server knows no theme, so that a dark page is that of the light in other colours.
    """
    light = [*faults(page), *faint(page)]
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(HAS_BACKGROUND, arg=[int(DARK[k : k + 2], 16) for k in (1, 3, 5)])
    all_drawn(page)
    dark = [*faults(page, runOnly=["color-contrast"]), *faint(page)]
    page.emulate_media(color_scheme="light")
    return [*(f"light: {fault}" for fault in light), *(f"dark: {fault}" for fault in dark)]


@pytest.mark.browser
def test_a_page_is_short_and_as_wide_as_the_window(visitor: Page, server: str) -> None:
    open_sample(visitor, server, "digits-cnn", fitted=False)
    go_and_draw(visitor, "Reliability")
    assert faults_of_size(visitor, (1500, 420)) == []


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.parametrize(
    ("sample", "more"),
    [("digits-cnn", faults_in_both_themes), ("clinic-tumours", faults_of_the_keyboard)],
    ids=["contrast", "keyboard"],
)
def test_every_page_fits_its_window_can_be_read_and_is_reached_by_keyboard(
    visitor: Page, server: str, sample: str, more: Callable[[Page], list[str]]
) -> None:
    """Pages of risks have every control that those of classes have, and more."""
    page, found = visitor, {}
    open_sample(page, server, sample)
    for title in PAGES:
        if not link_to(page, title).count():  # left out: the data lack what it needs
            continue
        go_and_draw(page, title)
        no_trouble(page)
        found[title] = faults_of_size(page, WIDTHS)
        unfold(page)
        found[title] += more(page)
    assert found.keys() >= {*PAGES} - {"Geometry", "Active learning"}
    broken = [f"{title}: {fault}" for title, of_page in found.items() for fault in of_page]
    assert not broken, "\n".join(broken)
