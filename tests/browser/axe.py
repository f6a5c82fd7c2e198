"""What axe-core finds wrong with a page, and texts of its figures that are too faint."""

from __future__ import annotations

import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.plots.conftest import contrast

SERIOUS = ("serious", "critical")
ORDER = "heading-order"
"""A rule of moderate impact that is kept all the same: headings without a gap are the table of contents of a page."""


def faults(page: Page, **options: object) -> list[str]:
    """The rules that are broken by what is drawn here, with the elements; options are axe-core's."""
    options["resultTypes"] = ["violations"]
    found = Axe().run(page, options=options).response["violations"]
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
