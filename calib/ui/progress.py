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
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


def follow(active: Callable[[], int], draw: Callable[[], object], seconds: float = 0.5) -> None:
    """Draw a part of the page, refreshed while something runs, and the whole page anew once less or more does.

    Parameters
    ----------
    active : counts what runs.
    draw : draws the part; its buttons rerun the part alone.
    seconds : between two refreshes for a visitor who is alone.
    """
    before = active()

    def part() -> None:
        if active() != before:
            st.rerun()
        draw()

    st.fragment(part, run_every=refresh_interval(seconds) if before else None)()


def bar(share: float, text: str, key: str, stop: Callable[[], None]) -> None:
    """Draw how far something is, with the button that stops it."""
    left, right = st.columns([6, 1.4], vertical_alignment="center")
    left.progress(share, text=text)
    right.button("Cancel", key=key, on_click=stop)


def show_job(job: Job, again: Callable[[], None] | None = None) -> None:
    """Draw how far a job is with the button that stops it; one without a result with the one that tries it again.

    Parameters
    ----------
    again : starts it again, where it is not of the open data.
    """
    message = escape_markdown(job.message)
    title = f"{ICONS[job.state]} **{escape_markdown(job.spec.title)}**"
    if job.active:
        share = "" if waits(job) else f"{job.fraction:.0%} · "
        text = f"{title} · {share}{message}"
        bar(job.fraction, text, f"Cancel/{job.key}", partial(fits.cancel, job.key))
        return
    left, right = st.columns([6, 1.4], vertical_alignment="center")
    left.markdown(f"{title} :gray[{message}]")
    act = again or partial(fits.retry, job.key)
    right.button("Try again", key=f"Try again/{job.key}", on_click=act)


def job_list(session: OpenSession) -> None:
    """Draw how many fits are done, and the others; with each that ends the page's table gets its result."""
    if session.specs:
        follow(_running, _job_list)


def _job_list() -> None:
    jobs = fits.jobs()
    show_pending_notices()
    with st.container(border=True, gap="xsmall"):
        if any(job.calibrator for job in jobs):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f":material/check_circle: **{fitted(jobs)}**", width="content")
                page_link("pages/2_Compare.py", "**See the comparison**", ":material/leaderboard:")
        _unfinished()


def _unfinished(method: str = "") -> None:
    """Fits without a result, of all methods or of one."""
    specs = current_session().specs
    for job in fits.jobs():
        if job.calibrator is None and method in ("", specs[job.key].method):
            show_job(job)


def _running() -> int:
    return sum(job.active for job in fits.jobs())


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
    """Say in one line which fit a page lacks, with the button that gets it; then how far it is, or why it failed."""
    data = current_session().data
    if not can_learn(METHODS[method].cls, data):
        st.info(describe_exclusions(data))
        return
    st.info(what)
    specs = current_session().specs
    if any(spec.method == method for spec in specs.values()):
        follow(_running, partial(_unfinished, method))
        return
    st.button(
        f"Fit {METHODS[method].title}",
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

    On a phone the menu is folded away.
    """
    if _running() or (at_the_foot and fits.jobs()):
        follow(_running, _status, 1.0)


def _status() -> None:
    current = fits.jobs()
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


def start(kind: str, spec: TaskSpec, data: Callable[[], Data] | None = None) -> None:
    """Ask for a study in place of the last one of its kind, of the open data where no others are given."""
    session = current_session()
    if kind in session.studies and session.studies[kind].key != spec.key:
        fits.cancel(session.studies[kind].key)
    with fits.refusal_noted():
        fits.ask(spec, None if data is None else data())
        session.studies[kind] = spec


def job_of(kind: str) -> Job | None:
    """Job of the study of this kind, if one was asked for."""
    spec = current_session().studies.get(kind)
    return None if spec is None else fits.where([spec])[0]


def result_of(kind: str, again: Callable[[], None] | None = None) -> Any:
    """Result of the study of this kind; None where there is nothing yet.

    Then this says how far it is, with the button that stops it, or why it failed, with the one that tries again.

    Parameters
    ----------
    again : starts it again, where that is not a study of the open data.
    """
    job = job_of(kind)
    if job is None or job.state == "done":
        return None if job is None else job.result
    follow(partial(_is_active, kind), partial(_study, kind, again))
    return None


def _is_active(kind: str) -> bool:
    job = job_of(kind)
    return job is not None and job.active


def _study(kind: str, again: Callable[[], None] | None) -> None:
    job = job_of(kind)
    if job is not None and job.state == "done":
        st.rerun()  # it ended while the page was drawn
    if job is not None:
        show_job(job, again)


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
        fits.cancel(session.studies[kind].key)
    if session.built.get(key, (None,))[0] != of:
        begin = partial(start, kind, spec, data)
        if not large:
            content = awaited(session, ("file", key, of), file_name, build)
        elif kind not in session.studies:
            st.button(label, key=f"{key}/build", on_click=begin, **looks)
            return
        elif (content := result_of(kind, begin)) is None:
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
