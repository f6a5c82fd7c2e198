"""Visitors who have left: when they can no longer come back by themselves, what was held for them is let go."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from calib.jobs import FitQueue
from calib.ui import fits, link, memory
from calib.ui.memory import open_sessions, release
from calib.ui.restore import keys_of, specs_of
from calib.ui.session import Session, session

RECONNECT = "server.disconnectedSessionTTL"
"""Seconds for which Streamlit keeps a session whose connection broke. Then it hands it out no more, and yet holds it,
uploads and all, until the next visitor leaves."""
EARLIER = 10.0
"""So many seconds before, while it can still be named, a session is closed here."""
REFRESH_SHARE = 0.1
"""Seconds between two refreshes of a part of a page, for each visitor: each costs 10 ms, so that those of all visitors
together leave the processor to pages, however many they are."""
SETTLED = 5.0
LOOK_AGAIN = 30.0
"""Seconds between two looks at the fits that still run for somebody who has left."""


@dataclass(eq=False)
class Visit:
    """A connected visitor.

    Attributes
    ----------
    session_id : Streamlit's name of the session.
    of : what the visitor has open.
    can_return : whether a link leads back to it.
    queue : where the visitor's fits are.
    """

    session_id: str
    of: Session
    can_return: bool
    queue: FitQueue


_here: set[str] = set()
"""Names of the sessions that are connected."""
_left: dict[str, Visit] = {}
"""The last visit of each session that may still be taken up again."""


def be_present() -> None:
    """Note on every run who is there, so that their leaving is noticed."""
    memory.prepare()
    context = get_script_run_ctx()
    if context is not None and runtime.exists():
        visit = _visit(context.session_id)
        visit.of, visit.can_return = session(), bool(link.parameters())


def every(seconds: float) -> float:
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
    return Visit(session_id, session(), False, fits.queue())


def _close(visit: Visit) -> None:
    if _left.get(visit.session_id) is not visit:
        return  # came back and left again since
    del _left[visit.session_id]
    server = runtime.get_instance()
    if not server.is_active_session(visit.session_id):
        server.close_session(visit.session_id)
        threading.Thread(target=_let_go, args=(visit,), name="calib-farewell", daemon=True).start()


def _let_go(visit: Visit) -> None:
    try:
        if going_on := forget_fits(visit.queue, visit.of, visit.can_return):
            later = Visit(visit.session_id, Session(visitor=visit.of.visitor), visit.can_return, visit.queue)
            later.of.specs_of_splits[""] = {key: spec for key, spec in specs_of(visit.of).items() if key in going_on}
            later.of.studies = {kind: spec for kind, spec in visit.of.studies.items() if spec.key in going_on}
            timer = threading.Timer(LOOK_AGAIN, _let_go, (later,))
            timer.daemon = True
            timer.start()
        release(visit.of)
        memory.collect(not open_sessions())
        if not open_sessions():
            visit.queue.rest()
        memory.give_back()
        time.sleep(SETTLED)  # until the server has dropped its part
        memory.collect(not open_sessions())
        memory.give_back()
    except Exception as error:
        logging.getLogger("calib").error("what a visitor held could not be let go: %s", type(error).__name__)


def forget_fits(queue: FitQueue, of: Session, can_return: bool) -> set[str]:
    """Forget the fits and studies of a visitor who has left, as far as nobody else wants them.

    What waits or runs goes on where a link leads back to its result, and is cancelled where none does.

    Returns
    -------
    set
        The keys of those that go on.
    """
    if any(other is not of and other.visitor == of.visitor for other in open_sessions()):
        return set()  # the same link is open in another tab
    keys = keys_of(of)
    active = {job.key for job in queue.snapshot(keys) if job.active} if can_return else set()
    for key in dict.fromkeys([*keys, *(study.key for study in of.studies.values())]):
        if key not in active:
            queue.forget(key, owner=of.visitor)
    return active
