"""Sentences of several pages, names from files within Markdown, and notices for the next page drawn.

Pages write Markdown, and nothing that came from a file may be that. Sentences made below the pages (findings, errors,
notes, messages of fits) are plain text, and escaped as a whole where they are shown; sentences with emphasis are made
for pages alone, and a name in one of them is a :func:`literal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal

import streamlit as st

from calib.formatting import escape_markdown, number, percent, with_interval
from calib.metrics.bootstrap import Interval

_BINNING_NAMES = {"imax": "I-Max", "kmeans": "k-means"}

NOTICES = "calib_notices"
Level = Literal["info", "warning", "error"]
LEVELS: dict[Level, tuple[Callable[..., object], str]] = {
    "info": (st.info, ":material/info:"),
    "warning": (st.warning, ":material/warning:"),
    "error": (st.error, ":material/error:"),
}
"""Function and icon for sentences of each level."""


def binning_name(binning: str) -> str:
    """Name of a way to bin on every page: its own words, unless it is a name."""
    return _BINNING_NAMES.get(binning, binning.replace("_", " "))


def interval_cell(interval: Interval | None, write: Callable[[float], str] = number) -> str:
    """A value with its interval in a cell of a table: 1.2 [1.1, 1.3]."""
    return "–" if interval is None or math.isnan(interval.value) else with_interval(interval, write)


def percents(interval: Interval, digits: int = 1) -> str:
    """The ends of an interval of a share: 4.1 % to 6.3 %."""
    return f"{percent(interval.low, digits)} to {percent(interval.high, digits)}"


def literal(name: str, longest: int = 40) -> str:
    """A name that was not written here: shortened, on one line, and read as nothing more than text.

    An empty or blank one is called "(empty)", so that no sentence has a hole.
    """
    return escape_markdown(name if len(name) <= longest else name[: longest - 1] + "…") or "(empty)"


def rows_count_once(weights: object) -> None:
    """Say so under figures that leave the weights of the rows aside, where there are any."""
    if weights is not None:
        st.caption("Each row counts once here: the weights of the rows are not used.")


def show_notes(notes: Iterable[str], first: str = "") -> None:
    """Show notes, such as how a fit ended: plain sentences, one a line, after a first line."""
    lines = [
        *([first] if first else []),
        *(f":material/info: {escape_markdown(note)}" for note in notes),
    ]
    if lines:
        st.caption("  \n".join(lines))


def add_notice(text: str, level: Level = "info") -> None:
    """Add a plain sentence to the pending notices."""
    st.session_state.setdefault(NOTICES, []).append((text, level))


def show_pending_notices() -> None:
    """Show them, once."""
    for text, level in st.session_state.pop(NOTICES, []):
        show, icon = LEVELS[level]
        show(escape_markdown(text), icon=icon)
