"""What axe-core finds on every page, with all its questions unfolded, and in the report, in light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from calib.plots.style import PAGES
from calib.reporting import Report, html
from calib.ui.menu import entries
from tests.browser.conftest import all_fitted, go, new_page, settle
from tests.browser.test_heights import unfold
from tests.browser.test_report import of_answers, of_risks
from tests.conftest import ROOT
from tests.plots.conftest import contrast
from tests.reporting.conftest import make_report

pytestmark = [pytest.mark.browser, pytest.mark.long]

SAMPLE = ROOT / "sample_data" / "digits-cnn.npz"
SERIOUS = ("serious", "critical")
ORDER = "heading-order"
"""A rule of moderate impact that is kept all the same: headings without a gap are the table of contents of a page."""


def faults(page: Page) -> list[str]:
    """The rules that are broken by what is drawn here, with the elements."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found
        if rule["impact"] in SERIOUS or rule["id"] == ORDER
        for node in rule["nodes"]
    ]


WRITTEN = """() => [...document.querySelectorAll('.js-plotly-plot .main-svg :is(text, tspan)')]
    .filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
    .map(element => [element.textContent, getComputedStyle(element).fill])"""


def as_hex(color: str) -> str:
    """``rgb(1, 2, 3)`` as ``#010203``."""
    red, green, blue = map(int, re.findall(r"\d+", color)[:3])
    return f"#{red:02x}{green:02x}{blue:02x}"


def faint(page: Page) -> list[str]:
    """Texts of figures, into which axe-core does not look, with a contrast below 4.5."""
    background = as_hex(
        page.get_by_test_id("stApp").evaluate(
            "element => getComputedStyle(element).backgroundColor"
        )
    )
    written = {(text, as_hex(fill)) for text, fill in page.evaluate(WRITTEN)}
    return [
        f"{text}: {color}" for text, color in sorted(written) if contrast(color, background) < 4.5
    ]


@pytest.fixture(scope="module", params=PAGES)
def fitted(server: str, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A visitor of each theme with a sample open and some calibrators fitted."""
    page = new_page(browser, color_scheme=request.param)
    page.goto(server)
    page.locator("input[type=file]").first.set_input_files(SAMPLE)
    expect(page.get_by_text("Read as: ")).to_be_visible()
    settle(page)
    app = page.get_by_test_id("stApp")
    assert (
        as_hex(app.evaluate("element => getComputedStyle(element).backgroundColor"))
        == PAGES[request.param][0]
    )
    go(page, "Fit")
    page.get_by_role("button", name=re.compile(r"^Fit \d+ calibrators")).click()
    all_fitted(page)
    yield page
    page.context.close()


def test_no_page_has_a_serious_fault(fitted: Page) -> None:
    page, found = fitted, {}
    for title in [entry.title for entry in entries()]:
        go(page, title)
        unfold(page)
        found[title] = faults(page) + faint(page)
    broken = [
        f"{title}: {fault}" for title, faults_of_page in found.items() for fault in faults_of_page
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("made", "theme"), [(make_report, "light"), (of_risks, "dark"), (of_answers, "dark")]
)
def test_the_report_has_no_serious_fault(
    browser: Browser, tmp_path: Path, theme: str, made: Callable[[], Report]
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(made()), encoding="utf-8")
    page = new_page(browser, color_scheme=theme, offline=True)
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert faults(page) == []
    page.context.close()
