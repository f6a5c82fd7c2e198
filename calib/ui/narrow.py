"""What is said where a screen is too narrow for a table, which then shows its first columns only."""

from __future__ import annotations

import streamlit as st

SAID = "The table goes on to the right: swipe or scroll it sideways."
PHONE = 640
"""Pixels of the widest screen that counts as narrow; Streamlit, too, lays out anew from there."""
MANY, DESK = 7, 1800
"""So many columns of scores with their intervals fit into a window of so many pixels, beside the menu."""


def sideways(n_with_intervals: int = 0) -> None:
    """Say below a table that it goes on, where it does: its own scroll bar shows only while it is touched.

    Parameters
    ----------
    n_with_intervals : number of columns of scores with their intervals.
    """
    widest = DESK if n_with_intervals > MANY else PHONE
    name = f"calib-narrow-{widest}"
    st.html(
        f"<style>.{name} {{display: none; margin: 0; font-size: .875rem; opacity: .7}} @media (max-width: {widest}px) "
        f"{{.{name} {{display: block}}}}</style><p class='{name}'>↔ {SAID}</p>"
    )
