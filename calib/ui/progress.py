"""The list of fits with their progress, what they reported, and the buttons that act on them."""

from __future__ import annotations

import streamlit as st

from calib.jobs import Job
from calib.ui import fits
from calib.ui.session import session
from calib.ui.wording import number

ICONS = {
    "queued": ":material/hourglass_empty:",
    "running": ":material/progress_activity:",
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


def job_list() -> None:
    """Draw the visitor's fits; the list refreshes itself twice a second while one runs or may be tried again.

    Buttons rerun the list alone: a rerun of the whole page from here would race with the timer, and what stands below
    the list could be lost.
    """
    if session().specs:
        waiting = any(job.calibrator is None for job in fits.jobs())
        st.fragment(_job_list, run_every=0.5 if waiting else None)()


def _job_list() -> None:
    jobs = fits.jobs()
    with st.container(border=True):
        for job in jobs:
            _row(job)
        if all(not job.active for job in jobs) and any(job.calibrator for job in jobs):
            st.page_link("pages/2_Reliability.py", label="See what changed", icon=":material/show_chart:")


def _row(job: Job) -> None:
    name, state, action = st.columns([3, 6, 1.4], vertical_alignment="center")
    name.markdown(f"{ICONS[job.state]} **{job.spec.title}**")
    with state:
        if job.active:
            st.progress(job.fraction, text=f"{job.fraction:.0%} · {job.message}")
        elif job.calibrator is not None:
            st.caption(
                f"fitted in {number(job.seconds)} s on {fits.device_of(job.calibrator)} · "
                f"{number(job.cpu_seconds)} s of processor time"
            )
            for note in job.calibrator.notes():
                st.caption(f":material/info: {note}")
        else:
            st.caption(job.message)
    with action:
        if job.active:
            label, act = "Cancel", fits.cancel
        elif job.calibrator is not None:
            label, act = "Remove", fits.remove
        else:
            label, act = "Try again", fits.retry
        st.button(label, key=f"{label}/{job.key}", on_click=act, args=(job.key,))
