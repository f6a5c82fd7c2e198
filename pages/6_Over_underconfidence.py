"""Over- and underconfidence: the confidence of wrong predictions, the doubt of correct ones, and their balance."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.audit import lead
from calib.ui.chosen_rows import list_rows
from calib.ui.compare.answer import choose_one
from calib.ui.fits import shown_fits
from calib.ui.over_under.groups import by_group, groups, kinds, panel, recalibration
from calib.ui.over_under.view import bands, change, densities, finding, numbers, rows_of, theorem
from calib.ui.shell import need_fit, open_session, page
from calib.ui.widgets import choose, folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    view = session.view
    opening = st.container()
    chosen = choose(fits, "confidence/methods")
    rows = rows_of(fits, chosen)
    keys = tuple(fit.key for fit in chosen)
    change(rows, keys, view)
    folded("Every method in numbers", "confidence/numbers", partial(numbers, rows, keys, view))
    st.header("Where the gap comes from")
    closer = choose_one(fits, "confidence")
    said, off = by_group(session.test, closer)
    each_group = partial(groups, session.test, fits, closer)
    with opening:
        lead(session, "Over- and underconfidence")
        said = "" if closer.key == fits[0].key else said  # the audit has named its groups
        if off and said:
            st.markdown(said)
        finding(rows_of(fits, fits), fits[0].evaluation)
        if off:
            each_group()
        elif said:
            st.markdown(said)
    list_rows()
    folded(f"At which {view.said}?", "confidence/bands", partial(bands, fits, closer))
    if not off and kinds(session.test, view):
        folded("In which groups or classes?", "confidence/groups", each_group)
    if view.is_event and session.test.groups is not None:
        title = "In which groups do O:E, slope and AUROC differ?"
        folded(title, "confidence/group panel", partial(panel, session, closer))
        folded(
            "Does recalibration by group pay?",
            "confidence/by group",
            partial(recalibration, session),
        )
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
