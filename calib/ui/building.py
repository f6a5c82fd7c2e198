"""Files that workers build: the page waits for one that takes moments, and offers it at once.

What takes seconds is built on request, and goes on while the visitor looks at other pages, which follow it and stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from calib.engine import Data, TaskSpec
from calib.ui import fits, widgets
from calib.ui.progress import result_of, start, stop
from calib.ui.ready import awaited
from calib.ui.session import OpenSession, current_session


@dataclass(frozen=True)
class FileTask:
    """How a worker builds a file.

    Attributes
    ----------
    function : called as ``function(*arguments, data=...)``, on request with ``callback=...`` too; gives
        the file's content.
    given : makes what ``data`` holds, when the file is asked for.
    unit : of what the function reports, one of them: "row".
    arguments : plain values.
    """

    function: Callable[..., str | bytes]
    given: Callable[[], Mapping[str, Any]]
    unit: str = "part"
    arguments: tuple[Any, ...] = field(default=())


def at_once(label: str, key: str, file_name: str, task: FileTask, of: Hashable, **looks: Any) -> str | bytes:
    """Offer a file that takes moments to build, and return it; see :func:`on_request`."""
    session = current_session()
    kept = session.built.get(key)
    if kept is None or kept[0] != of:
        data, owner = Data(f"{_data_key(session, of)} of {file_name}", task.given()), session.visitor
        build = partial(fits.queue().compute, task.function, *task.arguments, data=data, owner=owner)
        kept = session.built[key] = of, awaited(session, ("file", key, of), file_name, build)
    widgets.offer(label, kept[1], file_name, key, **looks)
    return kept[1]


def on_request(label: str, key: str, file_name: str, task: FileTask, of: Hashable, **looks: Any) -> None:
    """Offer to build a file, then how far it is with a button that stops it, and then the file itself.

    Parameters
    ----------
    key : of the button, unique in the app.
    of : names what it is built of on the open split; while it is equal the file is not built again.
    **looks : ``icon``, ``type``, ``width`` and ``help`` of the button.
    """
    session, kind = current_session(), f"file/{key}"
    spec = TaskSpec(task.function, task.arguments, _data_key(session, of), file_name, "file")
    begin = partial(start, kind, spec, lambda: Data(f"{spec.key} of {file_name}", task.given()))
    if kind in session.studies and session.studies[kind].key != spec.key:
        stop(kind)
    if session.built.get(key, (None,))[0] == of:
        widgets.offer_built(session.built[key][1], key, file_name, **looks)
    elif kind not in session.studies:
        st.button(label, key=f"{key}/build", on_click=begin, **looks)
    elif (content := result_of(kind, task.unit, begin)) is not None:
        widgets.keep_built(key, of, content)
        fits.queue().forget(session.studies.pop(kind).key, session.visitor)
        widgets.offer_built(content, key, file_name, **looks)


def _data_key(session: OpenSession, of: Hashable) -> str:
    """Of this visitor alone: what a file says of its sources is not for others with the same rows."""
    return f"{session.visitor} {session.split_key} {of!r}"
