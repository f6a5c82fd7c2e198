"""A report opened from disk, with no network, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from calib.reporting import Report, html
from tests.browser.axe import faults
from tests.browser.conftest import new_page
from tests.reporting.conftest import HOSTILE, Reading, make_report
from tests.reporting.test_answers import report_of as answer_report
from tests.reporting.test_risk_model import report_of as risk_report
from tests.reporting.test_risk_model import small
from tests.test_pairs import pairs

pytestmark = pytest.mark.browser

DOLLARS = ("$x^$", "$\\href{http://example.org}{y}$", *HOSTILE[:2])


def opened(browser: Browser, path: Path, **options: object) -> tuple[Page, list[str]]:
    """The page of a report, and what it asks for and says to the console."""
    page, said = new_page(browser, offline=True, **options), []
    page.on("request", lambda request: said.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    return page, said


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.wait_for_function(DRAWN)


DRAWN = """() => document.querySelectorAll(".chart").length
  === document.querySelectorAll(".chart.js-plotly-plot .main-svg:first-of-type").length"""


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        (420, "dark"),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in [(420, "light"), (1500, "light")]
        ),
    ],
)
def test_it_opens_from_disk_breaks_no_rule_of_its_policy_and_asks_nothing_of_the_network(
    browser: Browser, tmp_path: Path, width: int, theme: str
) -> None:
    path, document = tmp_path / "report.html", html(make_report())
    path.write_text(document, encoding="utf-8")
    page, said = opened(browser, path, viewport={"width": width, "height": 900}, color_scheme=theme)
    assert page.title() == f"Calibration of {HOSTILE[0]}"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 21, 28)"}[theme]
    unfold(page)
    assert said == [path.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    figures = page.locator(".chart > .plot-container")
    assert figures.count() == len(Reading(document).figures) >= 2
    boxes = [figure.bounding_box() for figure in figures.all()]
    assert all(
        box and box["width"] > 250 and box["x"] >= 0 and box["x"] + box["width"] <= width
        for box in boxes
    )
    ink = page.evaluate("getComputedStyle(document.querySelector('.xtick text')).fill")
    assert ink == page.evaluate("getComputedStyle(document.body).color")
    page.context.close()


def test_names_that_are_code_elsewhere_are_written_as_they_are(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    groups = [name * 1 for name in DOLLARS]
    path.write_text(html(make_report(groups)), encoding="utf-8")
    page, said = opened(browser, path)
    unfold(page)
    assert page.title() == f"Calibration of {DOLLARS[0]}"
    assert page.locator("img, iframe, main svg a").count() == 0
    assert said[0] == path.as_uri() and all("MathJax is not loaded" in line for line in said[1:])
    page.context.close()


def of_risks() -> Report:
    return risk_report(small(), "platt", "isotonic")


def of_answers() -> Report:
    return answer_report(pairs(), "platt", "isotonic")[0]


@pytest.mark.parametrize(
    "made", [make_report, of_risks, pytest.param(of_answers, marks=pytest.mark.long)]
)
def test_it_is_short_on_paper_and_on_a_phone_and_a_sentence_without_scripts(
    browser: Browser, tmp_path: Path, made: Callable[[], Report]
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(made()), encoding="utf-8")
    page, _ = opened(browser, path, viewport={"width": 420, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.evaluate("document.documentElement.scrollHeight") <= 5500, "at first sight"
    assert n_pages(page.pdf(prefer_css_page_size=True)) <= 2
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert 3 <= n_pages(page.pdf(prefer_css_page_size=True)) <= 9
    page.set_viewport_size({"width": 1500, "height": 1000})
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000
    assert page.evaluate("document.documentElement.scrollWidth") <= 1500
    page.context.close()
    plain = new_page(browser, offline=True, java_script_enabled=False)
    plain.goto(path.as_uri())
    sentences = plain.locator("#answer noscript").all()
    assert sentences and all(one.is_visible() for one in sentences)
    plain.context.close()


def n_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "theme"), [(make_report, "light"), (of_risks, "dark"), (of_answers, "dark")]
)
def test_axe_finds_no_serious_fault(
    browser: Browser, tmp_path: Path, theme: str, made: Callable[[], Report]
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(made()), encoding="utf-8")
    page, _ = opened(browser, path, color_scheme=theme)
    unfold(page)
    assert faults(page) == []
    page.context.close()
