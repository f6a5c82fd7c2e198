"""The parts of the Geometry page on all test rows: success by separation, right and wrong, fast against exact."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from calib.data import Predictions
from calib.diagnostics.timed import EXACT
from calib.formatting import listed
from calib.plots.geometry_cost import fast_against_exact
from calib.plots.geometry_success import separation_densities, success_curve
from calib.registry import METHODS, missing_arrays
from calib.ui import figures
from calib.ui.data.upload import open_sample
from calib.ui.fits import ShownFit
from calib.ui.geometry import text as geometry_words
from calib.ui.geometry.state import Study
from calib.ui.session import keep

KINDS = {"l2": "Fast, L2", "l1": "Fast, L1", "linf": "Fast, L∞", EXACT: "Exact, L2"}
SAMPLE = "digits-cnn"
MOST_DOTS = 2000

HOW_TO_READ_SUCCESS = (
    "Across is the separation: how far an input lies inside its predicted class among the training data, negative "
    "(shaded) where another class is nearer. Up is how often the model is right there. Dots are test rows in bins of "
    "equally many, with 95 % Wilson intervals; lines are the two maps that geometric calibration can use, learned from "
    "calibration rows. A good map passes through the dots; where it is flat, separation tells no more."
)
HOW_TO_READ_SPREAD = (
    "Right predictions upwards, wrong ones downwards, each group on a height of its own. The further apart the two, "
    "the better separation tells right from wrong. The shaded side is dangerous: nearer to another class."
)
HOW_TO_READ_COST = (
    "Fast separation is half the difference of two distances; exact separation looks at all pairs of training inputs "
    "of the predicted and of other classes. Both give the radius of a zone and have the same sign; fast is never the "
    "larger in size, so no dot lies between the dotted line and the horizontal through 0."
)


def need_features(data: Predictions) -> bool:
    """Whether there is what separation needs; otherwise say what is missing, with the buttons that get it."""
    missing = missing_arrays("geometric", data)
    if not missing:
        return True
    st.info(f"Separation lies among the training data, and these data hold no {listed(missing)}.")
    with st.container(horizontal=True):
        st.page_link("app.py", label="Open data with them", icon=":material/upload_file:")
        st.button(
            "Open the digits sample, which has them", key="geometry/sample", icon=":material/image:",
            on_click=open_sample, args=(SAMPLE,),
        )  # fmt: skip
    return False


def choose_kind() -> str:
    """Which separation the page is about."""
    kind = st.segmented_control(
        "Separation", list(KINDS), default="l2", required=True, format_func=KINDS.__getitem__, key="geometry/kind",
        persist_state="session",
    )  # fmt: skip
    return kind or "l2"


def axis_title(kind: str) -> str:
    """The separation as an axis calls it."""
    return f"separation ({KINDS[kind].lower().replace('l1', 'L1').replace('l2', 'L2').replace('l∞', 'L∞')})"


def success(study: Study) -> None:
    """Success rate against separation, with both maps, and how right and wrong predictions spread over it."""

    def build() -> go.Figure:
        return success_curve(study.rates, study.grid, study.maps, axis_title(study.kind))

    figures.show(keep(("geometry success", study.kind), build), "success-by-separation", HOW_TO_READ_SUCCESS)
    st.caption(geometry_words.sides_sentence(study.sides))
    spread = keep(
        ("geometry spread", study.kind), lambda: separation_densities(study.histogram, axis_title(study.kind))
    )
    figures.show(spread, "separations", HOW_TO_READ_SPREAD)


def fast_and_exact(study: Study) -> None:
    """How near fast separation comes to the exact one, and what each costs."""
    fast, exact = study.measured("l2"), study.measured(EXACT)
    st.markdown(geometry_words.costs(fast, exact))
    known = np.flatnonzero(np.isfinite(exact.separation))
    if not len(known):
        return
    shown = known[np.unique(np.linspace(0, len(known) - 1, MOST_DOTS).astype(int))]
    rows = exact.rows[shown]

    def build() -> go.Figure:
        return fast_against_exact(rows, exact.fast[shown], exact.separation[shown], study.right[rows])

    figures.show(keep(("geometry", "cost"), build), "fast-against-exact", HOW_TO_READ_COST)
    if len(shown) < len(exact.rows):
        st.caption(f"{len(shown):,} of {len(exact.rows):,} rows are drawn.")


def offer_fit(everything: list[ShownFit]) -> None:
    """Say that separation is a calibrator too, where it is not fitted yet."""
    if all(fit.method != "geometric" for fit in everything):
        title = METHODS["geometric"].title
        st.info(f"{title} turns this into a calibrator: fit it to see it on every page and to take it with you.")
        st.page_link("pages/1_Fit.py", label="Fit calibrators", icon=":material/model_training:")
