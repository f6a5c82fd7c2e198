"""Over- and underconfidence: the confidence of wrong predictions, the doubt of correct ones, and their balance."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.audit import lead
from calib.ui.chosen_rows import list_rows
from calib.ui.compare.recommendation import choose_method
from calib.ui.fits import judged_fits
from calib.ui.over_under import (
    bands,
    by_class,
    change,
    finding,
    rows_of,
    theorem,
)
from calib.ui.shell import need_fit, open_session, page
from calib.ui.widgets import choose, folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = judged_fits(session)
    view = session.view
    lead(session, "Over- and underconfidence", "level")
    finding(rows_of(fits, fits), fits[0].evaluation)
    chosen = choose(fits, "confidence/methods")
    rows = rows_of(fits, chosen)
    keys = tuple(fit.key for fit in chosen)
    change(rows, keys, view)
    st.header("Where the gap comes from")
    closer = choose_method(fits, "confidence")
    list_rows()
    folded(
        f"At which {view.wording.predicted_label}?",
        "confidence/bands",
        partial(bands, fits, closer),
    )
    if view.column is None:
        classes = partial(by_class, session.test, fits, closer)
        folded("In which classes?", "confidence/classes", classes)
    folded(
        "How small can a calibration error be?",
        "confidence/theorem",
        partial(theorem, chosen, keys),
    )
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Over- and underconfidence"):
    body()
