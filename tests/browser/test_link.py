"""What a person had open comes back after a refresh, on any page, and after the server was killed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

import calib
from tests.browser.conftest import (
    Restart,
    all_fitted,
    go,
    new_page,
    no_trouble,
    recommended,
    settle,
    switch_methods,
)
from tests.conftest import ROOT

pytestmark = pytest.mark.browser

FILE = ROOT / "sample_data" / "digits-mlp.npz"
CHOSEN = ("temperature", "isotonic")
LINK = re.compile(r"[?&]w=([A-Za-z0-9_-]{43})$")


def token(page: Page) -> str:
    expect(page).to_have_url(LINK)
    found = LINK.search(page.url)
    assert found is not None
    return found[1]


def shows_what_was_open(page: Page, title: str) -> None:
    expect(page.get_by_role("heading", name=title, exact=True, level=1)).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("digits-mlp")).to_be_visible()
    settle(page)
    no_trouble(page)


@pytest.mark.long
def test_a_link_outlives_refreshes_and_the_server(
    own_server: tuple[str, Restart], browser: Browser
) -> None:
    url, restart = own_server
    page = new_page(browser)
    page.goto(url)
    page.locator("input[type=file]").first.set_input_files(FILE)
    expect(page.get_by_text("Read as: ")).to_be_visible()
    settle(page)
    mine = token(page)

    go(page, "Fit")
    switch_methods(page, set(recommended(calib.load(FILE))) ^ set(CHOSEN))
    page.get_by_role("button", name="Fit 2 calibrators").click()
    all_fitted(page, 2)
    go(page, "Reliability")
    assert token(page) == mine
    page.reload()
    shows_what_was_open(page, "Reliability")
    expect(
        page.get_by_test_id("stMain").get_by_text("Temperature", exact=True).first
    ).to_be_visible()
    assert token(page) == mine
    page.get_by_test_id("stMain").get_by_role(
        "link", name=re.compile("^Next")
    ).click()  # not one of the menu's
    shows_what_was_open(page, "Groups")
    assert token(page) == mine

    restart()
    page.goto(f"{url}/Fit?w={mine}")
    shows_what_was_open(page, "Fit")
    all_fitted(page, 2)
    expect(
        page.get_by_role("button", name="Fit 2 calibrators")
    ).to_be_visible()  # the choice of methods too

    go(page, "Data")
    expect(page.get_by_text("Read as: ")).to_be_visible()
    page.get_by_text("Where your data are kept").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.get_by_role("button", name="Delete my data").click()
    page.get_by_role("button", name="Delete now").click()
    expect(page.get_by_text("were deleted")).to_be_visible()
    expect(page).not_to_have_url(LINK)
    page.goto(f"{url}/?w={mine}")
    expect(page.get_by_text("Nothing is kept under this link")).to_be_visible()
    page.context.close()
