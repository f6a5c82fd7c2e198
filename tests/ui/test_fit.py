"""What a visitor chose to see stays while fits come and go, and a new fit comes in chosen."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from calib.jobs import FitQueue
from calib.ui.fits import RAW
from calib.ui.session import Session
from tests.ui.conftest import open_page
from tests.ui.test_fits_come_and_go import add


@pytest.fixture
def three(with_sample: Session, queue: FitQueue) -> list[str]:
    """Keys of three finished histograms."""
    return [add(with_sample, queue, n_bins) for n_bins in (10, 20, 30)]


def group(app: AppTest, key: str) -> Any:
    return next(each for each in app.button_group if each.key == key)


PAGES = [
    ("pages/2_Reliability.py", "reliability/methods"),
    ("pages/3_Over_underconfidence.py", "confidence/methods"),
    ("pages/8_Calibration_maps.py", "maps/methods"),
    ("pages/10_Risk_and_groups.py", "risk/beside"),
    ("pages/5_Compare.py", "compare/splits/methods"),
    ("pages/5_Compare.py", "compare/sizes/methods"),
]


@pytest.mark.parametrize(("path", "key"), PAGES)
def test_what_was_left_out_stays_out_when_a_fit_finishes(
    with_sample: Session, queue: FitQueue, three: list[str], path: str, key: str
) -> None:
    app = open_page(path, with_sample)
    kept = [fit for fit in group(app, key).value if fit != three[1]]
    group(app, key).set_value(kept).run()
    new = add(with_sample, queue, 40)
    app.run()
    assert not app.exception
    assert set(group(app, key).value) == {*kept, new}
    app.switch_page("pages/6_Export.py").run()
    app.switch_page(path).run()
    assert set(group(app, key).value) == {*kept, new}


def test_a_click_on_a_page_drawn_before_the_fit_finished_counts(
    with_sample: Session, queue: FitQueue, three: list[str]
) -> None:
    app = open_page("pages/3_Over_underconfidence.py", with_sample)
    new = add(with_sample, queue, 40)
    group(app, "confidence/methods").set_value([RAW, three[0]]).run()
    assert set(group(app, "confidence/methods").value) == {RAW, three[0], new}


def test_a_method_left_out_returns_left_out(with_sample: Session, queue: FitQueue, three: list[str]) -> None:
    app = open_page("pages/3_Over_underconfidence.py", with_sample)
    group(app, "confidence/methods").set_value([RAW, three[0], three[2]]).run()
    removed = with_sample.specs.pop(three[1])
    app.run()
    with_sample.specs[three[1]] = removed
    app.run()
    assert set(group(app, "confidence/methods").value) == {RAW, three[0], three[2]}


def test_the_method_looked_at_closely_stays(with_sample: Session, queue: FitQueue, three: list[str]) -> None:
    app = open_page("pages/3_Over_underconfidence.py", with_sample)
    assert group(app, "confidence/closer").value == three[0]
    group(app, "confidence/closer").set_value(three[2]).run()
    add(with_sample, queue, 40)
    app.run()
    assert group(app, "confidence/closer").value == three[2]
    with_sample.specs.pop(three[2])
    app.run()
    assert not app.exception
    assert group(app, "confidence/closer").value == three[0]


def test_the_calibrator_to_export_stays_once_it_is_chosen(
    with_sample: Session, queue: FitQueue, three: list[str]
) -> None:
    app = open_page("pages/6_Export.py", with_sample)
    chosen = next(key for key in three if key != app.selectbox(key="export/calibrator").value)
    app.selectbox(key="export/calibrator").set_value(chosen).run()
    add(with_sample, queue, 40)
    app.run()
    assert app.selectbox(key="export/calibrator").value == chosen
