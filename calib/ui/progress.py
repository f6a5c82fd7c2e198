"""Fits asked for several at once, and the progress of fits and studies with the buttons that act on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from calib.calibrators.backend import device_of
from calib.engine import Job, QueueFull, TaskSpec
from calib.errors import CalibrationError
from calib.formatting import escape_markdown, listed, number, plural
from calib.registry import METHODS, presets
from calib.ui import fits
from calib.ui.fits import ShownFit
from calib.ui.link import page_link
from calib.ui.server.guard import refresh_interval
from calib.ui.session import OpenSession, current_session
from calib.ui.text import show_notes

ICONS = {
    "queued": ":material/hourglass_empty:",
    "running": ":material/progress_activity:",
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}
TROUBLE = "fit/trouble"
"""What was not started and why, in Streamlit's session state until it is shown."""


def job_list(session: OpenSession) -> None:
    """Draw the visitor's fits; the list refreshes itself, up to twice a second, while one runs or may be tried again.

    Buttons rerun the list alone: a rerun of the whole page from here would race with the timer, and what stands below
    the list could be lost.
    """
    if session.specs:
        waiting = any(job.calibrator is None for job in fits.jobs())
        st.fragment(_job_list, run_every=refresh_interval(0.5) if waiting else None)()


def _job_list() -> None:
    jobs = fits.jobs()
    refusal()
    with st.container(border=True, gap="xsmall"):
        if any(job.calibrator for job in jobs):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f":material/check_circle: **{fitted(jobs)}**", width="content")
                page_link("pages/2_Compare.py", "**See the comparison**", ":material/leaderboard:")
        for job in jobs:
            _row(job)


def fitted(jobs: list[Job]) -> str:
    """How many are done, of how many: 3 of 8 fitted."""
    done = sum(job.calibrator is not None for job in jobs)
    return f"{done} fitted" if done == len(jobs) else f"{done} of {len(jobs)} fitted"


def fit_here(method: str, what: str) -> None:
    """Say in one line which fit a page lacks, with the button that gets it, or why it failed.

    While it runs, how far it is stands at the page's top, which takes it in when it ends.
    """
    st.info(what)
    title, asked = METHODS[method].title, _asked_for(method)
    if any(job.active for job in asked):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/progress_activity: {title} is being fitted.", width="content")
            for job in asked:
                st.button("Cancel", key=f"Cancel/{job.key}", on_click=fits.cancel, args=(job.key,))
    elif asked:
        for job in asked:
            _row(job)
    else:
        st.button(
            f"Fit {title}", key=f"fit-here/{method}", type="primary", icon=":material/play_arrow:",
            on_click=_ask_here, args=(method,),
        )  # fmt: skip


def _asked_for(method: str) -> list[Job]:
    specs = current_session().specs
    return [job for job in fits.jobs() if specs[job.key].method == method]


def _ask_here(method: str) -> None:
    with fits.refusal_noted():
        fits.submit(method, {})


def waits(job: Job) -> bool:
    """Whether a job has not started: its message is then its position in the queue."""
    return job.state == "queued"


def refusal() -> None:
    """Say once why something that was asked for does not wait for a worker."""
    if text := st.session_state.pop(fits.REFUSED, None):
        st.warning(escape_markdown(text), icon=":material/hourglass_disabled:")


def fits_at_the_foot(session: OpenSession) -> None:
    """At the menu's foot: how many fits run and wait, refreshed only while any does."""
    if not session.specs:
        return
    session.seen_ended = _ended(fits.jobs())
    st.fragment(_status, run_every=refresh_interval(1.0) if fits.running() else None)()


def fits_under_way(session: OpenSession) -> None:
    """The same at a page's top while any fit runs or waits, since on a phone the menu is folded away.

    The page is drawn anew with each fit that ends.
    """
    if session.specs and fits.running():
        st.fragment(_status, run_every=refresh_interval(1.0))(follow=True)


def _ended(jobs: list[Job]) -> int:
    return sum(not job.active for job in jobs)


def _status(follow: bool = False) -> None:
    current = fits.jobs()
    if follow and _ended(current) > current_session().seen_ended:
        st.rerun()
    active = [job for job in current if job.active]
    waiting = sum(map(waits, active))
    done = sum(job.calibrator is not None for job in current)
    if active:
        share = (done + sum(job.fraction for job in active)) / (done + len(active))
        counts = {f"{len(active) - waiting} fitting": len(active) - waiting, f"{waiting} waiting": waiting}
        words = [*([fitted(current)] if done else []), *(text for text, n in counts.items() if n), f"{share:.0%}"]
        st.progress(share, text=" · ".join(words))
    elif done:
        st.caption(f":material/check: {fitted(current)}", width="content")


def _row(job: Job) -> None:
    name, state, action = st.columns([3, 6, 1.4], vertical_alignment="center")
    name.markdown(f"{ICONS[job.state]} **{job.spec.title}**")
    with state:
        if job.active:
            text = job.message if waits(job) else f"{job.fraction:.0%} · {job.message}"
            st.progress(job.fraction, text=escape_markdown(text))
        elif job.calibrator is not None:
            took = f"{number(job.seconds)} s on {device_of(job.calibrator)}"
            show_notes(job.calibrator.notes(), f"fitted in {took} · {number(job.cpu_seconds)} s of processor time")
        else:
            st.caption(escape_markdown(job.message))
    with action:
        if job.active:
            label, act = "Cancel", fits.cancel
        elif job.calibrator is not None:
            label, act = "Remove", fits.remove
        else:
            label, act = "Try again", fits.retry
        st.button(label, key=f"{label}/{job.key}", on_click=act, args=(job.key,))


def methods_of(session: OpenSession, chosen: list[ShownFit]) -> list[tuple[str, str, dict[str, Any]]]:
    """The methods of fits as a study is told of them, with the parameters they were fitted with."""
    return [(fit.title, fit.method, dict(session.specs[fit.key].params)) for fit in chosen]


def start(kind: str, function: Callable[..., Any], arguments: tuple[Any, ...], title: str) -> None:
    """Ask for a study of the open data in place of the last one of its kind; the same study is not paid twice."""
    session = current_session()
    spec = TaskSpec(function, arguments, session.data.sha256, title)
    if kind in session.studies and session.studies[kind].key != spec.key:
        stop(kind)
    with fits.refusal_noted():
        fits.ask(spec)
        session.studies[kind] = spec


def stop(kind: str) -> None:
    """Stop the study of this kind, unless another visitor waits for it too, and forget it."""
    cancel_study(kind)
    current_session().studies.pop(kind, None)


def cancel_study(kind: str) -> None:
    """Stop the study of this kind, which then says that it was cancelled; forget it where it goes on for others."""
    session = current_session()
    spec = session.studies.get(kind)
    if spec is not None and fits.queue().leave(spec.key, session.visitor):
        del session.studies[kind]


def job_of(kind: str) -> Job | None:
    """Where the study of this kind stands, if one was asked for."""
    spec = current_session().studies.get(kind)
    return None if spec is None else fits.where([spec])[0]


def progress(kind: str, job: Job, unit: str = "fit", again: Callable[[], None] | None = None) -> None:
    """How far a study is, with the button that stops it; or why it has no result, with the one that tries again.

    Parameters
    ----------
    unit : of its steps, one of them.
    again : starts it again, where that is not a study of the open data.
    """
    if job.active:
        left, right = st.columns([6, 1.4], vertical_alignment="center")
        done = f"{job.step:,} of {plural(job.total, unit)}" if job.total else job.message
        text = done if waits(job) else f"{job.fraction:.0%} · {done}"
        left.progress(job.fraction, text=escape_markdown(text))
        right.button("Cancel", key=f"study/{kind}/cancel", on_click=cancel_study, args=(kind,))
        st.caption(job.spec.title)
    elif job.state != "done":
        st.warning(escape_markdown(job.message))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Try again", key=f"study/{kind}/retry", icon=":material/refresh:",
                on_click=again or partial(fits.retry, job.key),
            )  # fmt: skip
            st.caption(job.spec.title)


def about(seconds: float) -> str:
    """A duration in words: 40 seconds, 3 minutes."""
    if seconds < 90:
        return f"about {plural(max(1, round(seconds)), 'second')}"
    return f"about {plural(round(seconds / 60), 'minute')}"


def offered_presets(session: OpenSession) -> dict[str, list[str]]:
    """Choices of methods for the open split; no "Fast" where it holds the methods of another choice."""
    offered = presets(session.data, len(session.calibration))
    if offered["Fast"] in (offered["Recommended"], offered["All"]):
        del offered["Fast"]
    return offered


def start_fits(chosen: list[tuple[str, Mapping[str, Any]]]) -> None:
    """Ask for a fit of each method with its parameters; the next page drawn says what was not started."""
    trouble = st.session_state[TROUBLE] = []
    for place, (name, params) in enumerate(chosen):
        try:
            fits.submit(name, dict(params))
        except QueueFull as error:
            rest = [METHODS[later].title for later, _ in chosen[place:]]
            trouble.append(f"{listed(rest)} {'was' if len(rest) == 1 else 'were'} not started: {error}")
            break
        except CalibrationError as error:
            trouble.append(f"{METHODS[name].title} was not started: {error}")


def not_started() -> None:
    """Say once what was not started, and why."""
    for sentence in st.session_state.pop(TROUBLE, []):
        st.error(escape_markdown(sentence), icon=":material/error:")


def offer_to_fit_again(session: OpenSession) -> None:
    """Where the split was changed: that its fits are those of another one, and the button that fits them on this."""
    specs = session.specs_of_last_split
    if not specs:
        return
    split = "the split of the file" if session.part is None else f"{session.part:.0%} for calibration"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/call_split: **The split is another one now** ({split}, seed {session.seed}), and no calibrator "
            f"is fitted on it yet. {plural(len(specs), 'fit')} of the split before will be shown again once you go "
            "back to that.",
            width="stretch",
        )
        st.button(
            f"Fit {'it' if len(specs) == 1 else f'all {len(specs)}'} again on this split",
            key="fit/again", type="primary", icon=":material/replay:", on_click=_fit_again,
        )  # fmt: skip


def _fit_again() -> None:
    start_fits([(spec.method, spec.params) for spec in current_session().specs_of_last_split])
