"""The visitor's link: an open session is kept under it as it changes, and restored where it is opened again.

The visitor sees where the data are kept, and can keep nothing or delete everything.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from calib.data import DataError, Predictions
from calib.errors import CalibrationError
from calib.logs import trace
from calib.ui import fits
from calib.ui import restore as earlier
from calib.ui.restore import entry_of, keys_of, reopen
from calib.ui.session import SESSION, VIEWPOINT, OpenSession, find_session
from calib.ui.text import add_notice
from calib.workspace import Damaged, Entry, Keeper, entry_id, keeper, new_token
from calib.workspace.links import token_name

LINK, PRIVATE = "calib_link", "calib_private"
ARRIVED = "calib_arrived"
"""Whether the link in the address was looked at, which is done once for a page that is opened anew."""
PARAMETER = "w"
SETTINGS = ("fit/methods", VIEWPOINT)
"""Widgets whose choices come back too."""

SWITCH = "link/private"


@dataclass(eq=False)
class Link:
    """The link of one open data set; other data get another, so that a link that was passed on shows no more.

    Attributes
    ----------
    token : the secret in the address.
    name : under which the server knows it.
    session : what it brings back.
    entry : what it leads to, as last written.
    writing, saving : the entry and the data on their way to the disk.
    swapped : whether the session reads its data from there by now.
    kept : keys of the fits and studies that were handed over to be stored.
    earlier : names of the links of data that were open before.
    """

    token: str
    name: str
    session: OpenSession
    entry: Entry | None = None
    writing: Future[None] | None = None
    saving: Future[Predictions | None] | None = None
    swapped: bool = False
    kept: set[str] = field(default_factory=set)
    earlier: tuple[str, ...] = ()

    @property
    def works(self) -> list[Future[Any]]:
        """What was handed over to be written."""
        return [work for work in (self.writing, self.saving) if work is not None]


def arrive() -> None:
    """On the first run of a page opened anew, bring back what the link in its address leads to."""
    token, arrived = st.query_params.get(PARAMETER), st.session_state.get(ARRIVED, SESSION in st.session_state)
    st.session_state[ARRIVED] = True
    if token is None or arrived:
        return
    leads_on = False
    try:
        with st.spinner("Bringing back what was open…"):
            trouble = _bring_back(token)
    except DataError as error:  # no room now; the link is as good as before
        trouble, leads_on = str(error), True
    except (Damaged, CalibrationError) as error:
        trouble = f"{error} Upload your files again."
    except Exception as error:  # nothing that lies on the disk may keep a page from opening
        logging.getLogger("calib").error("a link could not be followed\n%s", trace(error))
        trouble, leads_on = "What is kept under this link could not be brought back. Upload your files again.", True
    if trouble:
        for key in (SESSION, LINK):
            st.session_state.pop(key, None)
        add_notice(trouble)
        if not leads_on:
            del st.query_params[PARAMETER]


def remember() -> None:
    """Hand over what changed since the last run to be written, and keep the link in the address; waits for nothing."""
    session, store = find_session(), keeper()
    if store is None or session is None or not session.data.sha256 or private():
        return
    link = find_link()
    if link is None or link.session is not session:
        before = () if link is None else (*link.earlier, link.name)
        token = new_token()
        link = st.session_state[LINK] = Link(token, token_name(token), session, earlier=before)
    if st.query_params.get(PARAMETER) != link.token:  # the menu's links carry it; others lose it
        st.query_params[PARAMETER] = link.token
    jobs = {job.key: job for job in fits.queue().snapshot(keys_of(session))}
    settings = {key: st.session_state[key] for key in SETTINGS if key in st.session_state}
    entry = entry_of(session, jobs, settings, link.earlier)
    if entry != link.entry:
        link.entry, link.writing = entry, store.keep(link.name, entry)
    if entry.data and link.saving is None:
        link.saving = store.keep_data(link.name, session.data)
    _read_from_disk(session, link)
    for key, job in jobs.items():
        if job.state == "done" and key not in link.kept:
            link.kept.add(key)
            store.keep_fit_later(job)


def _read_from_disk(session: OpenSession, link: Link) -> None:
    """Once the data are on disk, read them from there."""
    if link.swapped or link.saving is None or not link.saving.done() or link.saving.exception() is not None:
        return
    link.swapped, stored = True, link.saving.result()
    if stored is not None:
        session.data = replace(stored, name=session.data.name, findings=session.data.findings)
        if (inspection := session.reading.inspection) is not None:
            session.reading = replace(session.reading, inspection=replace(inspection, predictions=session.data))
        link.saving = _done()  # the one that brought them holds them too


def find_link() -> Link | None:
    """The link of the open data, or None."""
    return st.session_state.get(LINK)


def parameters() -> dict[str, str]:
    """The query parameters that a link to another page needs."""
    link = find_link()
    return {} if link is None else {PARAMETER: link.token}


def private() -> bool:
    """Whether the visitor asked that nothing be written."""
    return bool(st.session_state.get(PRIVATE))


def be_private(wanted: bool) -> None:
    """Write nothing from now on and remove what was written; or write again."""
    st.session_state[PRIVATE] = wanted
    if wanted:
        _drop()


def delete() -> None:
    """Delete all that this visitor opened and fitted, on disk and in memory, unless others have the same data open."""
    if (session := find_session()) is not None:
        fits.forget_all(session)
    _drop()
    for key in list(st.session_state):
        # Uploaders keep what they show; without their marks they would be read again at once.
        if not str(key).startswith("upload/") and key not in (PRIVATE, ARRIVED):
            del st.session_state[key]
    add_notice("Your data, fits and studies were deleted.")


def _drop() -> None:
    store, link = keeper(), st.session_state.pop(LINK, None)
    if store is not None and link is not None:
        store.forget(link.name)
    if PARAMETER in st.query_params:
        del st.query_params[PARAMETER]


def _done() -> Future[Predictions | None]:
    future: Future[Predictions | None] = Future()
    future.set_result(None)
    return future


def _recalled(store: Keeper, names: tuple[str, ...]) -> Iterator[Entry]:
    for name in names:
        with suppress(Damaged):
            if (entry := store.recall(name)) is not None:
                yield entry


def _bring_back(token: str) -> str | None:
    """Open what a token leads to; the sentence that says why not, where it leads nowhere."""
    store = keeper()
    if store is None:
        return "This server keeps nothing on disk, so the link leads nowhere. Upload your files again."
    name = entry_id(token)
    if name is None or (entry := store.recall(name)) is None:
        return (
            "Nothing is kept under this link: it was deleted, private mode was chosen, or it was not used for "
            f"{store.configuration.max_days:g} days. Upload your files again."
        )
    session, notice = reopen(store, entry)
    if session is None:
        return notice
    session.viewpoint = entry.settings.get(VIEWPOINT, session.viewpoint)
    st.session_state[LINK] = Link(
        token, name, session, entry=entry, saving=_done(), swapped=True, earlier=entry.earlier
    )
    for key in SETTINGS:
        if key in entry.settings:
            st.session_state[key] = entry.settings[key]
    earlier.remember(_recalled(store, entry.earlier))
    add_notice(notice)
    return None


def where_data_are_kept() -> None:
    """A folded part at the foot of the Data page."""
    store = keeper()
    with st.expander("Where your data are kept", icon=":material/folder_managed:"):
        if store is None:
            st.write("In this server's memory, while this page is open. Nothing is kept on disk.")
            return
        st.write(
            "On this server's disk, and deleted when unused for "
            f"{store.configuration.max_days:g} days, or sooner when its room is needed. The address of this page is "
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
        st.fragment(_state, run_every=1.0 if _saving() else None)()


def _switched() -> None:
    be_private(bool(st.session_state[SWITCH]))


def _saving() -> bool:
    current = find_link()
    return current is not None and not all(work.done() for work in current.works)


def _state() -> None:
    current = find_link()
    if private():
        st.caption(":material/visibility_off: Private: nothing is kept, and the address leads to nothing.")
    elif current is not None:
        failed = [error for work in current.works if work.done() and (error := work.exception()) is not None]
        if failed:
            st.warning(f"Not kept on disk: {failed[0]}. Export what you need before you close this page.")
        elif _saving():
            st.caption(":material/cloud_sync: Saving…")
        else:
            st.caption(":material/cloud_done: Saved.")
