"""What is said on narrow screens alone, where a table shows only its first columns."""

from __future__ import annotations

import streamlit as st

SAID = "Swipe the table sideways for its other columns."
WIDEST = 640
"""Pixels of the widest screen that counts as narrow; Streamlit, too, lays out anew from there."""


def sideways() -> None:
    """Say that the table above goes on to the right; its own scroll bar is hidden on phones."""
    st.html(
        f"<style>.calib-narrow {{display: none; margin: 0; font-size: .875rem; opacity: .7}} @media (max-width: "
        f"{WIDEST}px) {{.calib-narrow {{display: block}}}}</style><p class='calib-narrow'>↔ {SAID}</p>"
    )
