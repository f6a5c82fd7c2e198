"""Several files in one go, a question answered in two clicks, and roles that change after the page was loaded anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Restart, new_page
from tests.browser.test_journey import no_trouble, settle
from tests.browser.test_link import LINK
from tests.conftest import simulate, two_scores

pytestmark = [pytest.mark.browser, pytest.mark.long]


def give(page: Page, *files: Path) -> None:
    """Put files into the first uploader, all of them at once."""
    page.locator("input[type=file]").first.set_input_files(list(files))
    settle(page)


def test_two_arrays_in_one_go_then_a_question_and_roles_after_a_refresh(
    own_server: tuple[str, Restart], browser: Browser, tmp_path: Path
) -> None:
    page = new_page(browser)
    page.goto(own_server[0])
    page.get_by_role("heading", level=1).wait_for()
    logits, labels = simulate(400, 5)
    arrays = [tmp_path / "logits.npy", tmp_path / "labels.npy"]
    for path, array in zip(arrays, (logits, labels), strict=True):
        np.save(path, array)
    give(page, *arrays)
    expect(page.get_by_text("Recognised as")).to_be_visible()
    settle(page)
    no_trouble(page)

    table = tmp_path / "churn.csv"
    table.write_bytes(two_scores())
    page.locator("summary").filter(has_text="Open other data").click()
    expect(page.get_by_text("What each file is.")).to_be_visible()
    give(page, table)
    expect(page.get_by_text("Which is meant?")).to_be_visible()
    page.get_by_role("button", name="Open this way").first.click()  # the one click after that of giving the file
    expect(page.get_by_text("Event: churned", exact=False).first).to_be_visible()
    settle(page)
    no_trouble(page)

    expect(page).to_have_url(LINK)
    page.reload()
    expect(page.get_by_text("Columns and their roles")).to_be_visible()
    settle(page)
    page.get_by_text("Columns and their roles").click()
    chooser = page.get_by_test_id("stSelectbox").filter(has_text="age")
    subgroup = page.get_by_role("option", name="subgroup")
    for _ in range(60):  # opening the roles draws them anew, which closes a list that was opened before
        chooser.get_by_role("combobox").click()
        page.wait_for_timeout(1000)
        if subgroup.is_visible():
            break
    subgroup.click()
    page.get_by_role("button", name="Read with these roles").click()
    expect(page.get_by_text("Uploaded files are not kept.", exact=False)).to_be_visible()
    page.locator("input[type=file]").last.set_input_files(table)
    settle(page)
    expect(page.get_by_text("Uploaded files are not kept.", exact=False)).to_have_count(0)
    no_trouble(page)
    for _ in range(60):  # it may still be open from before
        if chooser.is_visible():
            break
        page.get_by_text("Columns and their roles").click()
        page.wait_for_timeout(1000)
    expect(chooser.get_by_role("combobox")).to_have_value("subgroup")
