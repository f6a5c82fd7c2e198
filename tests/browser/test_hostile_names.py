"""Names from files that are pictures and links load and link nothing: every page, the report and the model card."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, Page, Request, expect

from calib.ui.menu import MENU
from tests.browser.conftest import all_fitted, go, new_page, recommended, settle, switch_methods
from tests.conftest import npz_bytes
from tests.ui.test_hostile_names import FILE, NAMES, everything, mismatched, unclear

pytestmark = [pytest.mark.browser, pytest.mark.long]

FITTED = ("temperature", "isotonic")
PAGES = [entry.title for entries in MENU.values() for entry in entries]

UPLOADS = {
    "readings.csv": (unclear, "text=One question about"),
    "broken.npz": (mismatched, "[data-testid=stAlertContentError]"),
}
"""Name of an upload that is not opened at once -> its content, and what is shown once it was read."""

# All that leads to another host, or to a program as mailto: does, of HTML and of SVG with its own attribute.
OUTWARD = """() => [...document.querySelectorAll("*")].flatMap(element =>
  ["href", "xlink:href", "src", "action", "data", "poster"].map(name => element.getAttribute(name)).filter(Boolean)
  .filter(value => {
    const url = new URL(value, document.baseURI)
    const own = url.protocol === location.protocol && url.host === location.host
    return !own && !["data:", "blob:"].includes(url.protocol)
  }).map(value => `${element.tagName} ${value}`))"""


class Watch:
    """A page of which every request to another host is noted and answered by nobody."""

    def __init__(self, page: Page, own: str):
        self.page, self.host, self.asked = page, urlparse(own).netloc, list[str]()
        page.on("request", self._note)
        page.route(self._elsewhere, lambda route: route.abort())

    def _elsewhere(self, url: str) -> bool:
        parts = urlparse(url)
        return parts.scheme not in ("data", "blob", "about") and parts.netloc != self.host

    def _note(self, request: Request) -> None:
        if self._elsewhere(request.url):
            self.asked.append(request.url)

    def see_all(self, what: str) -> None:
        """Unfold and hover what there is, and look for anything that leads elsewhere."""
        settle(self.page)
        folded = self.page.get_by_test_id("stMain").locator("details:not([open]) > summary:visible")
        while folded.count():
            folded.first.click()
            settle(self.page)
        for plot in self.page.locator(".js-plotly-plot .nsewdrag").all():
            plot.scroll_into_view_if_needed()
            if box := plot.bounding_box():
                self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
                self.nothing_outside(what)
        self.nothing_outside(what)

    def nothing_outside(self, what: str) -> None:
        assert self.asked == [], what
        assert self.page.evaluate(OUTWARD) == [], what


@pytest.fixture
def watch(server: str, browser: Browser) -> Iterator[Watch]:
    page = new_page(browser)
    yield Watch(page, server)
    page.context.close()


def give(page: Page, name: str, content: bytes, place: int = 0) -> None:
    kind = "application/octet-stream"
    page.locator("input[type=file]").nth(place).set_input_files(
        {"name": name, "mimeType": kind, "buffer": content}
    )


def upload(page: Page, server: str, name: str, content: bytes) -> None:
    """Give a file as a fresh visitor."""
    page.goto(server)
    page.get_by_role("heading", level=1).wait_for()
    give(page, name, content)


def fitted_classes(page: Page, server: str) -> None:
    """Open all that a page can show of four classes, with two fits."""
    data = everything(400, 4)
    given = {
        "labels": np.array(NAMES)[data.labels],
        "class_names": np.array(NAMES),
        "groups": data.groups,
    }
    parts = ("features", "train_features", "train_labels")
    file = npz_bytes(logits=data.logits, **given, **{name: getattr(data, name) for name in parts})
    upload(page, server, f"{FILE}.npz", file)
    expect(page.get_by_text("Read as: ")).to_be_visible()
    go(page, "Fit")
    switch_methods(page, set(recommended(data)) ^ set(FITTED))
    page.get_by_role("button", name="Fit 2 calibrators").click()
    all_fitted(page, 2)


@pytest.mark.parametrize("what", UPLOADS)
def test_what_is_asked_about_an_upload_leads_nowhere(watch: Watch, server: str, what: str) -> None:
    content, shown = UPLOADS[what]
    upload(watch.page, server, f"{FILE} {what}", content())
    expect(watch.page.get_by_test_id("stMain").locator(shown).first).to_be_visible()
    watch.see_all(what)


def test_no_page_of_fitted_classes_leads_elsewhere_nor_report_nor_model_card(
    watch: Watch, server: str, tmp_path: Path
) -> None:
    fitted_classes(watch.page, server)
    for title in PAGES:
        go(watch.page, title)
        watch.see_all(title)
    page = watch.page
    go(page, "Export")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Bundle with model card").click()
    saved.value.save_as(tmp_path / "calibrator.zip")
    page.get_by_role("button", name="Report (HTML)").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save report.html").click()
    saved.value.save_as(tmp_path / "report.html")
    with zipfile.ZipFile(tmp_path / "calibrator.zip") as bundle:
        card = bundle.read("MODEL_CARD.md").decode()
    render = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render
    (tmp_path / "card.html").write_text(f'<meta charset="utf-8">{render(card)}', encoding="utf-8")
    from_disk = Watch(page.context.new_page(), "")
    for name in ("card.html", "report.html"):
        from_disk.page.goto((tmp_path / name).as_uri())
        expect(from_disk.page.locator("body")).to_contain_text("e.vil")
        from_disk.nothing_outside(name)
