"""Compare: every method on every score, with intervals, and a verdict that claims no more than they allow."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.compare.studies import other_outputs, repeated, sizes
from calib.ui.compare.view import (
    costs,
    dots,
    report_button,
    score_table,
    sharing_toggle,
    sharing_words,
    small_multiples,
    table_of,
    verdict_of,
)
from calib.ui.shell import need_data, need_fit, page


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    table = table_of(everything)
    if len(everything) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to compare them with it.")
    else:
        st.markdown(verdict_of(table))
        report_button(everything, "compare/report", table)
    sharing_toggle(everything)
    sharing_words(everything)
    score_table(table, everything)
    dots(table, everything)
    if len(everything) > 1:
        small_multiples(everything)
        sizes(everything)
        repeated(everything)
    other_outputs(table, everything)
    costs(everything)


with page("Compare"):
    body()
