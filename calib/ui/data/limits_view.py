"""What an upload may be and what is kept of it, said where people upload and before they find out."""

from __future__ import annotations

import math

import streamlit as st

from calib.data import limits
from calib.data.limits import megabytes
from calib.settings import limit
from calib.ui.link import private
from calib.ui.session import MOST_OF_ONE
from calib.workspace import keeper

LARGEST = max(1, math.floor(limits.MAX_UPLOAD / 2**20))
"""Of one file, in Streamlit's unit; an uploader that is given it says so and refuses what is larger by itself."""

ROW_OF_1000 = 8 * 1000
"""Bytes of a row of 1,000 classes in float64."""


def show_limits() -> None:
    """One line with the limits that are met first, and all of them a click away."""
    kept = "Nothing is kept on disk." if not _kept() or private() else f"Kept on disk for {_kept()}."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"Once read, at most {megabytes(limits.MAX_BYTES)}, {limits.MAX_ROWS:,} rows and {limits.MAX_CLASSES:,} "
            f"classes. {kept}",
            width="content",
        )
        with st.popover("All limits", icon=":material/straighten:", type="tertiary"):
            rows = "\n".join(f"| {what} | {most} |" for what, most in _limits().items())
            st.markdown(f"| Of | At most |\n|:--|:--|\n{rows}")
            st.caption("Larger outputs are read block by block from a shell: `python -m calib fit FILE --stream`.")


def _kept() -> str:
    """For how long, in words; empty where this server keeps nothing."""
    made = keeper()
    return "" if made is None else f"{made.configuration.max_days:g} days after the last use"


def _limits() -> dict[str, str]:
    made = keeper()
    memory, waiting, all_waiting = (limit(f"CALIB_{name}") for name in ("MEMORY_GB", "WAITING", "WAITING_IN_ALL"))
    rows = limits.MAX_BYTES // ROW_OF_1000
    return {
        "A file": f"{LARGEST:,} MB",
        "A text table, unpacked": megabytes(limits.MAX_TEXT),
        "All arrays of an upload": f"{megabytes(limits.MAX_BYTES)}, such as {rows:,} rows of 1,000 classes in float64",
        "Rows": f"{limits.MAX_ROWS:,}",
        "Classes": f"{limits.MAX_CLASSES:,}",
        "Arrays or columns in a file": f"{limits.MAX_ARRAYS:,}",
        "Your data, fits and figures in memory": f"{megabytes(MOST_OF_ONE)}, and {megabytes(int(memory * 1e9))} of all "
        "visitors",
        "Your fits that wait for a worker": f"{waiting:,.0f}, and {all_waiting:,.0f} of all visitors",
        "What is kept on disk": "nothing"
        if made is None
        else f"{_kept()}, and {megabytes(made.configuration.max_bytes)} of all visitors",
    }
