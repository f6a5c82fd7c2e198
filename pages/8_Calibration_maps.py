"""Calibration maps: the map of one class by each method, against the frequencies of the test rows."""

from __future__ import annotations

import streamlit as st

from calib.ui.fits import RAW, shown_fits
from calib.ui.maps import text as maps_words
from calib.ui.maps.state import ClassMaps, has_map, map_names
from calib.ui.maps.view import choose, controls, correction, ends, overlay
from calib.ui.shell import need_fit, open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    calibration = session.calibration
    words = st.container()
    fits = shown_fits(session)
    choice = controls(calibration)
    chosen = choose(fits)
    maps = ClassMaps(session, choice.target)
    name, seen, names = calibration.name_of(choice.target), maps.frequencies(), map_names(chosen)
    fitted = [(names[fit.key], maps.judged(fit)) for fit in chosen if fit.key != RAW]
    words.markdown(maps_words.finding(maps.judged(fits[0]), fitted, seen, name))
    words.caption(maps_words.whose(seen, name, calibration.n_classes, len(calibration)))
    overlay(chosen, maps, choice)
    st.caption(maps_words.mapless([fit for fit in fits if not has_map(fit)]))
    if len(fits) == 1:
        need_fit(what="Only the raw model's map is here. Fit calibrators to see theirs over it.")
    st.subheader("Both ends")
    ends(chosen, maps)
    st.subheader("With and without Platt's correction")
    correction(fits, maps, choice)


with page("Calibration maps"):
    body()
