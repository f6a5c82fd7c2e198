"""The visitor's link: an open session is stored under it as it changes, and restored where it is opened again."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import streamlit as st

from calib.data import DataError
from calib.errors import CalibrationError
from calib.isolation.logs import trace
from calib.store import Damaged, Keeper, in_words, keeper, link_name, new_link
from calib.ui import fits, restore
from calib.ui.restore import entry_of, keys_of, reopen
from calib.ui.session import FROM_THE_TOP, SESSION, VIEWPOINT, OpenSession, find_session
from calib.ui.text import add_notice

LINK, PRIVATE = "calib_link", "calib_private"
ARRIVED = "calib_arrived"
"""Whether the link in the address was looked at, which is done once for a page that is opened anew."""
PARAMETER = "w"
SETTINGS = ("fit/methods", VIEWPOINT)
"""Widgets whose choices come back too."""


@dataclass(eq=False)
class Link:
    """The link of one open data set; other data get another, so that a link that was passed on shows no more.

    Attributes
    ----------
    token : the secret in the address.
    name : under which the server knows it.
    session : what it brings back.
    mapped : whether the session reads its data from the disk by now.
    earlier : names of the links of data that were open before.
    undeleted : what could not be deleted and why, in one sentence; then nothing more is written.
    """

    token: str
    name: str
    session: OpenSession
    mapped: bool = False
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
    link = find_link()
    if not arrived:
        with st.spinner("Bringing back what was open…"):
            trouble, leads_on = _follow(token)
        if trouble:
            for key in (SESSION, LINK):
                st.session_state.pop(key, None)
            add_notice(trouble)
            if not leads_on:
                del st.query_params[PARAMETER]
    elif link is not None and token != link.token and link_name(token) in link.earlier:
        trouble, _ = _follow(token)
        back = find_link()
        if trouble or back is None:
            add_notice(f"What was open before could not be opened again. {trouble}")
            return
        others = dict.fromkeys((*back.earlier, *link.earlier, link.name))
        back.earlier = tuple(name for name in others if name != back.name)
        st.session_state[FROM_THE_TOP] = True


def _follow(token: str) -> tuple[str, bool]:
    """Open what a token leads to; else why not, in sentences, and whether the link is as good as before."""
    try:
        return _bring_back(token), False
    except DataError as error:  # no room now
        return str(error), True
    except OSError as error:
        why = in_words(error)
        return f"What is kept cannot be read now: {why}. Your link is as good as before: open it again later.", True
    except (Damaged, CalibrationError) as error:
        return f"{error} Upload your files again.", False
    except Exception as error:  # nothing that lies on the disk may keep a page from opening
        logging.getLogger("calib").error("a link could not be followed\n%s", trace(error))
        return "What is kept under this link could not be brought back. Upload your files again.", True


def _bring_back(token: str) -> str:
    """Open what a token leads to; else why it leads nowhere."""
    store, name = keeper(), link_name(token)
    if store is None:
        return "This server keeps nothing on disk, so the link leads nowhere. Upload your files again."
    if name is None or (entry := store.recall(name)) is None:
        return (
            "Nothing is kept under this link: it was deleted, private mode was chosen, or it was not used for "
            f"{store.configuration.max_days:g} days. Upload your files again."
        )
    session, notice = reopen(store, entry)
    if session is None:
        return notice
    session.viewpoint = entry.settings.get(VIEWPOINT, session.viewpoint)
    st.session_state[LINK] = Link(token, name, session, mapped=True, earlier=entry.earlier)
    for key in SETTINGS:
        if key in entry.settings:
            st.session_state[key] = entry.settings[key]
    for other in entry.earlier:
        with suppress(Damaged, OSError):
            if (before := store.recall(other)) is not None:
                restore.remember(before)
    add_notice(notice)
    return ""


def remember() -> None:
    """Hand over what changed since the last run to be stored, and keep the link in the address; waits for nothing."""
    session, store = find_session(), keeper()
    if store is None or session is None or not session.data.sha256 or private():
        return
    link = find_link()
    if link is not None and link.undeleted:
        return
    if link is not None and link.session is not session and link.session.visitor == session.visitor:
        link.session, link.mapped = session, False  # the same data, read once more
    if link is None or link.session is not session:
        before = () if link is None else (*link.earlier, link.name)
        link = st.session_state[LINK] = Link(*new_link(), session, earlier=before)
    if st.query_params.get(PARAMETER) != link.token:  # links to other pages carry it; an address typed in does not
        st.query_params[PARAMETER] = link.token
    jobs = {job.key: job for job in fits.queue().snapshot(keys_of(session))}
    settings = {key: st.session_state[key] for key in SETTINGS if key in st.session_state}
    entry = replace(entry_of(session, jobs), settings=settings, earlier=link.earlier)
    data = session.data if entry.data else None
    store.keep(link.name, entry, data, [job for job in jobs.values() if job.state == "done"])
    if entry.data and not link.mapped and not store.standing(link.name).missing:
        _read_from_disk(store, link)


def _read_from_disk(store: Keeper, link: Link) -> None:
    """Read the data from the disk, now that they are there: the memory is free, and all who have them share it."""
    with suppress(Damaged, OSError):
        session = link.session
        if (stored := store.data(session.data.sha256)) is not None:
            session.data = replace(stored, name=session.data.name, findings=session.data.findings)
            link.mapped = True
            if (inspection := session.reading.inspection) is not None:
                session.reading = replace(session.reading, inspection=replace(inspection, predictions=session.data))


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
