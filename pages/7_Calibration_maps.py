"""Calibration maps: each method's map against the frequencies of the test rows; ranks; what Auto is made of."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.fits import RAW, ShownFit, shown_fits
from calib.ui.maps import auto, ranks
from calib.ui.maps import text as maps_words
from calib.ui.maps.view import (
    ClassMaps,
    choose,
    controls,
    correction,
    ends,
    first_known,
    has_map,
    map_names,
    overlay,
    whose_map,
)
from calib.ui.session import OpenSession
from calib.ui.shell import need_fit, open_session, page
from calib.ui.widgets import folded


def body() -> None:
    """Draw the page: the tab that is open."""
    session = open_session()
    fits = shown_fits(session)
    tabs = {"Maps": partial(maps_of, session, fits), "Auto": partial(auto.show, fits)}
    if session.data.n_classes > 2:  # of two, the second rank holds what the first leaves
        tabs["Ranks"] = partial(ranks.show, session, fits)
    for tab, draw in zip(st.tabs(list(tabs), key="maps/tab", on_change="rerun"), tabs.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def maps_of(session: OpenSession, fits: list[ShownFit]) -> None:
    """The maps of one class."""
    calibration = session.calibration
    words = st.container()
    with st.container(horizontal=True, gap="medium"):
        maps = ClassMaps(session, whose_map(calibration))
        chosen = choose(fits, maps.target)
    names, seen, known = map_names(chosen), maps.rows.frequencies, first_known(chosen, maps)
    fitted = [(names[fit.key], maps.judged(fit)) for fit in chosen if fit.key != RAW]
    words.markdown(maps_words.finding(maps.judged(fits[0]), fitted, seen, maps.name))
    picture = st.container()
    choice = controls(calibration, maps.target, names[known[0].key] if known is not None else "")
    with picture:
        overlay(chosen, maps, choice, known)
    whose = maps_words.whose(seen, maps.name, calibration.n_classes, len(calibration))
    mapless = maps_words.mapless([fit for fit in fits if not has_map(fit, maps.target)])
    st.caption(f"{whose} {mapless}")
    if len(fits) == 1:
        need_fit(what="Only the raw model's map is here. Fit calibrators to see theirs over it.")
    folded("Are the maps right at both ends?", "maps/ends", partial(ends, chosen, maps))
    folded("What does Platt's correction change?", "maps/correction", partial(correction, fits, maps, choice))


with page("Calibration maps"):
    body()
