"""Show a figure the same way everywhere: its text alternative, how to read it, and its picture and data to take."""

from __future__ import annotations

from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from calib.plots import alt_text, figure_data
from calib.plots.style import Style


def show(fig: go.Figure, key: str, how_to_read: str, *, select: bool = False) -> Any:
    """Draw a figure with its folded "how to read this" and its downloads.

    Parameters
    ----------
    fig : the figure; ``fig.layout.meta["alt"]`` is its text alternative.
    key : unique on the page; also the file name of the downloads.
    how_to_read : one line for a newcomer.
    select : whether clicking a point reruns the page; the event is returned.
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
        on_select="rerun" if select else "ignore",
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
        st.download_button(
            "Data as CSV",
            data=lambda: figure_data(fig).to_csv(index=False),
            file_name=f"{key}.csv",
            mime="text/csv",
            key=f"{key}/csv",
            on_click="ignore",
            icon=":material/table:",
        )
    return event


def method_title(title: str, style: Style) -> None:
    """A method's name after a dot in its colour."""
    st.html(f'<span style="color:{style.color}">●</span> <strong>{escape(title)}</strong>')


def selected_bins(event: Any) -> list[int]:
    """Bin numbers of the points chosen in a figure whose points carry them as ``customdata``."""
    points = (event or {}).get("selection", {}).get("points", [])
    return [int(point["customdata"][0]) for point in points if point.get("customdata")]
