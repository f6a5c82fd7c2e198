"""Export: take a fitted calibrator away, and the calibrated probabilities of any upload."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.compare.recommendation import advised, recommended, report_button
from calib.ui.export import calibrate_upload, decided, files, other_languages, packed
from calib.ui.fits import judged_fits
from calib.ui.session import EXPORTED
from calib.ui.shell import need_fit, open_session, page
from calib.ui.widgets import choose_fit, folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = judged_fits(session)
    if len(fits) == 1:
        need_fit(what="There is nothing to export yet: no calibrator is fitted.")
        return
    sentence, begin = recommended(fits)
    st.markdown(sentence)
    fit = choose_fit(fits[1:], EXPORTED, "Calibrator", begin, style="list")
    package = packed(session, fit, fits[0])
    files(package, advised=advised(fits))
    decided(session, fit)
    folded(
        "Other languages: ONNX, PyTorch, SQL, MLflow",
        "export/languages",
        partial(other_languages, package),
    )
    report_button(session, "export/report")
    calibrate_upload(session, fit, package)


with page("Export"):
    body()
