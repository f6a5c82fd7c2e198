"""The visitor's link: what it leads to is kept as it changes, and brought back where a page is opened anew.

Where the visitor's data are kept, in words, with the switch that keeps nothing and the button that deletes all.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace

import streamlit as st

from calib.data import DataError, Predictions
from calib.errors import CalibrationError
from calib.logs import trace
from calib.ui import fits
from calib.ui import restore as earlier
from calib.ui.restore import entry_of, keys_of, reopen
from calib.ui.session import SESSION, Session, session
from calib.ui.text import tell
from calib.workspace import Damaged, Entry, Keeper, entry_id, keeper, new_token

LINK, PRIVATE = "calib_link", "calib_private"
PARAMETER = "w"
SETTINGS = ("fit/methods",)
"""Widgets whose choices come back too."""


@dataclass(eq=False)
class Link:
    """The link of one open data set; other data get another, so that a link that was passed on shows no more.

    Attributes
    ----------
    token : the secret in the address.
    name : under which the server knows it.
    of : the session that it brings back.
    entry : what it leads to, as last written.
    writing, saving : the entry and the data on their way to the disk.
    swapped : whether the session reads its data from there by now.
    kept : keys of the fits and studies that were handed over to be stored.
    earlier : names of the links of data that were open before.
    """

    token: str
    name: str
    of: Session
    entry: Entry | None = None
    writing: Future[None] | None = None
    saving: Future[Predictions | None] | None = None
    swapped: bool = False
    kept: set[str] = field(default_factory=set)
    earlier: tuple[str, ...] = ()


def arrive() -> None:
    """On the first run of a page opened anew, bring back what the link in its address leads to."""
    token = st.query_params.get(PARAMETER)
    if token is None or SESSION in st.session_state:
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
        tell(trouble)
        if not leads_on:
            del st.query_params[PARAMETER]


def remember() -> None:
    """Hand over what changed since the last run to be written, and keep the link in the address; waits for nothing."""
    now: Session | None = st.session_state.get(SESSION)
    made = keeper()
    if made is None or now is None or now.data is None or not now.data.sha256 or private():
        return
    link: Link | None = st.session_state.get(LINK)
    if link is None or link.of is not now:
        before = () if link is None else (*link.earlier, link.name)
        link = st.session_state[LINK] = _link(new_token(), now, before)
    if st.query_params.get(PARAMETER) != link.token:  # the menu's links carry it; others lose it
        st.query_params[PARAMETER] = link.token
    jobs = {job.key: job for job in fits.queue().snapshot(keys_of(now))}
    settings = {key: st.session_state[key] for key in SETTINGS if key in st.session_state}
    entry = entry_of(now, jobs, settings, link.earlier)
    if entry != link.entry:
        link.entry, link.writing = entry, made.keep(link.name, entry)
    if entry.data and link.saving is None:
        link.saving = made.keep_data(link.name, now.data)
    _let_go_of_memory(now, link)
    for key, job in jobs.items():
        if job.state == "done" and key not in link.kept:
            link.kept.add(key)
            made.keep_fit_later(job)


def _let_go_of_memory(now: Session, link: Link) -> None:
    """Once the data are on disk, read them from there."""
    if link.swapped or link.saving is None or not link.saving.done() or link.saving.exception() is not None:
        return
    link.swapped, stored = True, link.saving.result()
    if stored is not None and now.data is not None:
        now.data = replace(stored, name=now.data.name, findings=now.data.findings)
        if now.inspection is not None:
            now.inspection = replace(now.inspection, predictions=now.data)
        link.saving = _done()  # the one that brought them holds them too


def parameters() -> dict[str, str]:
    """The query parameters that a link to another page needs."""
    link: Link | None = st.session_state.get(LINK)
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
    fits.forget_all()
    _drop()
    for key in list(st.session_state):
        # Uploaders keep what they show; without their marks they would be read again at once.
        if not str(key).startswith("upload/") and key != PRIVATE:
            del st.session_state[key]
    tell("Your data, fits and studies were deleted.")


def _drop() -> None:
    made, link = keeper(), st.session_state.pop(LINK, None)
    if made is not None and link is not None:
        made.forget(link.name)
    if PARAMETER in st.query_params:
        del st.query_params[PARAMETER]


def _link(token: str, now: Session, earlier: tuple[str, ...] = (), entry: Entry | None = None) -> Link:
    name = entry_id(token)
    assert name is not None
    return Link(token, name, now, entry=entry, earlier=earlier)


def _done() -> Future[Predictions | None]:
    future: Future[Predictions | None] = Future()
    future.set_result(None)
    return future


def _recalled(made: Keeper, names: tuple[str, ...]) -> Iterator[Entry]:
    for name in names:
        with suppress(Damaged):
            if (entry := made.recall(name)) is not None:
                yield entry


def _bring_back(token: str) -> str | None:
    """Open what a token leads to; the sentence that says why not, where it leads nowhere."""
    made = keeper()
    if made is None:
        return "This server keeps nothing on disk, so the link leads nowhere. Upload your files again."
    name = entry_id(token)
    entry = made.recall(name) if name is not None else None
    if entry is None:
        return (
            "Nothing is kept under this link: it was deleted, private mode was chosen, or it was not used for "
            f"{made.configuration.max_days:g} days. Upload your files again."
        )
    now, said = reopen(made, entry)
    if now is None:
        return said
    link = st.session_state[LINK] = _link(token, now, entry.earlier, entry)
    link.saving, link.swapped = _done(), True
    for key in SETTINGS:
        if key in entry.settings:
            st.session_state[key] = entry.settings[key]
    earlier.remember(_recalled(made, entry.earlier))
    tell(said)
    return None


SWITCH = "link/private"


def where_data_are_kept() -> None:
    """A folded part at the foot of the Data page."""
    made = keeper()
    with st.expander("Where your data are kept", icon=":material/folder_managed:"):
        if made is None:
            st.write("In this server's memory, while this page is open. Nothing is kept on disk.")
            return
        st.write(
            "On this server's disk, and deleted when unused for "
            f"{made.configuration.max_days:g} days, or sooner when its room is needed. The address of this page is "
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
            if session().data is not None:
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
    now: Link | None = st.session_state.get(LINK)
    return now is not None and any(work is not None and not work.done() for work in (now.writing, now.saving))


def _state() -> None:
    now: Link | None = st.session_state.get(LINK)
    if private():
        st.caption(":material/visibility_off: Private: nothing is kept, and the address leads to nothing.")
    elif now is not None:
        failed = [
            error
            for work in (now.writing, now.saving)
            if work is not None and work.done() and (error := work.exception()) is not None
        ]
        if failed:
            st.warning(f"Not kept on disk: {failed[0]}. Export what you need before you close this page.")
        elif _saving():
            st.caption(":material/cloud_sync: Saving…")
        else:
            st.caption(":material/cloud_done: Saved.")
