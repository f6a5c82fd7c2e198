"""Where people upload they are told how much that may be, and what is kept of it."""

from __future__ import annotations

import pytest

from calib.data import limits
from calib.settings import SETTINGS
from calib.ui.data import limits_view
from calib.ui.data.limits_view import LARGEST
from calib.ui.session import Session
from calib.workspace import Configuration
from tests.ui.conftest import open_page


class Kept:
    configuration = Configuration(None, 3 * 10**9, 12.0)  # type: ignore[arg-type]


def line() -> str:
    app = open_page("app.py")
    (found,) = [str(caption.value) for caption in app.caption if "Once read" in str(caption.value)]
    return found


def table() -> dict[str, str]:
    app = open_page("app.py")
    (found,) = [str(text.value) for text in app.markdown if "At most" in str(text.value)]
    return dict(row.strip("| ").split(" | ") for row in found.splitlines()[2:])


def test_every_limit_that_a_visitor_can_meet_is_shown():
    shown = table()
    assert shown["A file"] == f"{SETTINGS['CALIB_UPLOAD_MB'].default_text} MB"
    for what, name in (("A text table, unpacked", "CALIB_TEXT_MB"), ("All arrays of an upload", "CALIB_DATA_MB")):
        assert shown[what].startswith(f"{SETTINGS[name].default_text} MB")
    for what, name in (
        ("Rows", "CALIB_ROWS"),
        ("Classes", "CALIB_CLASSES"),
        ("Arrays or columns in a file", "CALIB_ARRAYS"),
        ("Your fits that wait for a worker", "CALIB_WAITING"),
    ):
        assert shown[what].partition(", and")[0] == SETTINGS[name].default_text
    assert shown["Your data, fits and figures in memory"].startswith("2,000 MB, and ")


def test_what_is_shown_is_what_holds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MAX_ROWS", 4321)
    monkeypatch.setattr(limits, "MAX_BYTES", 16_000_000)
    monkeypatch.setenv("CALIB_MEMORY_GB", "77")
    assert "at most 16 MB, 4,321 rows and 100,000 classes" in line()
    shown = table()
    assert shown["All arrays of an upload"] == "16 MB, such as 2,000 rows of 1,000 classes in float64"
    assert shown["Your data, fits and figures in memory"] == "2,000 MB, and 77 GB of all visitors"


def test_it_says_what_is_kept_and_for_how_long(monkeypatch: pytest.MonkeyPatch):
    assert line().endswith("Nothing is kept on disk.")
    assert table()["What is kept on disk"] == "nothing"
    monkeypatch.setattr(limits_view, "keeper", lambda: Kept)
    assert line().endswith("Kept on disk for 12 days after the last use.")
    assert table()["What is kept on disk"] == "12 days after the last use, and 3,000 MB of all visitors"


def test_every_uploader_refuses_what_is_larger(with_sample: Session, with_fits: Session):
    for page, session in (("app.py", with_sample), ("pages/11_Still_calibrated.py", with_fits)):
        uploaders = open_page(page, session).get("file_uploader")
        assert uploaders
        assert {uploader.proto.max_upload_size_mb for uploader in uploaders} == {LARGEST} == {1024}
