"""Visitors who are connected, and those who have left and cannot come back by themselves; the package says why."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from queue import SimpleQueue

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from calib.ui.server.memory import collect, open_data, prepare_allocator
from calib.ui.server.uploads import forget_ended

RECONNECT = "server.disconnectedSessionTTL"
"""Seconds for which Streamlit keeps a session whose connection broke."""
EARLIER = 10.0
"""So many seconds before, while it can still be named, a session is closed here."""
REFRESH_SHARE = 0.1
"""Seconds between two refreshes of a part of a page, for each visitor: each costs 10 ms, so that those of all visitors
together leave the processor to pages, however many they are."""
SETTLED = 5.0
"""Seconds after which Streamlit has dropped its part of a closed session."""

_here: set[str] = set()
"""Names of the sessions that are connected."""


@dataclass(eq=False)
class Visit:
    """A connected visitor.

    Attributes
    ----------
    session_id : Streamlit's name of the session.
    release : frees what is held for the visitor; the one of the last run counts.
    """

    session_id: str
    release: Callable[[], None]


_left: dict[str, Visit] = {}
"""The last visit of each session that may still be taken up again."""
_over: SimpleQueue[Visit] = SimpleQueue()
"""Visits that are over and not released yet."""


def register_visit(release: Callable[[], None]) -> None:
    """Note on every run that a visitor is there; ``release`` is called, in a thread, once they cannot come back."""
    prepare_allocator()
    context = get_script_run_ctx()
    if context is not None and runtime.exists():
        _visit(context.session_id).release = release


def refresh_interval(seconds: float) -> float:
    """Seconds between refreshes of a part of a page, given those for a visitor who is alone."""
    return max(seconds, REFRESH_SHARE * len(_here))


def _on_release(visit: Visit) -> None:
    """The connection has ended; called by Streamlit, on the event loop of the server."""
    _here.discard(visit.session_id)
    with suppress(RuntimeError):  # no loop: the server ends, and everything with it
        wait = max(0.0, float(st.get_option(RECONNECT)) - EARLIER)
        _left[visit.session_id] = visit
        asyncio.get_running_loop().call_later(wait, _close, visit)


@st.cache_resource(scope="session", show_spinner=False, on_release=_on_release)
def _visit(session_id: str) -> Visit:
    _here.add(session_id)
    return Visit(session_id, lambda: None)


def _close(visit: Visit) -> None:
    if _left.get(visit.session_id) is not visit:
        return  # came back and left again since
    del _left[visit.session_id]
    server = runtime.get_instance()
    if not server.is_active_session(visit.session_id):
        server.close_session(visit.session_id)
        _over.put(visit)
        _releaser()


@cache
def _releaser() -> threading.Thread:
    """The one thread that releases visits; started with the first that is over."""
    thread = threading.Thread(target=_release_all, name="calib-release", daemon=True)
    thread.start()
    return thread


def _release_all() -> None:
    while True:
        visits = [_over.get()]
        while not _over.empty():
            visits.append(_over.get())
        _release(visits)


def _release(visits: Sequence[Visit]) -> None:
    """Release visits that ended together, and collect for all of them at once: each time nothing else runs."""
    for visit in visits:
        try:
            visit.release()
        except Exception as error:
            logging.getLogger("calib").error("a visitor's session could not be released: %s", type(error).__name__)
    forget_ended()
    collect(not open_data.holders())
    time.sleep(SETTLED)
    collect(not open_data.holders())
