"""Names from files that are pictures and links load and link nothing on any page, in a real browser."""

from __future__ import annotations

from urllib.parse import urlparse

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from calib.registry import METHODS
from calib.ui.menu import MENU
from tests.browser.conftest import go, recommended, settle
from tests.browser.test_heights import unfold
from tests.ui.conftest import npz
from tests.ui.test_hostile_names import FILE, NAMES, everything

pytestmark = [pytest.mark.browser, pytest.mark.long]

FITTED = ("temperature", "isotonic")

# All that leads to another host, or to a program as mailto: does, of HTML and of SVG with its own attribute.
OUTWARD = """() => [...document.querySelectorAll("*")].flatMap(element =>
  ["href", "xlink:href", "src", "action", "data", "poster"].map(name => element.getAttribute(name)).filter(Boolean)
  .filter(value => {
    const url = new URL(value, document.baseURI)
    const own = url.protocol === location.protocol && url.host === location.host
    return !own && !["data:", "blob:"].includes(url.protocol)
  }).map(value => `${element.tagName} ${value}`))"""


def test_no_page_of_fitted_classes_leads_elsewhere(visitor: Page, server: str) -> None:
    page, asked = visitor, list[str]()
    page.on("request", lambda request: asked.append(request.url))
    data = everything(400, 4)
    given = {"labels": np.array(NAMES)[data.labels], "class_names": np.array(NAMES), "groups": data.groups}
    given |= {name: getattr(data, name) for name in ("features", "train_features", "train_labels")}
    file = {"name": f"{FILE}.npz", "mimeType": "application/octet-stream", "buffer": npz(logits=data.logits, **given)}
    page.locator("input[type=file]").first.set_input_files(file)
    expect(page.get_by_test_id("stMetric").filter(has_text="Classes")).to_contain_text("4")
    go(page, "Fit")
    for switched in set(recommended(data)) ^ set(FITTED):
        page.get_by_role("button", name=METHODS[switched].title, exact=True).click()
        settle(page)
    page.get_by_role("button", name="Fit 2 calibrators").click()
    expect(page.get_by_role("button", name="Remove")).to_have_count(2)
    for title in [entry.title for entries in MENU.values() for entry in entries]:
        go(page, title)
        unfold(page)
        for plot in page.locator(".js-plotly-plot .nsewdrag").all():
            plot.hover(force=True)
        assert page.evaluate(OUTWARD) == [], title
    elsewhere = [url for url in map(urlparse, asked) if url.scheme not in ("data", "blob")]
    assert [url for url in elsewhere if url.netloc != urlparse(server).netloc] == []
