"""The Data page while nothing is open: what one gets, drawn from a sample, and the ways in."""

from __future__ import annotations

import json

import numpy as np
import streamlit as st

from calib.data.samples import FOLDER, SAMPLES
from calib.formatting import percent
from calib.numerics import Floats
from calib.plots import alt_text
from calib.plots.reliability import before_and_after
from calib.plots.style import method_style
from calib.settings import studio
from calib.ui.data.upload import gallery, open_sample, uploaders
from calib.ui.session import keep

QUESTION = "Can your classifier's confidence be trusted?"
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 72 60" width="72" height="60" fill="none">
<g stroke="#808496" stroke-width="1">{}</g></svg>"""
DIAGONAL = '<path d="M6 54 66 6" stroke-dasharray="3 3"/>'
FIRST = {
    "simulated-loans": (
        "For which groups are the risks wrong?",
        '<path d="M44 4V56"/><g stroke="#D55E00" stroke-width="2.5"><path d="M8 14H32M14 30H36"/></g>'
        '<g stroke="#808496" stroke-width="2.5"><path d="M34 46H62"/></g>'
        '<g fill="#D55E00" stroke="none"><circle cx="20" cy="14" r="4"/><circle cx="25" cy="30" r="4"/></g>'
        '<circle cx="48" cy="46" r="4" fill="#808496" stroke="none"/>',
    ),
    "clinic-tumours": (
        "Can a doctor act on these risks?",
        DIAGONAL + '<path d="M6 46C20 24 40 30 66 16" stroke="#0072B2" stroke-width="2.5"/>',
    ),
    "simulated-answers": (
        "When can a language model's answers be trusted?",
        DIAGONAL
        + '<g fill="#0072B2" stroke="none"><circle cx="22" cy="43" r="4"/><circle cx="36" cy="40" r="4"/>'
        '<circle cx="50" cy="37" r="4"/><circle cx="62" cy="20" r="4"/></g>',
    ),
}
"""Samples that come first, each with the question that it answers and a drawing."""
METHOD = "beta"
"""The calibrator of the figure."""


def first_page() -> None:
    """One sentence and the ways in at the left, the figure at the right or beneath."""
    left, right = st.columns([11, 10], gap="large")
    with left:
        st.write(
            "Upload its predictions and the true labels. See where they are overconfident or underconfident, and "
            "download a calibrator that corrects them."
        )
        uploaders()
        st.header("Or look at a sample first")
        for name, (question, picture) in FIRST.items():
            _card(name, question, picture)
        with st.expander("More samples"):
            gallery(leave_out=FIRST)
    with right:
        # ``python -m sample_data.make_samples before_and_after`` computes them.
        stored = json.loads((studio() / FOLDER / "before_and_after.json").read_text())
        before, after = np.array(stored["raw"]), np.array(stored[METHOD])
        fig = keep(
            "before and after", lambda: before_and_after(before, after, method_style(METHOD))
        )
        st.markdown("**What you get** :gray[risks of 285 tumours before and after calibration]")
        st.plotly_chart(
            fig, key="first", width="stretch", alt=alt_text(fig), config={"displayModeBar": False}
        )
        st.caption(f"{what_changes(before, after)} Four clicks lead from a file to its calibrator.")


def _card(name: str, question: str, picture: str) -> None:
    """A sample with the question that it answers, and a drawing of the answer's kind."""
    sample = SAMPLES[name]
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", key=f"card/{name}"
    ):
        st.image(DRAWING.format(picture), width=76)
        with st.container(gap="xxsmall", width="stretch"):
            st.markdown(f"**{question}**")
            st.caption(sample.description)
            st.button(
                sample.title,
                key=f"sample/{name}",
                icon=":material/play_arrow:",
                on_click=open_sample,
                args=(name,),
                help=sample.look_for,
            )


def what_changes(before: Floats, after: Floats) -> str:
    """Describe the bin whose risks come nearest to what was observed.

    Parameters
    ----------
    before, after : (m, 2) mean predicted risk and observed rate in bins, raw and calibrated.
    """
    better = np.abs(before[:, 0] - before[:, 1]) - np.abs(after[:, 0] - after[:, 1])
    (predicted, observed), calibrated = before[better.argmax()], after[better.argmax(), 0]
    return (
        f"Of the tumours with a predicted risk of {percent(predicted, 0)}, {percent(observed, 0)} were malignant; the "
        f"calibrator gives them {percent(calibrated, 0)}."
    )
