"""The progress of fits and studies, with the buttons that act on them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from calib.base import can_learn
from calib.calibrators.backend import device_of
from calib.engine import Data, Job, TaskSpec
from calib.formatting import escape_markdown, number, plural
from calib.registry import METHODS, describe_exclusions, presets
from calib.ui import fits, widgets
from calib.ui.link import page_link
from calib.ui.ready import awaited
from calib.ui.server.guard import refresh_interval
from calib.ui.session import OpenSession, current_session
from calib.ui.text import show_notes, show_pending_notices

ICONS = {
    "queued": ":material/hourglass_empty:",
    "running": ":material/progress_activity:",
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


def job_list(session: OpenSession) -> None:
    """Draw how many fits are done and the others, refreshed up to twice a second while one runs or may be tried again.

    Buttons rerun the list alone.
    """
    if session.specs:
        jobs = fits.jobs()
        waiting = any(job.calibrator is None for job in jobs)
        every = refresh_interval(0.5) if waiting else None
        st.fragment(_job_list, run_every=every)(_ended(jobs))


def _job_list(ended: int) -> None:
    """The list; the whole page, whose table shows results, instead where more fits have ended."""
    jobs = fits.jobs()
    if _ended(jobs) > ended:
        st.rerun()
    show_pending_notices()
    with st.container(border=True, gap="xsmall"):
        if any(job.calibrator for job in jobs):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f":material/check_circle: **{fitted(jobs)}**", width="content")
                page_link("pages/2_Compare.py", "**See the comparison**", ":material/leaderboard:")
        for job in jobs:
            if job.calibrator is None:
                _row(job)


def finished_fit(job: Job, title: str = "") -> None:
    """Draw how a fit ended and the button that removes it; ``title`` tells it from others of its method."""
    assert job.calibrator is not None
    took = f"fitted in {number(job.seconds)} s on {device_of(job.calibrator)}"
    if title:
        st.markdown(f"**{title}**")
    show_notes(job.calibrator.notes(), took)
    st.button("Remove", key=f"Remove/{job.key}", on_click=fits.remove, args=(job.key,))


def fitted(jobs: list[Job]) -> str:
    """Count the finished fits: 3 of 8 fitted."""
    done = sum(job.calibrator is not None for job in jobs)
    return f"{done} fitted" if done == len(jobs) else f"{done} of {len(jobs)} fitted"


def fit_here(method: str, what: str) -> None:
    """Say in one line which fit a page lacks, with the button that gets it, or why it failed.

    While it runs, how far it is stands at the page's top, which takes it in when it ends.
    """
    data = current_session().data
    if not can_learn(METHODS[method].cls, data):
        st.info(describe_exclusions(data))
        return
    st.info(what)
    specs = current_session().specs
    title = METHODS[method].title
    requested = [job for job in fits.jobs() if specs[job.key].method == method]
    for job in requested:
        if job.active:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(
                    f":material/progress_activity: {title} is being fitted.", width="content"
                )
                st.button("Cancel", key=f"Cancel/{job.key}", on_click=fits.cancel, args=(job.key,))
        elif job.calibrator is None:
            _row(job)
    if not requested:
        st.button(
            f"Fit {title}",
            key=f"fit-here/{method}",
            type="primary",
            icon=":material/play_arrow:",
            on_click=fits.start,
            args=([(method, {})],),
        )


def waits(job: Job) -> bool:
    """Return whether a job has not started: its message is then its position in the queue."""
    return job.state == "queued"


def fits_under_way(at_the_foot: bool = False) -> None:
    """Show how many fits run and wait: at the menu's foot, and while any does at a page's top.

    On a phone the menu is folded away. The page is drawn anew with each fit that ends.
    """
    jobs = fits.jobs()
    active = any(job.active for job in jobs)
    if active or (at_the_foot and jobs):
        every = refresh_interval(1.0) if active else None
        st.fragment(_status, run_every=every)(None if at_the_foot else _ended(jobs))


def _ended(jobs: list[Job]) -> int:
    return sum(not job.active for job in jobs)


def _status(ended: int | None) -> None:
    """The line; the whole page instead where more fits have ended."""
    current = fits.jobs()
    if ended is not None and _ended(current) > ended:
        st.rerun()
    active = [job for job in current if job.active]
    waiting = sum(map(waits, active))
    done = sum(job.calibrator is not None for job in current)
    if active:
        share = (done + sum(job.fraction for job in active)) / (done + len(active))
        counts = {
            f"{len(active) - waiting} fitting": len(active) - waiting,
            f"{waiting} waiting": waiting,
        }
        parts = [
            *([fitted(current)] if done else []),
            *(text for text, n in counts.items() if n),
            f"{share:.0%}",
        ]
        st.progress(share, text=" · ".join(parts))
    elif done:
        st.caption(f":material/check: {fitted(current)}", width="content")


def _row(job: Job) -> None:
    name, state, action = st.columns([3, 5.4, 2], vertical_alignment="center")
    name.markdown(f"{ICONS[job.state]} **{job.spec.title}**")
    with state:
        if job.active:
            text = job.message if waits(job) else f"{job.fraction:.0%} · {job.message}"
            st.progress(job.fraction, text=escape_markdown(text))
        else:
            st.caption(escape_markdown(job.message))
    with action:
        label, act = ("Cancel", fits.cancel) if job.active else ("Try again", fits.retry)
        st.button(label, key=f"{label}/{job.key}", on_click=act, args=(job.key,))


def start(kind: str, spec: TaskSpec, data: Callable[[], Data] | None = None) -> None:
    """Ask for a study in place of the last one of its kind, of the open data where no others are given."""
    session = current_session()
    if kind in session.studies and session.studies[kind].key != spec.key:
        stop(kind)
    with fits.refusal_noted():
        fits.ask(spec, None if data is None else data())
        session.studies[kind] = spec


def stop(kind: str) -> None:
    """Stop the study of this kind, unless another visitor waits for it too, and forget it."""
    session = current_session()
    if (spec := session.studies.pop(kind, None)) is not None:
        fits.queue().leave(spec.key, session.visitor)


def job_of(kind: str) -> Job | None:
    """Job of the study of this kind, if one was asked for."""
    spec = current_session().studies.get(kind)
    return None if spec is None else fits.where([spec])[0]


def result_of(kind: str, unit: str = "fit", again: Callable[[], None] | None = None) -> Any:
    """Result of the study of this kind; None where there is nothing yet.

    Then this says how far it is, with the button that stops it, or why it failed, with the one that tries again.

    Parameters
    ----------
    unit : of its steps, one of them.
    again : starts it again, where that is not a study of the open data.
    """
    job = job_of(kind)
    if job is None or job.state == "done":
        return None if job is None else job.result
    every = refresh_interval(0.5) if job.active else None
    st.fragment(_study, run_every=every)(
        kind, job.active, unit, again or partial(fits.retry, job.key)
    )
    return None


def _study(kind: str, was_active: bool, unit: str, again: Callable[[], None]) -> None:
    job = job_of(kind)
    if job is None or job.state == "done" or job.active != was_active:
        st.rerun()  # the result takes the place of this
    if job.active:
        left, right = st.columns([6, 1.4], vertical_alignment="center")
        done = f"{job.step:,} of {plural(job.total, unit)}" if job.total else job.message
        text = done if waits(job) else f"{job.fraction:.0%} · {done}"
        left.progress(job.fraction, text=escape_markdown(text))
        right.button("Cancel", key=f"study/{kind}/cancel", on_click=stop, args=(kind,))
        st.caption(job.spec.title)
    else:
        st.warning(escape_markdown(job.message))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Try again", key=f"study/{kind}/retry", icon=":material/refresh:", on_click=again
            )
            st.caption(job.spec.title)


def about(seconds: float) -> str:
    """A duration in words: 40 seconds, 3 minutes."""
    if seconds < 90:
        return f"about {plural(max(1, round(seconds)), 'second')}"
    return f"about {plural(round(seconds / 60), 'minute')}"


def offered_presets(session: OpenSession, remedy: Sequence[str] = ()) -> dict[str, list[str]]:
    """Choices of methods for the open split; no "Fast" where it holds the methods of another choice.

    Parameters
    ----------
    remedy : methods of the audit's remedy, of which the first is the one that it names: it is recommended too.
    """
    offered = presets(session.data, len(session.calibration))
    if session.data.group_columns() and "by_group" not in offered["All"]:
        offered["All"].append("by_group")  # its column is chosen beside it
    first = {*offered["Recommended"], *remedy[:1]}
    offered["Recommended"] = [name for name in offered["All"] if name in first]
    if offered["Fast"] in (offered["Recommended"], offered["All"]):
        del offered["Fast"]
    return offered


LARGE = 16 << 20
"""Bytes of which no more than one file is kept for a visitor."""


def offer_file(
    label: str,
    key: str,
    file_name: str,
    function: Callable[..., str | bytes],
    arrays: Callable[[], Mapping[str, Any]],
    of: Hashable,
    *,
    large: bool,
    arguments: tuple[Any, ...] = (),
    unit: str = "part",
    **looks: Any,
) -> None:
    """Offer a file that a worker builds; a large one with a button that builds it, then how far it is, then the file.

    Parameters
    ----------
    key : of the button, unique in the app.
    function : called as ``function(*arguments, data=...)``, for a large file with ``callback=...`` too; gives what the
        file holds.
    arrays : makes what ``data`` holds, when the file is asked for.
    of : names what it is built of on the open split; while it is equal the file is not built again.
    unit : of what the function reports, one of them: "row".
    **looks : ``icon``, ``type``, ``width`` and ``help`` of the button.
    """
    session = current_session()
    of = session.seen(of)
    kind = f"file/{key}"
    # Of this visitor alone: what a file says of its sources is not for others with the same rows.
    spec = TaskSpec(
        function, arguments, f"{session.visitor} {session.split_key} {of!r}", file_name, "file"
    )

    def data() -> Data:
        return Data(f"{spec.key} of {file_name}", arrays())

    def build() -> Any:
        return fits.compute(session, function, *arguments, data=data())

    if kind in session.studies and session.studies[kind].key != spec.key:
        stop(kind)
    if session.built.get(key, (None,))[0] != of:
        begin = partial(start, kind, spec, data)
        if not large:
            content = awaited(session, ("file", key, of), file_name, build)
        elif kind not in session.studies:
            st.button(label, key=f"{key}/build", on_click=begin, **looks)
            return
        elif (content := result_of(kind, unit, begin)) is None:
            return
        else:
            fits.queue().forget(session.visitor, session.studies.pop(kind).key)
        keep_built(session, key, of, content)
    content = session.built[key][1]
    if large:
        size = (
            f"{len(content) / 2**10:,.1f} kB"
            if len(content) < 2**20
            else f"{len(content) / 2**20:,.1f} MB"
        )
        label = f"Save {file_name}, {size}"
        looks = looks | {"type": "primary"}
    widgets.offer(label, content, file_name, key, **looks)


def keep_built(session: OpenSession, key: str, of: Hashable, content: str | bytes) -> None:
    """Keep a file under its button's key; of large ones, the last alone."""
    for other in [other for other, (_, file) in session.built.items() if len(file) > LARGE]:
        del session.built[other]
    session.built[key] = of, content
