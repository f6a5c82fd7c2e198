"""Files to take: what is offered is built by then, so that a click finds it however often the page was drawn since.

Streamlit can build a file when its button is clicked, but forgets it two runs of any visitor later, also while the
browser still fetches it. So a small file is built with the page, and a large one when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd
import streamlit as st

from calib.csv_cells import safe_table
from calib.ui.session import session

Build = Callable[[], str | bytes]

LARGE = 16 << 20
"""Bytes of which no more than one file is kept for a visitor."""


def csv(label: str, key: str, file_name: str, table: Callable[[], pd.DataFrame], of: tuple[object, ...]) -> None:
    """Offer a table, free of formulas.

    Parameters
    ----------
    key : of the button, unique in the app.
    table : makes the table, which is of some thousand cells at most.
    of : objects that it is made of; while they are the same ones it is not made again.
    """

    def build() -> str:
        return safe_table(table()).to_csv(index=False)

    kept = session().built.get(key)
    if kept is None or len(kept[0]) != len(of) or any(a is not b for a, b in zip(kept[0], of, strict=True)):
        kept = session().built[key] = of, build()
    _offer(label, kept[1], file_name, key, icon=":material/table:")


def at_once(label: str, key: str, file_name: str, build: Build, of: Hashable, **looks: Any) -> None:
    """Offer a file that takes moments to build.

    Parameters
    ----------
    key : of the button, unique in the app.
    of : names what it is built of on the open split; while it is equal the file is not built again.
    **looks : ``icon``, ``type``, ``width`` and ``help`` of the button.
    """
    kept = session().built.get(key)
    if kept is None or kept[0] != of:
        kept = session().built[key] = of, build()
    _offer(label, kept[1], file_name, key, **looks)


def on_request(label: str, key: str, file_name: str, build: Build, of: Hashable, **looks: Any) -> None:
    """Offer to build a file that is large or takes seconds, then the file itself in the place of that button.

    Parameters are those of :func:`at_once`.
    """
    place = st.empty()
    kept = session().built.get(key)
    if kept is None or kept[0] != of:
        if not place.button(label, key=f"{key}/build", **looks):
            return
        with place, st.spinner(f"Building {file_name}…"):
            kept = of, build()
        _keep_one_large(key, kept)
    label = f"Save {file_name}, {size_in_words(len(kept[1]))}"
    with place:
        _offer(label, kept[1], file_name, key, **looks | {"type": "primary"})


def size_in_words(nbytes: int) -> str:
    """A file's size: 1.2 MB."""
    return f"{nbytes / 1024:,.1f} kB" if nbytes < 2**20 else f"{nbytes / 2**20:,.1f} MB"


def _keep_one_large(key: str, kept: tuple[Hashable, str | bytes]) -> None:
    built = session().built
    for other in [other for other, (_, content) in built.items() if len(content) > LARGE]:
        del built[other]
    built[key] = kept


def _offer(label: str, content: str | bytes, file_name: str, key: str, **looks: Any) -> None:
    st.download_button(label, data=content, file_name=file_name, key=key, on_click="ignore", **looks)
