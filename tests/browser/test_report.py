"""A report opened from disk, with no network, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser

from calib.reporting import Report, html
from calib.reporting.sections import DRAWN
from tests.browser.conftest import new_page
from tests.reporting.conftest import HOSTILE, make_report
from tests.reporting.test_answers import report_of as answer_report
from tests.reporting.test_risk_model import report_of as risk_report
from tests.reporting.test_risk_model import small
from tests.test_pairs import pairs

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("width", "theme"),
    [(420, "dark"), *(pytest.param(*each, marks=pytest.mark.long) for each in [(420, "light"), (1500, "light")])],
)
def test_it_opens_from_disk_and_asks_nothing_of_the_network(
    browser: Browser, tmp_path: Path, width: int, theme: str
) -> None:
    path = tmp_path / "report.html"
    report = make_report()
    path.write_text(html(report), encoding="utf-8")
    page = new_page(browser, viewport={"width": width, "height": 900}, color_scheme=theme, offline=True)
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    assert asked == [path.as_uri()]
    assert said == []
    assert page.title() == f"Calibration of {HOSTILE[0]}"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(14, 17, 23)"}[theme]
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    figures = page.locator("svg.figure")
    assert figures.count() == 3 + len(report.methods) + len(DRAWN) + 3
    boxes = [figure.bounding_box() for figure in figures.all()]
    assert all(box and box["width"] > 250 and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    page.context.close()


def of_risks() -> Report:
    return risk_report(small(), "platt", "isotonic")


def of_answers() -> Report:
    return answer_report(pairs(), "platt", "isotonic", answer_costs=(5.0, 1.0))[0]


@pytest.mark.parametrize("made", [make_report, of_risks, of_answers])
def test_it_prints_its_answer_on_one_page_and_what_was_opened_after_it(
    browser: Browser, tmp_path: Path, made: Callable[[], Report]
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(made()), encoding="utf-8")
    page = new_page(browser, offline=True)
    page.goto(path.as_uri())
    assert n_pages(page.pdf(prefer_css_page_size=True)) == 1
    page.locator("summary").first.click()
    assert n_pages(page.pdf(prefer_css_page_size=True)) == 2
    page.context.close()


@pytest.mark.parametrize("made", [of_risks, of_answers])
def test_it_is_read_on_a_phone_and_opened_it_stays_short(
    browser: Browser, tmp_path: Path, made: Callable[[], Report]
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(made()), encoding="utf-8")
    page = new_page(browser, viewport={"width": 420, "height": 900}, offline=True)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.evaluate("document.documentElement.scrollHeight") <= 3500, "at first sight"
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    page.set_viewport_size({"width": 1500, "height": 1000})
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000
    page.context.close()


def n_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_its_numbers_can_be_saved_from_disk(browser: Browser, tmp_path: Path) -> None:
    path, report = tmp_path / "report.html", make_report()
    path.write_text(html(report), encoding="utf-8")
    page = new_page(browser, offline=True)
    page.goto(path.as_uri())
    with page.expect_download() as download:
        page.get_by_role("link", name="as CSV").click()
    download.value.save_as(tmp_path / "saved.csv")
    assert download.value.suggested_filename == "comparison.csv"
    assert len(pd.read_csv(tmp_path / "saved.csv")) == len(report.table)
    page.context.close()
