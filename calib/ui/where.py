"""Where fits run: on this machine or a cluster, and what is wrong where they should."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits


def where_fits_run() -> None:
    """The menu's line on it; looks again by itself while a cluster is being connected to."""
    connecting = fits.queue().place().connecting
    st.fragment(_line, run_every=1.0 if connecting else None)()


def _line() -> None:
    place = fits.queue().place()
    if place.cluster:
        st.caption(f":material/lan: {place.cluster[0].upper()}{place.cluster[1:]}")
    else:
        st.caption(f":material/memory: {fits.device_description()}")
    if place.trouble:
        st.caption(f":material/warning: {place.trouble}")


def trouble_with_the_cluster() -> None:
    """Say on a page why fits do not run where they should; nothing where they do."""
    if trouble := fits.queue().place().trouble:
        st.warning(trouble, icon=":material/lan:")
