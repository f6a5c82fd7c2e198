"""The table of tasks: the sample of a log, all of its tasks fitted, one opened, and the next from the menu's foot."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import new_page, no_trouble, settle

pytestmark = pytest.mark.browser


def shoot(page: Page, name: str) -> None:
    """Save a picture where the environment names a folder for them."""
    if folder := os.environ.get("CALIB_SHOTS"):
        page.wait_for_timeout(1500)
        page.screenshot(path=Path(folder, f"{name}.png"))


@pytest.mark.long
def test_from_the_table_to_the_bundle_and_through_the_tasks(
    server: str, browser: Browser, tmp_path: Path
) -> None:
    page = new_page(browser, accept_downloads=True)
    page.goto(server)
    page.get_by_role("heading", level=1).wait_for()
    settle(page)
    page.locator(".st-key-sample-decisions button").first.dispatch_event("click")
    headline = "6 questions over 1,500 rows: complaint and department off"
    expect(page.get_by_role("heading", name=headline)).to_be_visible()
    settle(page)
    shoot(page, "tasks")
    page.get_by_role("button", name="Fit all").click()
    bundle = page.get_by_role("button", name="Calibrators")
    expect(bundle).to_be_visible()
    expect(page.get_by_text("6 calibrators, ")).to_be_visible()
    with page.expect_download() as download:
        bundle.click()
    download.value.save_as(tmp_path / "tasks.zip")
    with zipfile.ZipFile(tmp_path / "tasks.zip") as content:
        listed = json.loads(content.read("tasks.json"))
    assert {*listed} == {"urgent", "complaint", "refund", "department", "language", "anger"}
    shoot(page, "tasks-fitted")
    page.locator(".st-key-tasks-open button").click()
    menu = page.get_by_test_id("stSidebar")
    switch = menu.get_by_role("combobox")
    expect(switch).to_be_visible()
    settle(page)
    no_trouble(page)
    shoot(page, "task-open")
    switch.click()
    page.get_by_role("option", name="refund").click()
    expect(menu.get_by_text("refund").first).to_be_visible()
    settle(page)
    no_trouble(page)
    page.context.close()
