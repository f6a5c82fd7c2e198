"""The visitor's fits: asked for once, followed from every page, judged on the test set when done."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import streamlit as st

from calib.base import Calibrator
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.evaluation.bootstrap import ResampledScores
from calib.evaluation.scores import resample_scores
from calib.formatting import listed
from calib.hardware import cpu_description, device_of, gpu_present
from calib.jobs import FitQueue, FitSpec, Job, TaskSpec
from calib.jobs.dask import executor_from_settings
from calib.jobs.scheduling import QueueLimits
from calib.metrics.bootstrap import Interval
from calib.plots.style import Style, method_style
from calib.registry import METHODS, calibrator, extras_for, title_of
from calib.ui.session import Evaluated, OpenSession, current_session, find_session, keep
from calib.ui.text import add_notice
from calib.workspace import keep_fit

RAW = "raw"
MOST_NAMED = 5
REFUSED = "fits/refused"
"""Why something asked for does not wait, in Streamlit's session state until it is shown."""


@dataclass(frozen=True)
class ShownFit:
    """One method as every page shows it: the same title, colour and scores everywhere."""

    key: str
    method: str
    title: str
    style: Style
    calibrator: Calibrator
    evaluation: Evaluation
    fit_seconds: float
    predict_seconds: float
    cpu_seconds: float = 0.0


@st.cache_resource
def queue() -> FitQueue:
    """The one queue of this server; all visitors share its workers and its store of finished fits."""
    return FitQueue(executor_from_settings(), on_done=keep_fit, limits=QueueLimits.from_settings())


def submit(method: str, params: dict[str, Any]) -> None:
    """Ask for a fit on the open calibration set; the same fit is not paid twice.

    On another device it is a fit of its own, which takes the place of the first: both give the same calibrator, and
    share its title.
    """
    session = current_session()
    changed = {k: v for k, v in params.items() if getattr(calibrator(method), k) != v}
    unfitted = calibrator(method, **changed)
    extras = extras_for(unfitted, session.calibration)
    label = title_of(unfitted, method, session.calibration.n_classes)
    spec = FitSpec(method, changed, data_key=session.split_key, label=label)
    for key in [key for key, other in session.specs.items() if other.title == spec.title and key != spec.key]:
        cancel(key)
        remove(key)
    ask(spec, session.calibration.logits, session.calibration.labels, extras)
    session.specs[spec.key] = spec


def ask(spec: FitSpec | TaskSpec, logits: Any, labels: Any, extras: dict[str, Any]) -> None:
    """Queue a fit or a study for this visitor; raises QueueFull where too much waits."""
    queue().submit(spec, logits, labels, extras, owner=current_session().visitor)


def cancel(key: str) -> None:
    """Stop a fit; where another visitor waits for it too it goes on, off this visitor's pages."""
    session = current_session()
    if queue().leave(key, session.visitor):
        session.specs.pop(key, None)


def retry(key: str) -> None:
    """Start a failed or cancelled fit again; where too much waits the page says so."""
    with refusal_noted():
        queue().retry(key, owner=current_session().visitor)


@contextmanager
def refusal_noted() -> Iterator[None]:
    """Where too much waits, or what is asked for cannot be done, keep the reason for the page to show."""
    try:
        yield
    except CalibrationError as error:
        st.session_state[REFUSED] = str(error)


def bring_back(job: Job, spec: FitSpec, session: OpenSession) -> None:
    """Take in a fit that was asked for on the open split in an earlier visit, as it stands or stood then."""
    if job.state != "done":
        extras = extras_for(calibrator(spec.method, **spec.params), session.calibration)
        queue().adopt(job, session.calibration.logits, session.calibration.labels, extras, owner=session.visitor)
    else:
        queue().adopt(job, owner=session.visitor)


def forget_all(session: OpenSession) -> None:
    """Drop the visitor's fits on all splits and studies; the queue forgets those that nobody else asked for."""
    keys = [key for specs in session.specs_of_splits.values() for key in specs]
    keys += [spec.key for spec in session.studies.values()]
    stop(session)
    for key in keys:
        queue().forget(key, owner=session.visitor)


def change_split(session: OpenSession, part: float | None, seed: int) -> None:
    """Split anew; fits that still run on the old split are cancelled, finished ones are found again on it."""
    if (part, seed) != (session.part, session.seed):
        stop(session, "the split was changed")
        session.split(part, seed)


def stop(session: OpenSession, because: str = "") -> None:
    """Cancel the fits and studies that still run for the visitor, with a notice where there is a reason to be given.

    There is one slow worker: a fit that nobody looks at would keep the next one waiting.
    """
    studies = [spec.key for spec in session.studies.values()]
    running = [job for job in queue().snapshot([*session.specs, *studies], owner=session.visitor) if job.active]
    for job in running:
        cancel(job.key)
        session.specs.pop(job.key, None)
    ended = {job.key for job in running}
    session.studies = {kind: spec for kind, spec in session.studies.items() if spec.key not in ended}
    if running and because:
        titles = [job.spec.title for job in running]
        shown = titles[:MOST_NAMED] + [f"{len(titles) - MOST_NAMED} more"] * (len(titles) > MOST_NAMED)
        add_notice(f"Stopped, because {because}: {listed(shown)}.")


def remove(key: str) -> None:
    """Take a fit off the visitor's pages; the queue keeps its result for whoever asks again."""
    session = current_session()
    session.specs.pop(key, None)
    if session.variants.pop(key, None) is not None:
        session.kept.clear()  # if it returns it may look otherwise than in these figures


def jobs() -> list[Job]:
    """The visitor's fits as they stand, in the order asked for; none where nothing is open."""
    session = find_session()
    return queue().snapshot(session.specs, owner=session.visitor) if session is not None and session.specs else []


def running() -> bool:
    """Whether any of the visitor's fits waits or runs; costs nothing where none was asked for."""
    return any(job.active for job in jobs())


def shown_fits(session: OpenSession) -> list[ShownFit]:
    """The raw model and every finished fit, in the registry's order, judged on the test set."""
    raw = calibrator("identity").fit(session.data.logits[:2], session.data.labels[:2])
    order = list(METHODS)
    finished = [(session.specs[job.key], job, fitted) for job in jobs() if (fitted := job.calibrator) is not None]
    finished.sort(key=lambda item: order.index(item[0].method))
    return [
        _shown(session, RAW, "identity", METHODS["identity"].title, raw),
        *(
            _shown(session, job.key, spec.method, spec.title, fitted, job.seconds, job.cpu_seconds)
            for spec, job, fitted in finished
        ),
    ]


def beside_raw(fits: list[ShownFit], *chosen: ShownFit) -> list[ShownFit]:
    """The raw model, which is the first of all fits, and the chosen ones, each once."""
    return [fits[0], *(fit for fit in chosen if fit.key != fits[0].key)]


def _shown(
    session: OpenSession, key: str, method: str, title: str, fitted: Calibrator, seconds: float = 0.0, cpu: float = 0.0
) -> ShownFit:
    scores = _judge(session, key, fitted)
    style = method_style(method, _variant(session, key, method))
    evaluation = scores.evaluation.seen(session.view)
    return ShownFit(key, method, title, style, fitted, evaluation, seconds, scores.predict_seconds, cpu)


def _variant(session: OpenSession, key: str, method: str) -> int:
    """The fit's number among those of its method: its own while it is shown, whatever else is added or removed."""
    if key not in session.variants:
        taken = {session.variants.get(other) for other, spec in session.specs.items() if spec.method == method}
        session.variants[key] = next(number for number in range(len(taken) + 1) if number not in taken)
    return session.variants[key]


def _judge(session: OpenSession, key: str, fitted: Calibrator) -> Evaluated:
    if key not in session.evaluated:
        test, start = session.test, time.perf_counter()
        evaluation = Evaluation.from_predictions(fitted, test, "top-label")
        session.evaluated[key] = Evaluated(evaluation, time.perf_counter() - start)
    return session.evaluated[key]


def intervals_of(fit: ShownFit) -> dict[str, Interval]:
    """Bootstrap intervals of a fit's scores, computed once."""
    return keep(("intervals", fit.key), lambda: resampled([fit])[fit.title].intervals())


def resampled(fits: Sequence[ShownFit]) -> dict[str, ResampledScores]:
    """Scores of fits on shared resamples of the test rows, by title; those of a fit are computed once for all pages."""
    resamples = cache(lambda: fits[0].evaluation.resamples())

    def draw(evaluation: Evaluation) -> ResampledScores:
        return resample_scores(evaluation, resamples())

    return {fit.title: keep(("resampled", fit.key), partial(draw, fit.evaluation)) for fit in fits}


def device_description() -> str:
    """Where fits run, in words: the devices that finished fits reported, else what this machine has."""
    devices = [device_of(job.calibrator) for job in jobs() if job.calibrator is not None]
    if devices:
        return " and ".join(dict.fromkeys(devices))
    return cpu_description() + (", NVIDIA GPU present" if gpu_present() else "")
