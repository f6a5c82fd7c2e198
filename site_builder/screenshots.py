"""The pictures of the app that the documents show, taken from the running app: ``make screenshots`` renews them."""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from site_builder import animation
from tests.browser.conftest import PATIENCE, QUIET, browser_path, go, settle
from tests.server.conftest import serve

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = {
    "compare.png": ("digits-cnn", "Compare"),
    "tutorials/credit.png": ("simulated-loans", "Decide"),
    "tutorials/clinic.png": ("clinic-tumours", "Reliability"),
    "tutorials/language_model.png": ("simulated-answers", "Decide"),
}
"""By file: the sample that is open, with the recommended calibrators fitted, and the page."""
ANIMATION = "animation.webp"
"""The README's; site_builder/animation.py takes it."""
COLORS = 256


def photograph(page: Page, sample: str, title: str) -> bytes:
    """The first sight of a page, as a PNG with few colours."""
    page.locator(f".st-key-sample-{sample} button").first.dispatch_event(
        "click"
    )  # with its help it is there twice
    expect(page.get_by_text("Read as: ")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="recommended").click()
    expect(
        page.get_by_test_id("stSidebar").get_by_text(re.compile(r"(?<!of )\b\d+ fitted"))
    ).to_be_visible()
    if not page.get_by_role("heading", name=title, exact=True, level=1).count():
        go(page, title)
    settle(page)
    expect(page.get_by_test_id("stMain").get_by_test_id("stProgress")).to_have_count(0)
    page.wait_for_timeout(3000)  # figures draw themselves after the page has settled
    page.mouse.move(1, 1)
    shot = Image.open(io.BytesIO(page.screenshot()))
    small = io.BytesIO()
    shot.convert("RGB").quantize(
        COLORS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
    ).save(small, "PNG", optimize=True)
    return small.getvalue()


def main(names: list[str]) -> None:
    """Renew these pictures, or all."""
    expect.set_options(timeout=PATIENCE)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path(), headless=True, args=QUIET)
        with serve(Path(folder) / "log", CALIB_WORKSPACE="off") as served:
            for name in names or [*PICTURES, ANIMATION]:
                context = browser.new_context(viewport=animation.SIZE, color_scheme="light")
                context.set_default_timeout(PATIENCE)
                page = context.new_page()
                page.goto(served.url)
                page.get_by_role("heading", level=1).wait_for()
                settle(page)
                moving = name == ANIMATION
                picture = animation.film(page) if moving else photograph(page, *PICTURES[name])
                (DOCS / name).write_bytes(picture)
                print(f"docs/{name}: {len(picture) / 1000:.0f} kB")
                context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
