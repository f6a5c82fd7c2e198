"""Over- and underconfidence: the confidence of wrong predictions, the doubt of correct ones, and their balance."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.compare.answer import choose_one
from calib.ui.fits import shown_fits
from calib.ui.over_under.groups import group_headline, groups, in_groups, panel, recalibration
from calib.ui.over_under.view import bands, change, classes, densities, finding, numbers, rows_of, theorem
from calib.ui.shell import need_fit, open_session, page
from calib.ui.widgets import choose, folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits, view = shown_fits(session), session.view
    said, for_whom = st.container(), st.container()
    chosen = choose(fits, "confidence/methods")
    rows, keys = rows_of(fits, chosen), tuple(fit.key for fit in chosen)
    change(rows, keys, view)
    folded("Every method in numbers", "confidence/numbers", partial(numbers, rows, keys, view))
    st.header("Where the gap comes from")
    closer = choose_one(fits, "confidence")
    headline = group_headline(session.test, closer)
    with said:
        if headline:
            st.markdown(headline)
        finding(rows_of(fits, fits), fits[0].evaluation)
    with for_whom:
        if headline:  # where a group is off, it leads
            groups(session.test, fits, closer, leads=True)
        else:
            in_groups(session.test, closer)
    folded(f"At which {view.said}?", "confidence/bands", partial(bands, fits, closer))
    if view.column is None:  # in the other views the two classes are the outcomes
        folded("In which classes?", "confidence/classes", partial(classes, fits, closer, session.data.class_names))
    if not headline:
        folded("In which groups?", "confidence/groups", partial(groups, session.test, fits, closer))
    if view.is_event and session.test.groups is not None:
        title = "In which groups do O:E, slope and AUROC differ?"
        folded(title, "confidence/group panel", partial(panel, session, closer))
        folded("Does recalibration by group pay?", "confidence/by group", partial(recalibration, session))
    folded(
        f"How does the {view.said} of {view.right_rows} and of {view.wrong_rows} spread?",
        "confidence/densities",
        partial(densities, chosen),
    )
    folded(
        "How small can a calibration error be?",
        "confidence/theorem",
        partial(theorem, chosen, keys),
    )
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Over- and underconfidence"):
    body()
