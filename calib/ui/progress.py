"""The list of fits with their progress, what they reported, and the buttons that act on them."""

from __future__ import annotations

import streamlit as st

from calib.formatting import number
from calib.jobs import Job
from calib.ui import fits
from calib.ui.presence import every
from calib.ui.session import session

ICONS = {
    "queued": ":material/hourglass_empty:",
    "running": ":material/progress_activity:",
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


def job_list() -> None:
    """Draw the visitor's fits; the list refreshes itself, up to twice a second, while one runs or may be tried again.

    Buttons rerun the list alone: a rerun of the whole page from here would race with the timer, and what stands below
    the list could be lost.
    """
    if session().specs:
        waiting = any(job.calibrator is None for job in fits.jobs())
        st.fragment(_job_list, run_every=every(0.5) if waiting else None)()


def _job_list() -> None:
    jobs = fits.jobs()
    refusal()
    with st.container(border=True):
        for job in jobs:
            _row(job)
        if all(not job.active for job in jobs) and any(job.calibrator for job in jobs):
            st.page_link("pages/2_Reliability.py", label="See what changed", icon=":material/show_chart:")


def waits(job: Job) -> bool:
    """Whether a job has not started: how far it is says nothing then, but its place in line does."""
    return job.state == "queued"


def refusal() -> None:
    """Say once why something that was asked for does not wait for a worker."""
    if text := st.session_state.pop(fits.REFUSED, None):
        st.warning(text, icon=":material/hourglass_disabled:")


def fits_at_the_foot() -> None:
    """At the menu's foot: how many fits run and wait, refreshed only while any does."""
    now = session()
    if not now.specs:
        return
    now.seen_done = sum(job.calibrator is not None for job in fits.jobs())
    st.fragment(_status, run_every=every(1.0) if fits.running() else None)()


def _status() -> None:
    # The page itself is not rerun when a fit ends: that would race with a click on the menu, and lose it.
    now = session()
    current = fits.jobs()
    active = [job for job in current if job.active]
    waiting = sum(map(waits, active))
    done = sum(job.calibrator is not None for job in current)
    if active:
        share = sum(job.fraction for job in active) / len(active)
        counts = {f"{len(active) - waiting} fitting": len(active) - waiting, f"{waiting} waiting": waiting}
        st.progress(share, text=" · ".join([*(words for words, n in counts.items() if n), f"{share:.0%}"]))
    elif done:
        st.caption(f":material/check: {done} fitted")
    if done > now.seen_done and st.button("Show new results", icon=":material/refresh:", key="fits/refresh"):
        st.rerun()


def _row(job: Job) -> None:
    name, state, action = st.columns([3, 6, 1.4], vertical_alignment="center")
    name.markdown(f"{ICONS[job.state]} **{job.spec.title}**")
    with state:
        if job.active:
            st.progress(job.fraction, text=job.message if waits(job) else f"{job.fraction:.0%} · {job.message}")
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
