"""The frame around every page: title, menu, data set, device, running fits and stored data; and no traceback."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module

import streamlit as st

from calib.calibrators.backend import cpu_description, gpu_present
from calib.data.loading import APART
from calib.errors import CalibrationError
from calib.evaluation.view import Viewpoint
from calib.formatting import escape_markdown, listed, plural
from calib.isolation.logs import trace, without_data
from calib.plots.reliability import MARGINS, SIDE, diagram_height
from calib.plots.style import COLORS, FRAME, PAGES, text_color
from calib.store.index import describe_error, server_store
from calib.ui import fits, link, tasks
from calib.ui.data.upload import open_sample
from calib.ui.link import ARRIVED, PRIVATE, find_link, page_link, private, remember
from calib.ui.menu import Entry, draw_menu, entries, entry_of
from calib.ui.progress import fits_under_way
from calib.ui.ready import waiting_line
from calib.ui.server.uploads import forget_unshown
from calib.ui.session import (
    FROM_THE_TOP,
    VIEWPOINT,
    Cohort,
    OpenSession,
    current_session,
    find_session,
)
from calib.ui.text import add_notice, literal, show_pending_notices
from calib.ui.widgets import segments

FITS_IN_BODY = ("Fit",)
"""Pages that say further down, where one clicks, how far fits are."""
LAST_OF_JOURNEY = "Export"
"""The pages up to this one are the journey, in order; the others are looked up."""
OF_ALL_ROWS = ("Fit", "Export", "Monitoring", "Geometry", "Active learning")
"""Pages that no cohort restricts."""
SCOPE = f"Pages then judge the rows of this group alone; {listed([*OF_ALL_ROWS, 'the report'])} keep to all rows."
"""What choosing a group does, as docs/pages.md has it."""
OF_CLASSES = ("Latent GP", "Geometry", "Active learning")
"""Pages that have no words of their own for an event."""
IMPORTED = (
    "sklearn.model_selection",
    "plotly.graph_objs.scatter",
    "plotly.graph_objs.layout",
    "calib.reporting",
)
"""Modules of the first split, figure and comparison, whose import takes more than a processor second."""
TO_THE_TOP = """document.querySelector('[data-testid="stMain"]').scrollTo(0, 0)"""
"""Streamlit scrolls up when the page changes, and offers no way to do so on the same page."""
ICON = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#0072B2" stroke-width="2.4">
<circle cx="12" cy="12" r="10"/><circle cx="12" cy="12" r="5.6"/><circle cx="12" cy="12" r="1.2"/></svg>"""
"""Drawn here: Streamlit would have every visitor's browser fetch a symbol's picture from a service outside."""


PLOT = (diagram_height(SIDE) - FRAME) / (SIDE - MARGINS)
"""Height of a square diagram with its histogram, as a multiple of the width of the square."""
BESIDE = MARGINS + 32
"""Pixels of a phone's width that a diagram's square does not have."""
READABLE = f"""<style>
[data-testid="stMainBlockContainer"] {{padding-top: 2.25rem}}
[data-testid="stMainBlockContainer"] h1 {{padding: .4rem 0 .2rem}}
[data-testid="stMainBlockContainer"] h2 {{padding: .3rem 0 .6rem}}
[data-testid="stHeader"] {{background: transparent}}
@media (max-width: 768px) {{[data-testid="stMainBlockContainer"] {{padding-top: 3.25rem}}}}
@media (max-width: 600px) {{
  [class*="st-key-square-"] {{
    height: calc({FRAME}px + {PLOT:.3f} * (100vw - {BESIDE}px)) !important; flex: none !important}}
  [data-testid="stMainBlockContainer"] h2 {{padding-bottom: 1rem}}
  [data-testid="stMainBlockContainer"] {{padding-bottom: 2rem}}
  [data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] {{gap: .6rem}}
  [data-testid="stMain"] hr {{margin: .6rem 0}}
  [data-testid="stMetric"] * {{white-space: normal !important}}
}}
.js-plotly-plot .main-svg text {{fill: currentColor !important}}
button[data-testid^="stBaseButton-primary"] {{color: light-dark({PAGES["light"][0]},{PAGES["dark"][0]}) !important}}
:focus-visible:not(input, textarea) {{outline: 2px solid {text_color(COLORS[1])} !important; outline-offset: 1px}}
.st-key-cohort-clear button {{border-radius: 1rem; min-height: 0; padding: .1rem .7rem;
  background: light-dark(#FDEEE3,#4A2A14); color: light-dark(#8A3F00,#FFC9A0)}}
[class*="st-key-tile-"] a {{padding: 0 !important; min-height: 0}}
:has(> [class*="st-key-finding-"]) {{min-width: min(100%, 15rem)}}
[data-testid="stCode"] .token {{color: inherit !important}}
[data-testid="stCode"] .token.keyword {{color: {text_color(COLORS[1])} !important}}
[data-testid="stCode"] .token.string {{color: {text_color(COLORS[2])} !important}}
</style>"""
"""Titles near the top; text with a contrast of 4.5 where Streamlit's own has less than 4; diagrams square on a phone.

A finding's picture moves below its sentence where that would be narrow.
And an outline to what has the keyboard's focus: Streamlit's shadow around buttons is faint, and links get none.
"""


@contextmanager
def page(title: str, invitation: str = "") -> Iterator[None]:
    """Draw the shell, then the page's body; anything that goes wrong in the body becomes a sentence.

    Use as the only statement of a page: ``with page("Reliability"): ...``, with its title in the menu. The invitation
    is the title above the page while no data are open.
    """
    without_data()
    st.set_page_config(page_title=f"{title} · calib", page_icon=ICON, layout="wide")
    st.html(READABLE)
    link.arrive()
    link.remember()
    _prepare()
    forget_unshown()
    session = find_session()
    entry = entry_of(title)
    if session is not None:
        _look_at(session, st.session_state.get(VIEWPOINT, "event"))
        fits.ask_for_raw(session)
    _menu(session)
    st.title(entry.title_for(session) if session is not None or not invitation else invitation)
    if session is not None:
        _about(session, title)
    _from_the_top()
    # They come and go, and the browser knows elements by their places: those of the body keep theirs.
    notices = st.container()
    with notices:
        show_pending_notices()
        trouble()
        if session is not None and title not in FITS_IN_BODY:
            fits_under_way()
    try:
        with waiting_line():
            if session is not None and (missing := entry.missing(session)):
                _lacks(session, entry, missing)
            with session.all_rows() if session and title in OF_ALL_ROWS else nullcontext():
                yield
        if session is not None:
            _onward(entry, session)
    except CalibrationError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
    except Exception as error:
        # Streamlit's own control flow (rerun, stop) does not derive from Exception and passes through.
        logging.getLogger("calib").error("page %s failed\n%s", title, trace(error))
        st.error(
            f"This page could not be drawn ({type(error).__name__}). Your data and fits are kept. "
            "Go to another page and come back; if it happens again, the log of the app has the details.",
            icon=":material/error:",
        )
    link.remember()


def _about(session: OpenSession, title: str) -> None:
    """Describe the open data and the cohort in one line; where a page has no words for an event, that it has none."""
    about = {
        "top-label": plural(session.data.n_classes, "class", "classes"),
        "event": f"two classes, event: {literal(session.view.event_name)}",
        "pairs": "pairs of confidence and correct",
    }
    rows = plural(len(session.data), "prediction")
    rows = f"{rows}, {len(session.whole_test):,} of them to test on"
    with st.container(horizontal=True, vertical_alignment="center"):
        name = literal(session.data.name)
        st.caption(f"{name} · {rows} · {about[session.view.name]}", width="content")
        if session.cohort is not None:
            _chip(session.cohort, title)
    if session.view.is_event and title in OF_CLASSES:
        name = literal(session.view.event_name)
        st.caption(
            f"Shown for both classes, {name} and the other; confidence is that in the predicted class."
        )
    if session.view.name == "pairs" and title in OF_CLASSES:
        st.caption(
            "A confidence below 0.5 counts as confidence in the opposite: 0.2 as 0.8 that the answer is wrong."
        )


def _chip(cohort: Cohort, title: str) -> None:
    """The rows to which the pages are restricted, out of the way with one click."""
    rows = plural(len(cohort.data), "row")
    st.button(
        f"{literal(cohort.name)} · {rows}",
        key="cohort/clear",
        icon=":material/close:",
        icon_position="right",
        help="Show all rows again.",
        on_click=show_all_rows,
    )
    scope = "this page shows all rows" if title in OF_ALL_ROWS else "pages judge these rows"
    st.caption(scope, width="content")


def show_all_rows() -> None:
    """Leave the cohort."""
    current_session().cohort = None


def _lacks(session: OpenSession, entry: Entry, missing: str) -> None:
    """Show what the data lack for a page, and why where that came with them and cannot be used."""
    st.info(f"This page needs {missing}, which these data do not hold.")
    for finding in session.data.findings:
        if finding.left_out in entry.needs:
            st.warning(
                escape_markdown(f"{finding.reason} {finding.action}"), icon=":material/warning:"
            )
    page_link("app.py", "Open data with them", ":material/upload_file:")
    _onward(entry, session)
    st.stop()


def _onward(entry: Entry, session: OpenSession) -> None:
    """At a page's foot, the next one of the journey that the data allow: on a phone the menu is folded away."""
    journey = entries()[: entries().index(entry_of(LAST_OF_JOURNEY)) + 1]
    following = (
        journey[journey.index(entry) + 1 :] if entry in journey[1:] else []
    )  # Data has its own buttons
    for page in following:
        if not page.missing(session):
            st.divider()
            page_link(page.path, f"Next: {page.title_for(session)}", ":material/arrow_forward:")
            return


def _from_the_top() -> None:
    """Scroll up once where a page became another one under the visitor: other data were opened, or files refused."""
    if st.session_state.pop(FROM_THE_TOP, False):
        once = f"// {secrets.token_hex(4)}"  # a browser runs the same script but once
        st.html(f"<script>{TO_THE_TOP} {once}</script>", unsafe_allow_javascript=True)


@cache
def _prepare() -> None:
    """Start once, in the background, what the first upload would else wait for: readers, imports and a worker."""
    if APART:
        from calib.isolation.client import READERS  # its modules are those of POSIX

        threading.Thread(target=READERS.start, name="calib-readers", daemon=True).start()
    threading.Thread(target=_import, args=IMPORTED, name="calib-imports", daemon=True).start()
    fits.queue().compute(sum, (1, 2))  # the workers start


def _import(*modules: str) -> None:
    for module in modules:
        import_module(module)


def _menu(session: OpenSession | None) -> None:
    with st.sidebar:
        draw_menu(session)
        with st.container(gap="xsmall"):
            if session is not None:
                fits_under_way(at_the_foot=True)
                st.caption(f":material/dataset: {literal(session.data.name)}")
                tasks.switch(session)
            if cluster := fits.queue().cluster:
                st.caption(f":material/lan: Cluster at {escape_markdown(cluster)}")
            else:
                gpu = ", NVIDIA GPU present" if gpu_present() else ""
                st.caption(f":material/memory: {cpu_description()}{gpu}")


def _look_at(session: OpenSession, viewpoint: Viewpoint) -> None:
    """Take what the switch says; studies of scores in the other view are dropped."""
    if viewpoint == session.viewpoint:
        return
    before, session.viewpoint = session.view, viewpoint
    if session.view != before:
        for spec in list(session.studies.values()):
            fits.cancel(spec.key)


def view_switch(session: OpenSession) -> None:
    """With two classes, let the visitor choose what all pages speak of: the event, or the predicted class."""
    data = session.data
    if data.event is None or data.kind == "pairs" or data.n_classes != 2:
        return
    titles = {"event": f"P({literal(data.event.name)})", "top-label": "Predicted class"}
    segments(
        "Calibration of",
        titles,
        "event",
        VIEWPOINT,
        help=(
            "The event: is the observed rate 20\u00a0% where the predicted risk is 20\u00a0%? "
            "The predicted class: is the accuracy 80\u00a0% where the confidence is 80\u00a0%?"
        ),
    )


def need_data(sample: str = "simulated-loans") -> None:
    """Say that no data are open, with the button that opens some."""
    st.info(
        "No data are open yet. Upload your model's outputs, or look at this page with a sample."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Open a sample here",
            key="need/sample",
            type="primary",
            on_click=open_sample,
            args=(sample,),
        )
        page_link("app.py", "Open data", ":material/upload_file:")


def open_session(sample: str = "simulated-loans") -> OpenSession:
    """Open the visitor's session, once a page; where nothing is open, say so and draw no more."""
    session = find_session()
    if session is None:
        need_data(sample)
        st.stop()
    return session


def need_fit(what: str) -> None:
    """Say in one line what a fit would add, with the button that gets it."""
    st.info(what)
    page_link("pages/1_Fit.py", "Fit calibrators", ":material/model_training:")


SWITCH = "link/private"


def delete() -> None:
    """Delete all that this visitor opened and fitted, on disk and in memory, unless others have the same data open."""
    if not _dropped():
        return
    if (session := find_session()) is not None:
        fits.stop(session)
    for stored in link.links().values():
        fits.queue().forget(stored.entry.visitor)
    for key in list(st.session_state):
        # Uploaders keep what they show; without their marks they would be read again at once.
        if not str(key).startswith("upload/") and key not in (PRIVATE, ARRIVED):
            del st.session_state[key]
    add_notice("Your data, fits and studies were deleted.")


def _dropped() -> bool:
    """Remove what was written; whether nothing of it is left."""
    try:
        link.delete_links()
        return True
    except OSError as error:
        add_notice(
            f"Not deleted: your data are still on the server's disk, because {describe_error(error)}. They stay open, "
            "and your link still leads to them. Try again later."
        )
        return False


def storage_notice() -> None:
    """A folded part at the foot of the Data page."""
    store = server_store()
    with st.expander("Where your data are kept", icon=":material/folder_managed:"):
        if store is None:
            st.write(
                "In this server's memory, while this page is open; nothing is kept on disk. After a reload, upload "
                "your files again."
            )
            return
        st.write(
            "On this server's disk, and deleted when unused for "
            f"{store.max_days:g} days, or sooner when its room is needed. The address of this page is "
            "your link to them: it brings them back after a refresh or a restart, here or in another browser. Whoever "
            "has the link sees what you see; nobody finds it otherwise."
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.toggle(
                "Private mode: keep nothing on disk",
                value=private(),
                key=SWITCH,
                on_change=_switched,
                help="Removes what was kept. Closing or refreshing the page then loses the data, fits and studies.",
            )
            if find_session() is not None:
                with st.popover("Delete my data", icon=":material/delete:"):
                    st.write(
                        "The open data, their fits and studies, and what was open before in this tab. This cannot be "
                        "undone."
                    )
                    st.button("Delete now", key="link/delete", type="primary", on_click=delete)
        remember()
        if private():
            st.caption(
                ":material/visibility_off: Private: nothing is kept, and the address leads to nothing."
            )
        elif (current := find_link()) is not None:
            not_saved = ":material/cloud_off: Not saved: see above."
            st.caption(not_saved if current.trouble else ":material/cloud_done: Saved.")


def _switched() -> None:
    """Write nothing from now on and remove what was written; or write again."""
    on = bool(st.session_state[SWITCH])
    if not on or _dropped():
        st.session_state[PRIVATE] = on
    st.session_state[SWITCH] = private()


def trouble() -> None:
    """At the top of every page, what could not be kept, until it is; nothing where all was done."""
    if (current := find_link()) is None or not current.trouble:
        return
    st.warning(
        f"Not kept on disk, because {escape_markdown(current.trouble)}. Export what you need before you close this "
        "page.",
        icon=":material/cloud_off:",
    )
