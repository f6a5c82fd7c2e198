"""The frame around every page: title, menu, data set, device and running fits; and no traceback, ever."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from calib import settings
from calib.data import DataError
from calib.errors import CalibrationError
from calib.evaluation.view import TOP_LABEL, Viewpoint
from calib.formatting import plural
from calib.logs import trace, without_data
from calib.ui import fits, link
from calib.ui.progress import fits_at_the_foot, refusal
from calib.ui.progress import stop as stop_study
from calib.ui.release import release_later
from calib.ui.session import VIEWPOINT, OpenSession, find_session
from calib.ui.text import literal, show_pending_notices
from calib.ui.widgets import segments

CAP = "server.maxUploadSize"
"""Streamlit's own limit of an upload, in MB of 2^20 bytes; its server refuses what is larger before we see it."""

MENU = {
    "Start": [
        ("app.py", "Data", ":material/upload_file:"),
        ("pages/1_Fit.py", "Fit", ":material/model_training:"),
    ],
    "Diagnose": [
        ("pages/2_Reliability.py", "Reliability", ":material/show_chart:"),
        ("pages/3_Over_underconfidence.py", "Over- and underconfidence", ":material/balance:"),
        ("pages/4_Latent_GP.py", "Latent GP", ":material/airwave:"),
        ("pages/7_Binning.py", "Binning", ":material/view_column:"),
        ("pages/8_Calibration_maps.py", "Calibration maps", ":material/stairs:"),
        ("pages/9_Geometry.py", "Geometry", ":material/hub:"),
        ("pages/10_Risk_and_groups.py", "Risk and groups", ":material/groups:"),
    ],
    "Decide": [
        ("pages/5_Compare.py", "Compare", ":material/leaderboard:"),
        ("pages/6_Export.py", "Export", ":material/download:"),
        ("pages/11_Monitoring.py", "Monitoring", ":material/update:"),
        ("pages/12_Active_learning.py", "Active learning", ":material/school:"),
    ],
}
"""The journey, in order. A new page is one line here and one file in ``pages``."""


ICON = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#0072B2" stroke-width="2.4">
<circle cx="12" cy="12" r="10"/><circle cx="12" cy="12" r="5.6"/><circle cx="12" cy="12" r="1.2"/></svg>"""
"""Drawn here: Streamlit would have every visitor's browser fetch a symbol's picture from a service outside."""


@contextmanager
def page(title: str) -> Iterator[None]:
    """Draw the shell, then the page's body; anything that goes wrong in the body becomes a sentence.

    Use as the only statement of a page: ``with page("Reliability"): ...``.
    """
    without_data()
    st.set_page_config(page_title=f"{title} · calib", page_icon=ICON, layout="wide")
    _stop_unless_configured()
    link.arrive()
    link.remember()
    release_later()
    session = find_session()
    if session is not None:
        _look_at(session, st.session_state.get(VIEWPOINT, "event"))
    _menu(session)
    if session is not None:
        about = {
            "top-label": plural(session.data.n_classes, "class", "classes"),
            "event": f"two classes, event: {literal(session.view.event_name)}",
            "pairs": "pairs of confidence and correct",
        }
        rows = plural(len(session.test), "test prediction")
        st.caption(f"{literal(session.data.name)} · {rows} · {about[session.view.name]}")
    st.title(_in_view(title, session))
    show_pending_notices()
    refusal()
    try:
        yield
        _onward(title)
    except (CalibrationError, DataError) as error:
        st.error(str(error), icon=":material/error:")
    except Exception as error:
        # Streamlit's own control flow (rerun, stop) does not derive from Exception and passes through.
        logging.getLogger("calib").error("page %s failed\n%s", title, trace(error))
        st.error(
            f"This page could not be drawn ({type(error).__name__}). Your data and fits are kept. "
            "Go to another page and come back; if it happens again, the log of the app has the details.",
            icon=":material/error:",
        )
    link.remember()


def _in_view(title: str, session: OpenSession | None) -> str:
    """A page's title in the words of the view."""
    return session.view.over_and_under if session is not None and title == TOP_LABEL.over_and_under else title


def _stop_unless_configured() -> None:
    """Where a setting is wrong, show the sentence that says so and nothing else."""
    try:
        settings.check()
        asked, allowed = settings.number("CALIB_UPLOAD_MB"), float(st.get_option(CAP))
        if asked > allowed:
            raise ValueError(
                f"CALIB_UPLOAD_MB is {asked:g} and Streamlit takes {allowed:g}; "
                "set STREAMLIT_SERVER_MAX_UPLOAD_SIZE too."
            )
    except ValueError as error:
        logging.getLogger("calib").error("%s", error)
        st.error(f"This server is not configured as it should be. {error}", icon=":material/settings_alert:")
        st.stop()


def _menu(session: OpenSession | None) -> None:
    with st.sidebar:
        for section, pages in MENU.items():
            st.caption(section)
            for path, label, icon in pages:
                shown = label if session is None or label != TOP_LABEL.menu else session.view.menu
                st.page_link(path, label=shown, icon=icon, width="stretch", query_params=link.parameters())
        st.divider()
        if session is not None:
            st.caption(f":material/dataset: {literal(session.data.name)}")
        # The line looks again by itself while a cluster is being connected to.
        st.fragment(_where_fits_run, run_every=1.0 if fits.queue().place().connecting else None)()
        if session is not None:
            fits_at_the_foot(session)


def _where_fits_run() -> None:
    place = fits.queue().place()
    if place.cluster:
        st.caption(f":material/lan: {place.cluster[0].upper()}{place.cluster[1:]}")
    else:
        st.caption(f":material/memory: {fits.device_description()}")
    if place.trouble:
        st.caption(f":material/warning: {place.trouble}")


def trouble_with_the_cluster() -> None:
    """Say on a page why fits do not run where they should; nothing where they do."""
    if trouble := fits.queue().place().trouble:
        st.warning(trouble, icon=":material/lan:")


def _onward(title: str) -> None:
    """At a page's foot, the next one of the journey: on a phone the menu is folded away."""
    pages = [entry for section in MENU.values() for entry in section]
    place = [label for _, label, _ in pages].index(title)
    session = find_session()
    if session is not None and 0 < place < len(pages) - 1:
        path, label, _ = pages[place + 1]
        st.divider()
        st.page_link(path, label=f"Next: {_in_view(label, session)}", icon=":material/arrow_forward:")


def _look_at(session: OpenSession, viewpoint: Viewpoint) -> None:
    """Take what the switch says; studies of scores in the other view are dropped."""
    if viewpoint == session.viewpoint:
        return
    before, session.viewpoint = session.view, viewpoint
    if session.view != before:
        for kind in list(session.studies):
            stop_study(kind)


def view_switch(session: OpenSession) -> None:
    """With two classes, let the visitor choose what all pages speak of: the event, or the predicted class."""
    data = session.data
    if data.event is None or data.kind == "pairs" or data.n_classes != 2:
        return
    titles = {"event": f"P({literal(data.event.name)})", "top-label": "Predicted class"}
    segments("What all pages look at", titles, "event", VIEWPOINT, help=(
        "The event: does what is said to happen in 20 % of cases happen in 20 %? The predicted class: is a prediction "
        "with 80 % confidence right in 80 % of cases?"
    ))  # fmt: skip


def need_data() -> None:
    """Say that no data are open, with the button that opens some."""
    st.info("No data are open yet. Upload your model's outputs, or try a sample in one click.")
    st.page_link("app.py", label="Open data", icon=":material/upload_file:")


def open_session() -> OpenSession:
    """What the visitor has open, which a page asks for once; where nothing is open, say so and draw no more."""
    session = find_session()
    if session is None:
        need_data()
        st.stop()
    return session


def need_fit(what: str) -> None:
    """Say in one line what a fit would add, with the button that gets it."""
    st.info(what)
    st.page_link("pages/1_Fit.py", label="Fit calibrators", icon=":material/model_training:")
