"""What is said once, at the top of the next page that is drawn."""

from __future__ import annotations

import streamlit as st

NOTICES = "calib_notices"


def tell(text: str) -> None:
    """Have a sentence said."""
    st.session_state.setdefault(NOTICES, []).append(text)


def say() -> None:
    """Say what is to be said."""
    for text in st.session_state.pop(NOTICES, []):
        st.info(text, icon=":material/history:")
