"""The visitor's link: an open session is kept under it as it changes, and restored where it is opened again."""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import streamlit as st

from calib.data import DataError, Predictions
from calib.errors import CalibrationError
from calib.isolation.logs import trace
from calib.ui import fits
from calib.ui import restore as earlier
from calib.ui.restore import entry_of, keys_of, reopen
from calib.ui.server.shares import visitor_address
from calib.ui.session import FROM_THE_TOP, SESSION, VIEWPOINT, OpenSession, find_session
from calib.ui.text import add_notice
from calib.workspace import Content, Damaged, Entry, Keeper, Unreadable, content_of, entry_id, keeper, new_token
from calib.workspace.links import token_name

LINK, PRIVATE = "calib_link", "calib_private"
ARRIVED = "calib_arrived"
"""Whether the link in the address was looked at, which is done once for a page that is opened anew."""
PARAMETER = "w"
SETTINGS = ("fit/methods", VIEWPOINT)
"""Widgets whose choices come back too."""

_KEY = secrets.token_bytes(16)


@dataclass(eq=False)
class Link:
    """The link of one open data set; other data get another, so that a link that was passed on shows no more.

    Attributes
    ----------
    token : the secret in the address.
    name : under which the server knows it.
    session : what it brings back.
    entry : what it leads to, as last handed over to be written.
    contents : what it leads to and should be on disk by now.
    saving : the data on their way to the disk.
    swapped : whether the session reads its data from there by now.
    earlier : names of the links of data that were open before.
    undeleted : what could not be deleted and why, in one sentence; then nothing more is written.
    """

    token: str
    name: str
    session: OpenSession
    entry: Entry | None = None
    contents: tuple[Content, ...] = ()
    saving: Future[Predictions | None] | None = None
    swapped: bool = False
    earlier: tuple[str, ...] = ()
    undeleted: str = ""


def arrive() -> None:
    """On the first run of a page opened anew, bring back what the link in its address leads to.

    Later, where the browser's Back or Forward leads to data that were open before in this tab, open them again.
    """
    token, arrived = st.query_params.get(PARAMETER), st.session_state.get(ARRIVED, SESSION in st.session_state)
    st.session_state[ARRIVED] = True
    if token is None:
        return
    if arrived:
        _return_to(token)
        return
    leads_on = False
    try:
        with st.spinner("Bringing back what was open…"):
            trouble = _bring_back(token)
    except DataError as error:  # no room now; the link is as good as before
        trouble, leads_on = str(error), True
    except Unreadable as error:
        trouble, leads_on = f"{error} Your link is as good as before: open it again later.", True
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


def _return_to(token: str) -> None:
    """Open data that were open before; where that cannot be, it is said, and what is open stays with its link."""
    link, session = find_link(), find_session()
    if link is None or session is None or token == link.token or entry_id(token) not in link.earlier:
        return
    try:
        trouble = _bring_back(token)
    except (DataError, CalibrationError, Damaged) as error:
        trouble = str(error)
    if trouble:
        add_notice(f"What was open before could not be opened again. {trouble}")
    elif (back := find_link()) is not None:
        others = dict.fromkeys((*back.earlier, *link.earlier, link.name))
        back.earlier = tuple(name for name in others if name != back.name)
        st.session_state[FROM_THE_TOP] = True


def remember() -> None:
    """Hand over what changed since the last run to be written, and keep the link in the address; waits for nothing."""
    session, store = find_session(), keeper()
    if store is None or session is None or not session.data.sha256 or private():
        return
    link = find_link()
    if link is not None and link.undeleted:
        return
    if link is None or link.session is not session:
        before = () if link is None else (*link.earlier, link.name)
        token = new_token()
        link = st.session_state[LINK] = Link(token, token_name(token), session, earlier=before)
    if st.query_params.get(PARAMETER) != link.token:  # links to other pages carry it; an address typed in does not
        st.query_params[PARAMETER] = link.token
    jobs = {job.key: job for job in fits.queue().snapshot(keys_of(session))}
    settings = {key: st.session_state[key] for key in SETTINGS if key in st.session_state}
    entry = entry_of(session, jobs, settings, link.earlier, _owner(link))
    done = {content_of(job): job for job in jobs.values() if job.state == "done"}
    data: Content = ("data", entry.data)
    link.contents = (*([data] if entry.data else []), *done)
    lost = store.lost(link.name, link.contents)
    if entry != link.entry or ("links", link.name) in lost:
        link.entry = entry
        store.keep(link.name, entry)
    if entry.data and (data in lost or not (link.swapped or link.saving)):
        link.saving = store.keep_data(link.name, session.data)
    _read_from_disk(session, link)
    for content in lost & done.keys():
        store.keep_fit_later(done[content])


def _read_from_disk(session: OpenSession, link: Link) -> None:
    """Once the data are on disk, read them from there."""
    if link.saving is None or not link.saving.done():
        return
    saving, link.saving = link.saving, None
    if saving.cancelled():
        return
    link.swapped, stored = True, saving.result()
    if stored is not None:
        session.data = replace(stored, name=session.data.name, findings=session.data.findings)
        if (inspection := session.reading.inspection) is not None:
            session.reading = replace(session.reading, inspection=replace(inspection, predictions=session.data))


def _owner(link: Link) -> str:
    """To whose share of the workspace a link counts: its address's, as a hash that means nothing to another process.

    Where the address is not known, to that of the page on which it was opened first.
    """
    if address := visitor_address():
        return hmac.digest(_KEY, address.encode(), "sha256").hex()
    return (*link.earlier, link.name)[0]


def find_link() -> Link | None:
    """The link of the open data, or None."""
    return st.session_state.get(LINK)


def page_link(path: str, label: str, icon: str | None = None, **looks: Any) -> None:
    """A link to another page that leads to what is open, so that the browser's Back needs one press for each page."""
    st.page_link(path, label=label, icon=icon, query_params=parameters(), **looks)


def go_to(path: str) -> NoReturn:
    """Leave for another page, as a click on a link to it would."""
    st.switch_page(path, query_params=parameters())


def parameters() -> dict[str, str]:
    """The query parameters that a link to another page needs."""
    link = find_link()
    return {} if link is None else {PARAMETER: link.token}


def private() -> bool:
    """Whether the visitor asked that nothing be written."""
    return bool(st.session_state.get(PRIVATE))


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
    st.session_state[LINK] = Link(token, name, session, entry=entry, swapped=True, earlier=entry.earlier)
    for key in SETTINGS:
        if key in entry.settings:
            st.session_state[key] = entry.settings[key]
    earlier.remember(_recalled(store, entry.earlier))
    add_notice(notice)
    return None
