"""Calibration maps: each method's map against the frequencies of the test rows."""

from __future__ import annotations

from calib.ui.fits import judged_fits
from calib.ui.maps import show
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    show(session, judged_fits(session))


with page("Calibration maps"):
    body()
