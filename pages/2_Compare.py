"""Compare: which method to take, what it gains, and how reliable each is, in one screen."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.compare.answer import report_button
from calib.ui.compare.kept import other_outputs
from calib.ui.compare.overview import go_to_diagnosis, overview
from calib.ui.compare.scores import all_scores, can_be_shared, costs, shared_maps, weighted_scores
from calib.ui.compare.studies import repeated, sizes
from calib.ui.fits import shown_fits
from calib.ui.shell import open_session, page
from calib.ui.widgets import folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    go_to_diagnosis(session, fits)
    overview(session, fits)
    with st.container(gap="xxsmall"):
        folded("All scores with intervals", "compare/scores", partial(all_scores, fits))
        if session.test.weights is not None:
            folded("Weighted scores", "compare/weighted", partial(weighted_scores, session, fits))
        if can_be_shared(fits):
            folded("Shared and class-wise maps", "compare/maps", partial(shared_maps, session, fits))
        if len(fits) > 1:
            folded("What it costs", "compare/costs", partial(costs, fits))
            folded("Would other splits say the same?", "compare/splits", partial(repeated, session, fits))
            folded("How many labels does each method need?", "compare/sizes", partial(sizes, session, fits))
        folded("Compare with other outputs", "compare/kept", partial(other_outputs, session, fits))
    if len(fits) > 1:
        report_button(session, fits, "compare/report")


with page("Compare"):
    body()
