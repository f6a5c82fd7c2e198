"""What a page shows, by the visitor's choice: it stays while fits come and go, and a new fit comes in chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import streamlit as st

from calib.ui.fits import ShownFit
from calib.ui.session import session


def choose(
    fits: list[ShownFit],
    key: str,
    label: str = "Methods",
    *,
    most: int | None = None,
    aside: Collection[str] = (),
) -> list[ShownFit]:
    """Let the visitor pick which fits a page shows, at least one; see :func:`several`."""
    if len(fits) == 1:
        return fits
    chosen = several({fit.key: fit.title for fit in fits}, key, label, most=most, aside=aside)
    if not chosen:
        st.caption(f"Nothing is chosen, so {fits[0].title} is shown.")
    return [fit for fit in fits if fit.key in chosen] or fits[:1]


def several(
    options: Mapping[str, str],
    key: str,
    label: str = "Methods",
    *,
    most: int | None = None,
    aside: Collection[str] = (),
) -> list[str]:
    """Let the visitor pick some of the options, which may be others in every run.

    Options that were offered before stay as the visitor left them, also where they were gone for a while.

    Parameters
    ----------
    options : their titles.
    key : of the widget, unique in the app.
    most : so many of those offered for the first time are picked, the first ones; all by default.
    aside : those that are offered, but not picked to begin with.
    """
    wanted: dict[str, bool] = session().picked.setdefault(key, {})
    new = [option for option in options if option not in wanted]
    begin = [option for option in new if option not in aside][:most]
    wanted.update({option: option in begin for option in new})
    _show(key, [option for option in options if wanted[option]])

    def remember() -> None:
        wanted.update({option: option in st.session_state[key] for option in options})

    chosen = st.pills(
        label,
        list(options),
        selection_mode="multi",
        format_func=options.__getitem__,
        key=key,
        on_change=remember,
        persist_state="session",
        wrap=True,
    )
    return [option for option in options if option in chosen]


def one(
    options: Mapping[str, str],
    key: str,
    label: str,
    begin: str,
    *,
    style: Literal["segments", "list"] = "segments",
) -> str:
    """Let the visitor pick one of the options; until they do, and where what they picked is gone, it is ``begin``."""
    picked = session().picked
    _show(key, picked[key] if picked.get(key) in options else begin)

    def remember() -> None:
        picked[key] = st.session_state[key]

    same: dict[str, Any] = {
        "format_func": options.__getitem__,
        "key": key,
        "on_change": remember,
        "persist_state": "session",
    }
    if style == "list":
        return str(st.selectbox(label, list(options), **same))
    return str(st.segmented_control(label, list(options), required=True, wrap=True, **same))


def _show(key: str, value: str | list[str]) -> None:
    """Put a value into a widget that is about to be drawn.

    Not where it is there already: what is put in overrides a click that is on its way.
    """
    there = st.session_state.get(key)
    if (sorted(there) != sorted(value)) if isinstance(there, list) else (there != value):  # widgets list in any order
        st.session_state[key] = value
