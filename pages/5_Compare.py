"""Compare: every method on every score, with intervals and a verdict that they support."""

from __future__ import annotations

import streamlit as st

from calib.ui.compare.studies import other_outputs, repeated, sizes
from calib.ui.compare.view import (
    comparison_table,
    costs,
    dots,
    report_button,
    score_table,
    sharing_toggle,
    sharing_words,
    small_multiples,
    verdict_of,
    weighted_scores,
)
from calib.ui.fits import shown_fits
from calib.ui.shell import need_fit, open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    table = comparison_table(fits)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to compare them with it.")
    else:
        st.markdown(verdict_of(table))
        report_button(session, fits, "compare/report", table)
    sharing_toggle(session, fits)
    sharing_words(fits)
    score_table(table, fits)
    weighted_scores(session, table, fits[0].evaluation.view)
    dots(table, fits)
    if len(fits) > 1:
        small_multiples(fits)
        sizes(session, fits)
        repeated(session, fits)
    other_outputs(session, table, fits)
    costs(fits)


with page("Compare"):
    body()
