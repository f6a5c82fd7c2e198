"""The visitor's links: open data are stored under one as they change, and restored where it is opened again."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import streamlit as st

from calib.data import DataError
from calib.data.findings import shortened
from calib.data.samples import load_sample
from calib.formatting import listed, plural
from calib.isolation.logs import trace
from calib.store.contents import Entry, get_data, link_name, new_link, put_data, put_job
from calib.store.index import Damaged, Deleted
from calib.store.saving import in_words, server_store
from calib.ui import fits
from calib.ui.restore import counted, entry_of, session_of, take_in
from calib.ui.server.memory import admit
from calib.ui.session import FROM_THE_TOP, REJECTED, SESSION, VIEWPOINT, OpenSession, find_session
from calib.ui.text import add_notice

LINKS, PRIVATE = "calib_links", "calib_private"
ARRIVED = "calib_arrived"
"""Whether the link in the address was looked at, which is done once for a page that is opened anew."""
ASKED = "calib_asked"
"""Key and owner of every fit and study that was asked for in this tab."""
PARAMETER = "w"
SETTINGS = ("fit/methods", VIEWPOINT)
"""Widgets whose choices come back too."""
AGAIN = 5.0
"""Seconds after which what could not be stored is tried again, where somebody looks."""
USED = 600.0
"""Seconds after which a link is stored once more, so that it counts as used."""


@dataclass(eq=False)
class Link:
    """The link of one data set; other data get another, so that a link that was passed on shows no more.

    Attributes
    ----------
    token : the secret in the address.
    name : under which the server knows it.
    entry : what it leads to.
    had : what is stored under it, as far as this tab knows.
    stored : what this tab has stored under it.
    tried : when it was stored, or could not be, by the monotonic clock.
    trouble : why not all of it is stored; empty where it is.
    """

    token: str
    name: str
    entry: Entry
    had: Entry | None = None
    stored: Entry | None = None
    tried: float = 0.0
    trouble: str = ""


def links() -> list[Link]:
    """Those of this tab, one for each data set that was opened in it; the last is that of the open data."""
    found: list[Link] = st.session_state.setdefault(LINKS, [])
    return found


def _names() -> set[str]:
    """Of these links, and of those that were open before in this tab."""
    return {name for link in links() for name in (link.name, *link.entry.earlier)}


def _link_of(content: str) -> Link | None:
    return next((link for link in links() if link.entry.content == content), None)


def find_link() -> Link | None:
    """The link of the open data, or None where nothing is kept."""
    return links()[-1] if links() and server_store() is not None and not private() else None


def arrive() -> None:
    """On the first run of a page opened anew, bring back what the link in its address leads to.

    Later, where the browser's Back or Forward leads to data that were open before in this tab, open them again.
    """
    token, arrived = st.query_params.get(PARAMETER), st.session_state.get(ARRIVED, SESSION in st.session_state)
    st.session_state[ARRIVED] = True
    if token is None:
        return
    link = find_link()
    if not arrived:
        with st.spinner("Bringing back what was open…"):
            trouble = _follow(token)
        if trouble:
            for key in (SESSION, LINKS):
                st.session_state.pop(key, None)
            add_notice(trouble)
    elif link is not None and link_name(token) in _names() - {link.name}:
        if trouble := _follow(token):
            add_notice(f"What was open before could not be opened again. {trouble}")
        else:
            st.session_state[FROM_THE_TOP] = True


def _follow(token: str) -> str:
    """Open what a token leads to; else why not, in sentences."""
    try:
        return _bring_back(token)
    except DataError as error:  # no room now
        return str(error)
    except OSError as error:
        why = in_words(error)
        return f"What is kept cannot be read now: {why}. Your link is as good as before: open it again later."
    except Damaged as error:
        return f"{error} Upload your files again."
    except Exception as error:  # nothing that lies on the disk may keep a page from opening
        logging.getLogger("calib").error("a link could not be followed\n%s", trace(error))
        return "What is kept under this link could not be brought back. Upload your files again."


def _bring_back(token: str) -> str:
    """Open what a token leads to; else why it leads nowhere."""
    store, name, entry, data = server_store(), link_name(token), None, None
    if store is not None and name is not None:
        with suppress(Deleted):
            entry = store.get_link(name, Entry)
        if entry is not None:
            data = load_sample(entry.sample) if entry.sample else get_data(store, entry.data)
    if name is None or entry is None or data is None:
        return (
            "Nothing is kept under this link: it was deleted, private mode was chosen, it was not used for long, its "
            "room was needed, or this server keeps nothing on disk. Upload your files again."
        )
    session = session_of(entry, data)
    admit(session)
    if (before := find_session()) is not None:
        _leave(before)
    session.viewpoint = entry.settings.get(VIEWPOINT, session.viewpoint)
    st.session_state[SESSION] = session
    too = f" with {listed(counted(session))}" if counted(session) else ""
    add_notice(f"Brought back from your link: {shortened(session.data.name)}{too}.")
    for key in SETTINGS:
        if key in entry.settings:
            st.session_state[key] = entry.settings[key]
    others = [link for link in links() if link.name != name]
    st.session_state[LINKS] = [*others, Link(token, name, entry, entry)]
    return ""


def open_data(opened: OpenSession) -> None:
    """Replace what the visitor has open.

    The same data opened once more go on as they are. Fits and studies on others are stopped; those that were finished
    come back with these data.
    """
    before = find_session()
    st.session_state.pop(REJECTED, None)
    st.session_state[FROM_THE_TOP] = True
    if before is not None and before.data.sha256 == opened.data.sha256:
        opened.go_on_from(before)
        st.session_state[SESSION] = opened
        return
    if before is not None:
        data = opened.data
        classes = "" if data.kind == "pairs" else f", {plural(data.n_classes, 'class', 'classes')}"
        add_notice(f"Now open: {shortened(data.name)}, {plural(len(data), 'row')}{classes}.")
        _leave(before)
    st.session_state[SESSION] = opened
    if (link := _link_of(entry_of(opened).content)) is not None:
        entry = link.entry
        opened.visitor = entry.visitor  # or what was done before would be another's, and stay when that is deleted
        opened.split(entry.part, entry.seed, entry.most)
        take_in(opened, entry)
        if back := counted(opened):
            add_notice(f"These data were open before: {listed([*back, 'their split'])} are back.")


def _leave(session: OpenSession) -> None:
    """Stop what runs on data that make way for others, and keep in mind what they had."""
    fits.stop(session, "other data were opened")
    _keep(session)


def remember() -> None:
    """Store what changed since the last run, and keep the link in the address."""
    session = find_session()
    if session is None or not session.data.sha256:
        return
    _keep(session)
    link = find_link()
    if link is not None and st.query_params.get(PARAMETER) != link.token:
        st.query_params[PARAMETER] = link.token  # links to other pages carry it; an address typed in does not


def _keep(session: OpenSession) -> None:
    """Store what a link is to lead to, unless it is stored, or could not be a moment ago."""
    st.session_state.setdefault(ASKED, set()).update((spec.key, session.visitor) for spec in session.all_specs)
    link, store = _noted(session), server_store()
    seconds = time.monotonic() - link.tried
    if store is None or private() or (link.trouble and seconds < AGAIN):
        return
    try:
        found = None
        with suppress(Damaged):  # it is written anew
            found = store.get_link(link.name, Entry)
        if found is not None:  # perhaps another tab or server has added something
            take_in(session, found, link.had)
            link.had = found
            _noted(session)
        if found is None or link.entry != link.stored or seconds >= USED:
            store.put_link(link.name, link.entry, link.entry.keys())
            link.had = link.stored = link.entry
            link.tried = time.monotonic()
        lacking = store.lacking(link.name)
        if session.data.sha256 in lacking:
            put_data(store, session.data)
        for job in fits.queue().snapshot(lacking):
            if job.state == "done":
                put_job(store, job)
        link.trouble = ""
    except Exception as error:
        if not isinstance(error, Deleted):
            logging.getLogger("calib").error("something could not be stored\n%s", trace(error))
        link.trouble, link.tried = in_words(error), time.monotonic()


def _noted(session: OpenSession) -> Link:
    """The link of the open data, now the last of the tab, with what it is to lead to."""
    entry = entry_of(session)
    link = _link_of(entry.content) or Link(*new_link(), entry)
    st.session_state[LINKS] = [*(other for other in links() if other is not link), link]
    settings = {key: st.session_state[key] for key in SETTINGS if key in st.session_state}
    link.entry = replace(entry, settings=settings, earlier=tuple(sorted(_names() - {link.name})))
    return link


def delete_links() -> None:
    """Delete from the disk what the links of this tab lead to, all or nothing; the data stay open. Raises OSError."""
    store = server_store()
    if store is not None and links():
        store.delete(_names())
    fresh = [Link(*new_link(), replace(link.entry, earlier=())) for link in links()]
    st.session_state[LINKS] = fresh  # what was deleted is never written again under its link
    if PARAMETER in st.query_params:
        del st.query_params[PARAMETER]


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
