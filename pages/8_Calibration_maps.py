"""Calibration maps: what every method makes of a score, and what the test rows say to that."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.maps import text as maps_words
from calib.ui.maps.state import ClassMaps, has_map, map_names
from calib.ui.maps.view import choose, controls, correction, ends, overlay
from calib.ui.session import session
from calib.ui.shell import need_data, need_fit, page


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    calibration = session().calibration
    assert calibration is not None
    words = st.container()
    everything = fits.shown()
    choice = controls(calibration)
    chosen = choose(everything)
    maps = ClassMaps(choice.target)
    name, seen, names = str(calibration.class_names[choice.target]), maps.frequencies(), map_names(chosen)
    fitted = [(names[fit.key], maps.judged(fit)) for fit in chosen if fit.key != fits.RAW]
    words.markdown(maps_words.finding(maps.judged(everything[0]), fitted, seen, name))
    words.caption(maps_words.whose(seen, name, calibration.n_classes, len(calibration)))
    overlay(chosen, maps, choice, calibration)
    st.caption(maps_words.mapless([fit for fit in everything if not has_map(fit)]))
    if len(everything) == 1:
        need_fit(what="Only the raw model's map is here. Fit calibrators to see theirs over it.")
    st.subheader("Both ends")
    ends(chosen, maps)
    st.subheader("With and without Platt's correction")
    correction(everything, maps, choice, calibration)


with page("Calibration maps"):
    body()
