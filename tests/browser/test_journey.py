"""The journey of a person who has only the README: upload, understand, fit, compare, export."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import calib
from calib.export import runtime
from calib.formatting import percent
from calib.registry import METHODS
from tests.browser.conftest import all_fitted, go, no_trouble, recommended, settle
from tests.conftest import ROOT, simulate

pytestmark = pytest.mark.browser


ANSWER = re.compile("Take|lowest NLL")
"""What Compare's first sentence says."""
COUNT_CLICKS = """() => {
    window.clicks = 0;
    addEventListener("pointerdown", event => { window.clicks += event.isTrusted }, true);
}"""


def test_from_an_upload_to_the_exported_best_calibrator_in_four_clicks(
    visitor: Page, tmp_path: Path
) -> None:
    page, file = visitor, tmp_path / "outputs.npz"
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(COUNT_CLICKS)
    outputs, labels = simulate(600)
    np.savez(file, logits=outputs, labels=labels)
    n = len(recommended(calib.load(file)))

    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        file
    )  # the file dialog is one click
    page.get_by_role("button", name=f"Fit the {n} recommended calibrators").click()
    expect(page.get_by_role("heading", name="Compare", exact=True, level=1)).to_be_visible()
    main, menu = page.get_by_test_id("stMain"), page.get_by_test_id("stSidebar")
    expect(
        menu.get_by_text(re.compile(rf"(?<!of ){n} fitted"))
    ).to_be_visible()  # the page follows by itself
    expect(main.get_by_test_id("stProgress")).to_have_count(0)
    settle(page)
    expect(page.locator(".js-plotly-plot")).to_have_count(1)  # the diagram
    no_trouble(page)
    answer = main.get_by_test_id("stMarkdownContainer").filter(has_text=ANSWER).first.inner_text()
    menu.get_by_role("link", name="Export", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Bundle").click()
    saved.value.save_as(tmp_path / "calibrator.zip")
    exported = runtime.load(tmp_path / "calibrator.zip")
    assert METHODS[exported.method].title in answer
    assert 1 + page.evaluate("window.clicks") == 4

    page.get_by_text("all rows", exact=True).click()
    expect(page.get_by_text(f"{len(outputs):,} rows, ")).to_be_visible()
    settle(page)
    with page.expect_download() as calibrated:
        page.get_by_role("button", name="Download npz").click()
    calibrated.value.save_as(tmp_path / "calibrated.npz")
    with np.load(tmp_path / "calibrated.npz") as downloaded:
        np.testing.assert_allclose(
            exported.predict_proba(outputs), downloaded["probabilities"], rtol=0, atol=1e-9
        )
    no_trouble(page)
    own = page.url.partition("/Export")[0]
    assert len(asked) > 10
    assert [
        url
        for url in asked
        if not url.startswith(own) and urlparse(url).scheme not in ("data", "blob")
    ] == []


@pytest.mark.long
def test_from_loans_to_an_exported_cut_in_six_clicks(visitor: Page, tmp_path: Path) -> None:
    page, file = visitor, ROOT / "sample_data" / "simulated-loans.csv"
    page.evaluate(COUNT_CLICKS)
    n = len(recommended(calib.load(file)))
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        file
    )  # the file dialog is one click
    page.get_by_role("button", name=f"Fit the {n} recommended calibrators").click()
    menu = page.get_by_test_id("stSidebar")
    expect(menu.get_by_text(re.compile(rf"(?<!of ){n} fitted"))).to_be_visible()
    menu.get_by_role("link", name="Decide", exact=True).click()
    for label, value in (
        ("False alarms that one miss is worth", "6"),
        ("Today's threshold, in %", "50"),
    ):
        box = page.get_by_role("spinbutton", name=label)
        box.click()
        box.fill(value)
        box.press("Enter")
        settle(page)
    expect(page.get_by_text(percent(1 / 7)).first).to_be_visible()
    expect(page.get_by_text(f"today's threshold of {percent(0.5)}")).to_be_visible()
    no_trouble(page)
    page.get_by_role("button", name=re.compile("with this decision$")).click()
    assert 1 + page.evaluate("window.clicks") == 6
    expect(page.get_by_text("These files also decide")).to_be_visible()
    settle(page)
    no_trouble(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Bundle").click()
    saved.value.save_as(tmp_path / "calibrator.zip")
    exported, data = runtime.load(tmp_path / "calibrator.zip"), calib.load(file)
    assert data.event is not None
    risk = exported.calibrator.predict_proba(data.logits)[:, data.event.column]
    np.testing.assert_array_equal(
        exported.answer(data.logits, more=("actions",))["actions"], risk >= 1 / 7
    )


@pytest.mark.long
def test_a_click_on_a_method_shows_it_beside_the_raw_model_on_all_pages(
    visitor: Page, tmp_path: Path
) -> None:
    page, file = visitor, tmp_path / "outputs.npz"
    outputs, labels = simulate(2000)
    np.savez(file, logits=outputs, labels=labels)
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(file)
    expect(page.get_by_text("Read as: ")).to_be_visible()
    settle(page)
    go(page, "Fit")
    page.get_by_role("button", name=re.compile(r"^Fast \(")).click()
    settle(page)
    page.get_by_role("button", name=re.compile(r"^Fit \d+ calibrators")).click()
    all_fitted(page)
    main = page.get_by_test_id("stMain")
    go(page, "Compare")
    main.get_by_role("button", name="Beta").click()
    expect(main.locator("strong").filter(has_text=re.compile(r"^Beta\b"))).to_be_visible()
    settle(page)
    no_trouble(page)
    go(page, "Reliability")
    expect(page.locator(".js-plotly-plot")).to_have_count(2)  # the raw model and the method
    expect(main.locator("strong").filter(has_text=re.compile(r"^Beta\b"))).to_be_visible()


@pytest.mark.long
def test_fast_clicks_while_fits_run_keep_the_connection(visitor: Page, tmp_path: Path) -> None:
    page, file = visitor, tmp_path / "outputs.npz"
    outputs, labels = simulate(2000, 10)
    np.savez(file, logits=outputs, labels=labels)
    page.locator("input[type=file]").first.set_input_files(file)
    expect(page.get_by_text("Read as: ")).to_be_visible()
    settle(page)
    go(page, "Fit")
    page.get_by_role("button", name=re.compile(r"^Fit \d+ calibrators")).click()
    go(page, "Reliability")
    page.get_by_text("Bins, scale, band and class").first.click()
    lost = page.get_by_text("Connection error")
    for choice in (
        "Logit",
        "Linear",
    ) * 20:  # without a wait, so that runs are asked for between runs
        expect(lost).to_have_count(
            0
        )  # a dialog would lie over the menu until the test's patience ends
        # While a run is under way, parts of the page may stand there twice, the old one below the new one.
        page.get_by_test_id("stMain").get_by_text(choice, exact=True).first.click()
    settle(page)
    no_trouble(page)
    expect(page.get_by_role("radio", name="Logit", exact=True)).to_have_count(1)
