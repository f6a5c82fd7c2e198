"""Show a figure the same way everywhere: its text alternative, how to read it, and its picture and data to take."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from calib.plots import alt_text, figure_data
from calib.plots.style import Style
from calib.ui import downloads

LAST_CLICKED = "figures/last-clicked"


def show_selectable(fig: go.Figure, key: str, how_to_read: str) -> list[int]:
    """Draw a figure whose points can be clicked; the bins chosen in it, if it was the one clicked last."""

    def remember() -> None:
        st.session_state[LAST_CLICKED] = key

    event = show(fig, key, how_to_read, on_select=remember)
    return selected_bins(event) if st.session_state.get(LAST_CLICKED) == key else []


def show(fig: go.Figure, key: str, how_to_read: str, *, on_select: Callable[[], None] | None = None) -> Any:
    """Draw a figure with its folded "how to read this" and its downloads.

    Parameters
    ----------
    fig : the figure; ``fig.layout.meta["alt"]`` is its text alternative.
    key : unique on the page; also the file name of the downloads.
    how_to_read : one line for a newcomer.
    on_select : called when a point is clicked, before the page reruns; the event is returned.
    """
    image = st.session_state.get(f"{key}/format", "png")
    options: dict[str, Any] = {
        "displaylogo": False,
        "toImageButtonOptions": {"format": image, "filename": key, "scale": 2 if image == "png" else 1},
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
    }
    event = st.plotly_chart(
        fig,
        key=key,
        width="stretch",
        alt=alt_text(fig),
        config=options,
        on_select=on_select or "ignore",
        selection_mode="points",
    )
    with st.popover("How to read this", icon=":material/help:", type="tertiary"):
        st.write(how_to_read)
        st.segmented_control(
            "Picture saved by the camera above the figure",
            ["png", "svg"],
            default="png",
            required=True,
            key=f"{key}/format",
            format_func=str.upper,
        )
        downloads.csv("Data as CSV", f"{key}/csv", f"{key}.csv", partial(figure_data, fig), of=(fig,))
    return event


def method_title(title: str, style: Style) -> None:
    """A method's name after a dot in its colour."""
    st.html(f'<span style="color:{style.color}">●</span> <strong>{escape(title)}</strong>')


def selected_bins(event: Any) -> list[int]:
    """Bin numbers of the points chosen in a figure whose points carry them as ``customdata``."""
    points = (event or {}).get("selection", {}).get("points", [])
    return [int(point["customdata"][0]) for point in points if point.get("customdata")]
