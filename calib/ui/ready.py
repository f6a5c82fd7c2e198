"""Waiting for what a worker computes for a page: the page says what for, and whatever the visitor does ends it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from calib.errors import CalibrationError, UnexpectedError
from calib.formatting import escape_markdown
from calib.ui.session import Visitor

SAY_AFTER = 0.3
"""Seconds of waiting after which a page says what for."""
GONE_SECONDS = 5.0
"""Between two looks whether the visitor is still there."""
LOOK_SECONDS = 0.1
"""Between two looks whether the visitor wants something else meanwhile."""

_LINE: ContextVar[DeltaGenerator | None] = ContextVar("line", default=None)


@contextmanager
def waiting_line() -> Iterator[None]:
    """Keep a line free in which :func:`awaited` says what is computed for what is drawn within.

    The browser knows elements by their places. Were the line only there while a page waits, all below it would be
    drawn twice for a moment when it goes, and who uses a keyboard would lose the focus.
    """
    token = _LINE.set(st.empty())
    try:
        yield
    finally:
        _LINE.reset(token)


def awaited(visitor: Visitor, key: Hashable, what: str, start: Callable[[], Future[Any]]) -> Any:
    """The result of what ``start`` has a worker compute; asked for once, however often the page is drawn meanwhile.

    Parameters
    ----------
    key : names the result on the open split; the caller keeps it.
    what : is computed, for people: "the scores of the raw model".

    Raises
    ------
    CalibrationError
        As the computation raises it, or if its worker ended.
    """
    future = request(visitor, key, start)
    if not wait([future], SAY_AFTER).done:
        place = _LINE.get() or st.empty()
        while not wait([future], LOOK_SECONDS).done:
            # Streamlit ends a script that nobody waits for any more where it draws.
            place.caption(f":material/progress_activity: Computing {escape_markdown(what)}…")
        place.empty()
    visitor.waiting.pop(key, None)
    try:
        return future.result()
    except CancelledError as error:
        raise CalibrationError(
            f"Computing {what} was stopped. Open the page again to try once more."
        ) from error
    except UnexpectedError as error:
        logging.getLogger("calib").error(
            "a worker could not compute what a page needs\n%s", error.trace
        )
        raise


def request(visitor: Visitor, key: Hashable, start: Callable[[], Future[Any]]) -> Future[Any]:
    """Ask for it before it is needed."""
    if key not in visitor.waiting or visitor.waiting[key].cancelled():
        visitor.waiting[key] = start()
        if runtime.exists() and (context := get_script_run_ctx()) is not None:
            arguments = visitor.waiting[key], context.session_id
            threading.Thread(
                target=end_with_session, args=arguments, name="calib-leave", daemon=True
            ).start()
    return visitor.waiting[key]


def end_with_session(future: Future[Any], session_id: str) -> None:
    """Stop a computation whose visitor has gone before its end."""
    while not wait([future], GONE_SECONDS).done and runtime.exists():
        if not runtime.get_instance().is_active_session(session_id):
            future.cancel()
            return
