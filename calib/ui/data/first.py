"""The Data page while nothing is open: what one gets, drawn from a sample, and the ways in."""

from __future__ import annotations

import json

import numpy as np
import streamlit as st

from calib.data.samples import FOLDER
from calib.formatting import percent
from calib.numerics import Floats
from calib.plots import alt_text
from calib.plots.reliability import before_and_after
from calib.plots.style import method_style
from calib.settings import studio
from calib.ui.data.upload import gallery, uploaders
from calib.ui.session import keep

QUESTION = "Can your classifier's confidence be trusted?"
METHOD = "beta"
"""The calibrator of the figure."""


def first_page() -> None:
    """One sentence and the ways in at the left, the figure at the right or beneath."""
    left, right = st.columns([11, 10], gap="large")
    with left:
        st.write(
            "Open what it predicted and what was true. See where it is too sure or not sure enough, and take away a "
            "calibrator that corrects it."
        )
        uploaders()
        st.header("Or look at a sample first")
        gallery()
    with right:
        before, after = raw_and_calibrated()
        fig = keep(
            "before and after", lambda: before_and_after(before, after, method_style(METHOD))
        )
        st.markdown("**What you get** :gray[risks of 285 tumours before and after calibration]")
        st.plotly_chart(
            fig, key="first", width="stretch", alt=alt_text(fig), config={"displayModeBar": False}
        )
        st.caption(f"{what_changes(before, after)} Four clicks lead from a file to its calibrator.")


def raw_and_calibrated() -> tuple[Floats, Floats]:
    """(m, 2) mean predicted risk and observed rate in bins of the clinical sample's test rows, raw and calibrated.

    ``python -m sample_data.make_samples before_and_after`` computes them.
    """
    stored = json.loads((studio() / FOLDER / "before_and_after.json").read_text())
    return np.array(stored["raw"]), np.array(stored[METHOD])


def what_changes(before: Floats, after: Floats) -> str:
    """The bin whose risks come nearest to what was observed, in words."""
    better = np.abs(before[:, 0] - before[:, 1]) - np.abs(after[:, 0] - after[:, 1])
    (said, happened), mended = before[better.argmax()], after[better.argmax(), 0]
    return (
        f"Of the tumours that the model gave a risk of {percent(said, 0)}, {percent(happened, 0)} were malignant; the "
        f"calibrator gives them {percent(mended, 0)}."
    )
