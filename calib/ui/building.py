"""Files that workers build: the page waits for one that takes moments, and offers it at once.

What takes seconds is built on request, and goes on while the visitor looks at other pages, which follow it and stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from calib.engine import Data, TaskSpec
from calib.ui import fits, widgets
from calib.ui.progress import result_of, start, stop
from calib.ui.ready import awaited
from calib.ui.session import OpenSession, current_session

LARGE = 16 << 20
"""Bytes of which no more than one file is kept for a visitor."""


def offer_file(
    label: str,
    key: str,
    file_name: str,
    function: Callable[..., str | bytes],
    given: Callable[[], Mapping[str, Any]],
    of: Hashable,
    *,
    large: bool,
    arguments: tuple[Any, ...] = (),
    unit: str = "part",
    **looks: Any,
) -> None:
    """Offer a file that a worker builds; a large one with a button that builds it, then how far it is, then the file.

    Parameters
    ----------
    key : of the button, unique in the app.
    function : called as ``function(*arguments, data=...)``, for a large file with ``callback=...`` too; gives what the
        file holds.
    given : makes what ``data`` holds, when the file is asked for.
    of : names what it is built of on the open split; while it is equal the file is not built again.
    unit : of what the function reports, one of them: "row".
    **looks : ``icon``, ``type``, ``width`` and ``help`` of the button.
    """
    session = current_session()
    of = session.seen(of)
    kind = f"file/{key}"
    # Of this visitor alone: what a file says of its sources is not for others with the same rows.
    spec = TaskSpec(
        function, arguments, f"{session.visitor} {session.split_key} {of!r}", file_name, "file"
    )

    def data() -> Data:
        return Data(f"{spec.key} of {file_name}", given())

    def build() -> Any:
        return fits.compute(session, function, *arguments, data=data())

    if kind in session.studies and session.studies[kind].key != spec.key:
        stop(kind)
    if session.built.get(key, (None,))[0] != of:
        begin = partial(start, kind, spec, data)
        if not large:
            content = awaited(session, ("file", key, of), file_name, build)
        elif kind not in session.studies:
            st.button(label, key=f"{key}/build", on_click=begin, **looks)
            return
        elif (content := result_of(kind, unit, begin)) is None:
            return
        else:
            fits.queue().forget(session.visitor, session.studies.pop(kind).key)
        keep_built(session, key, of, content)
    content = session.built[key][1]
    if large:
        size = (
            f"{len(content) / 2**10:,.1f} kB"
            if len(content) < 2**20
            else f"{len(content) / 2**20:,.1f} MB"
        )
        label = f"Save {file_name}, {size}"
        looks = looks | {"type": "primary"}
    widgets.offer(label, content, file_name, key, **looks)


def keep_built(session: OpenSession, key: str, of: Hashable, content: str | bytes) -> None:
    """Keep a file under its button's key; of large ones, the last alone."""
    for other in [other for other, (_, kept) in session.built.items() if len(kept) > LARGE]:
        del session.built[other]
    session.built[key] = of, content
