"""What is held for a visitor who has left is released, unless somebody else wants it or a link leads back to it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from threading import Timer

import streamlit as st

from calib.jobs import FitQueue
from calib.ui import fits, link
from calib.ui.restore import keys_of
from calib.ui.server.memory import collect, open_data
from calib.ui.server.presence import register_visit
from calib.ui.session import REJECTED, OpenSession, Reading, find_session
from calib.workspace import keeper

LOOK_AGAIN = 30.0
"""Seconds between two looks at the fits that still run for somebody who has left."""


def release_later() -> None:
    """On every run, note what is to be released when the visitor has left."""
    rejected = st.session_state.get(REJECTED)
    current = link.find_link()
    name = "" if current is None else current.name
    register_visit(partial(release_session, find_session(), rejected, fits.queue(), current is not None, name))


def release_session(
    session: OpenSession | None, rejected: Reading | None, queue: FitQueue, can_return: bool, name: str = ""
) -> None:
    """Release all that a visitor who has left had open.

    Parameters
    ----------
    session, rejected : what was open, and files that could not be opened.
    queue : where the visitor's fits are.
    can_return : whether a link leads back to it.
    name : of the link, under which the workspace may still be trying to store the data.
    """
    if name and (store := keeper()) is not None:
        store.leave(name)
    if rejected is not None:
        rejected.upload.files.clear()
    if session is not None:
        open_data.dismiss(session)
        kept = keys_of(session)
        others = [spec.key for spec in session.studies.values() if spec.key not in kept]
        forget_jobs(queue, session.visitor, others)
        forget_jobs(queue, session.visitor, kept, can_return)
        vars(session).clear()  # Streamlit may hold the last session that it served for long
    _rest(queue)


def forget_jobs(queue: FitQueue, visitor: str, keys: Collection[str], can_return: bool = False) -> None:
    """Forget fits and studies of a visitor who has left, as far as nobody else wants them.

    What waits or runs goes on where a link leads back to its result, until it is done; it is cancelled where none does.
    """
    if any(session.visitor == visitor for session in open_data.holders()):
        return  # the same link is open in another tab
    going_on = [job.key for job in queue.snapshot(keys) if job.active] if can_return else []
    for key in keys:
        if key not in going_on:
            queue.forget(key, owner=visitor)
    if going_on:
        timer = Timer(LOOK_AGAIN, _look_again, (queue, visitor, going_on))
        timer.daemon = True
        timer.start()


def _look_again(queue: FitQueue, visitor: str, keys: Collection[str]) -> None:
    forget_jobs(queue, visitor, keys, can_return=True)
    _rest(queue)


def _rest(queue: FitQueue) -> None:
    """Let workers end and collect, where nobody has data open."""
    if not open_data.holders():
        queue.rest()
        collect(nobody_there=True)
