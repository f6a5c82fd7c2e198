"""Fits keep their look, and new ones are seen, whatever else is removed or added."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from calib.jobs import FitQueue, FitSpec
from calib.registry import calibrator
from calib.ui import fits
from calib.ui.session import Session
from tests.ui.conftest import open_page


@pytest.fixture
def three(with_sample: Session, queue: FitQueue) -> list[str]:
    """Keys of three finished histograms."""
    return [add(with_sample, queue, n_bins) for n_bins in (10, 20, 30)]


def add(session: Session, queue: FitQueue, n_bins: int) -> str:
    title = fits.title_of(calibrator("histogram", n_bins=n_bins), "histogram")
    spec = FitSpec("histogram", {"n_bins": n_bins}, data_key=session.split_key, label=title)
    queue.submit(spec, session.calibration.logits, session.calibration.labels)
    session.specs[spec.key] = spec
    until = time.monotonic() + 60
    while queue.snapshot(session.specs)[-1].active and time.monotonic() < until:
        time.sleep(0.05)
    return spec.key


def test_the_others_keep_their_marker_and_dash(
    with_sample: Session, queue: FitQueue, three: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fits, "session", lambda: with_sample)
    before = {fit.key: fit.style for fit in fits.shown()}
    with_sample.kept["figure"] = "drawn in the old style"
    fits.remove(three[0])
    after = {fit.key: fit.style for fit in fits.shown()}
    assert after == {key: style for key, style in before.items() if key != three[0]}
    new = add(with_sample, queue, 40)
    again = add(with_sample, queue, 10)
    styles = [fit.style for fit in fits.shown()]
    assert len(set(styles)) == len(styles) == 5
    assert again == three[0]
    assert new != again
    assert not with_sample.kept


def pills(app: AppTest):
    return next(group for group in app.button_group if group.label == "Methods")


def test_a_fit_in_the_place_of_a_removed_one_is_chosen(with_sample: Session, queue: FitQueue, three: list[str]) -> None:
    app = open_page("pages/3_Over_underconfidence.py", with_sample)
    pills(app).set_value(three[:2]).run()
    app.switch_page("pages/1_Fit.py").run()
    app.button(key=f"Remove/{three[0]}").click().run()
    new = add(with_sample, queue, 40)
    app.switch_page("pages/3_Over_underconfidence.py").run()
    assert not app.exception
    assert new in pills(app).value
