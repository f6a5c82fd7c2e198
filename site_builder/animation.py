"""The README's animation: a file is dropped on the app, judged, corrected, compared and exported.

Each scene is one picture of the running app; the pointer is drawn over it and moves to what is clicked next.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import all_fitted, go, settle

FILE = Path(__file__).parents[1] / "sample_data" / "digits-forest.npz"
FILE_NAME = "outputs.npz"
SIZE = {"width": 1500, "height": 985}
SCALE = 0.8
"""Of the animation beside the browser's window."""
QUALITY = 80
"""Of WebP, from 0 to 100."""
STEP = 80
"""Milliseconds between two frames of a pointer that moves."""
STEPS = 7
INK, PAPER, ACCENT = (17, 24, 39), (255, 255, 255), (0, 114, 178)

Point = tuple[float, float]


@dataclass
class Film:
    """Frames with the time that each stays, in milliseconds."""

    page: Page
    pointer: Point = (1300.0, 940.0)
    frames: list[Image.Image] = field(default_factory=list)
    durations: list[int] = field(default_factory=list)

    def stay(self, milliseconds: int) -> None:
        """Add the app as it is now, without the pointer."""
        self._add(self._picture(), milliseconds)

    def move_to(self, target: Locator, file: bool = False) -> None:
        """Move the pointer to the middle of an element, with a file under it or without."""
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        assert box is not None, target
        picture = self._picture()
        start = self.pointer
        end = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        for step in range(1, STEPS + 1):
            share = step / STEPS
            eased = share * share * (3 - 2 * share)
            self.pointer = (
                start[0] + eased * (end[0] - start[0]),
                start[1] + eased * (end[1] - start[1]),
            )
            frame = picture.copy()
            if file:
                _draw_file(frame, self.pointer)
            _draw_pointer(frame, self.pointer)
            self._add(frame, STEP)
        self.durations[-1] += 240

    def save(self) -> bytes:
        """Return the animation as WebP."""
        first, *others = self.frames
        target = io.BytesIO()
        first.save(
            target,
            "WEBP",
            save_all=True,
            append_images=others,
            duration=self.durations,
            loop=0,
            quality=QUALITY,
            method=6,
            minimize_size=True,
        )
        return target.getvalue()

    def _picture(self) -> Image.Image:
        return Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")

    def _add(self, frame: Image.Image, milliseconds: int) -> None:
        width, height = frame.size
        self.frames.append(frame.resize((round(SCALE * width), round(SCALE * height))))
        self.durations.append(milliseconds)


def film(page: Page) -> bytes:
    """Return the animation, taken from an app without data."""
    scene = Film(page)
    _drawn(page)
    scene.stay(600)
    dropzone = page.get_by_test_id("stFileUploaderDropzone").first
    scene.move_to(dropzone, file=True)
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": FILE_NAME, "mimeType": "application/octet-stream", "buffer": FILE.read_bytes()}
    )
    expect(page.get_by_text("Read as: ")).to_be_visible()
    _drawn(page)
    scene.stay(2400)
    fit = page.get_by_role("button", name="recommended").first
    scene.move_to(fit)
    fit.click()
    page.wait_for_timeout(1500)
    scene.stay(700)
    all_fitted(page)
    if not page.get_by_role("heading", name="Compare", exact=True, level=1).count():
        go(page, "Compare")
    _drawn(page)
    scene.stay(3000)
    export = page.get_by_role("button", name="Export").first
    scene.move_to(export)
    export.click()
    expect(page.get_by_role("heading", name="Export", exact=True, level=1)).to_be_visible()
    _drawn(page)
    scene.move_to(page.get_by_test_id("stDownloadButton").first)
    scene.stay(2000)
    return scene.save()


def _drawn(page: Page) -> None:
    """Wait until the page and its figures have been drawn."""
    settle(page)
    expect(page.get_by_test_id("stMain").get_by_test_id("stProgress")).to_have_count(0)
    page.wait_for_timeout(3000)


def _draw_pointer(frame: Image.Image, tip: Point) -> None:
    arrow = [(0, 0), (0, 26), (6, 20.5), (10.5, 30), (15, 28), (10.5, 19), (18.5, 19)]
    points = [(tip[0] + x, tip[1] + y) for x, y in arrow]
    ImageDraw.Draw(frame).polygon(points, fill=INK, outline=PAPER, width=1)


def _draw_file(frame: Image.Image, tip: Point) -> None:
    draw = ImageDraw.Draw(frame)
    left, top = tip[0] + 16, tip[1] + 12
    width = draw.textlength(FILE_NAME, font=_font()) + 28
    draw.rounded_rectangle((left, top, left + width, top + 40), 6, fill=PAPER, outline=ACCENT, width=2)  # fmt: skip
    draw.text((left + 14, top + 8), FILE_NAME, fill=INK, font=_font())


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(20)
