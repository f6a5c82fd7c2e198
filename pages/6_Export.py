"""Export: take a fitted calibrator away, and the calibrated probabilities of any upload."""

from __future__ import annotations

import streamlit as st

from calib.evaluation.verdict import NOTHING
from calib.ui import fits
from calib.ui.compare.view import report_button
from calib.ui.export.view import calibrate_upload, downloads, usage
from calib.ui.shell import need_data, need_fit, page
from calib.ui.text import mean_nll
from calib.ui.widgets import one


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    if len(everything) == 1:
        need_fit(what="There is nothing to export yet: no calibrator is fitted.")
        return
    fitted = everything[1:]
    titles = {fit.key: fit.title for fit in fitted}
    lowest = min(mean_nll(fit.evaluation) for fit in fitted)
    best = next((fit for fit in fitted if mean_nll(fit.evaluation) - lowest < NOTHING), fitted[0])
    judged = best.evaluation.row_nll is not None
    st.write(
        (f"Lowest NLL on the test rows: **{best.title}**. " if judged else "")
        + "An exported calibrator predicts with NumPy alone, exactly as in this app."
    )
    key = one(titles, "export/calibrator", "Calibrator", begin=best.key, style="list")
    fit = next(fit for fit in fitted if fit.key == key)
    downloads(fit, everything[0])
    usage(fit)
    report_button(everything, "export/report")
    calibrate_upload(fit)


with page("Export"):
    body()
