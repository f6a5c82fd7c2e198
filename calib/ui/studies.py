"""The visitor's studies: asked for once, followed, and found again when the same one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from calib.evaluation.studies import arrays_of
from calib.formatting import plural
from calib.jobs import Job, TaskSpec
from calib.jobs.line import LineFull
from calib.ui import fits
from calib.ui.fits import ShownFit
from calib.ui.progress import waits
from calib.ui.session import session


def methods_of(chosen: list[ShownFit]) -> list[tuple[str, str, dict[str, Any]]]:
    """The methods of fits as a study is told of them, with the parameters they were fitted with."""
    specs = session().specs
    return [(fit.title, fit.method, dict(specs[fit.key].params)) for fit in chosen]


def start(kind: str, function: Callable[..., Any], arguments: tuple[Any, ...], title: str) -> None:
    """Ask for a study of the open data in place of the last one of its kind; the same study is not paid twice."""
    now = session()
    assert now.data is not None
    spec = TaskSpec(function, arguments, now.data.sha256, title)
    if kind in now.studies and now.studies[kind].key != spec.key:
        stop(kind)
    try:
        fits.ask(spec, now.data.logits, now.data.labels, arrays_of(now.data))
    except LineFull as error:
        st.session_state[fits.REFUSED] = str(error)
    else:
        now.studies[kind] = spec


def stop(kind: str) -> None:
    """Stop the study of this kind, unless another visitor waits for it too, and forget it."""
    spec = session().studies.pop(kind, None)
    if spec is not None:
        fits.cancel(spec.key)


def job_of(kind: str) -> Job | None:
    """Where the study of this kind stands, if one was asked for."""
    spec = session().studies.get(kind)
    return next(iter(fits.queue().snapshot([spec.key], owner=session().visitor)), None) if spec is not None else None


def progress(kind: str, job: Job) -> None:
    """How far a study is, with the button that stops it; or why it has no result, with the one that tries again."""
    if job.active:
        left, right = st.columns([6, 1.4], vertical_alignment="center")
        done = f"{job.step:,} of {plural(job.total, 'fit')}" if job.total else job.message
        left.progress(job.fraction, text=done if waits(job) else f"{job.fraction:.0%} · {done}")
        right.button("Cancel", key=f"study/{kind}/cancel", on_click=stop, args=(kind,))
        st.caption(job.spec.title)
    elif job.state != "done":
        st.warning(job.message)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Try again", key=f"study/{kind}/retry", icon=":material/refresh:", on_click=fits.retry, args=(job.key,)
            )
            st.caption(job.spec.title)


def about(seconds: float) -> str:
    """A duration in words: 40 seconds, 3 minutes."""
    if seconds < 90:
        return f"about {plural(max(1, round(seconds)), 'second')}"
    return f"about {plural(round(seconds / 60), 'minute')}"
