"""The visitor's fits: asked for once, followed from every page, judged on the test set when done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import streamlit as st

from calib.base import Calibrator
from calib.evaluation import Evaluation
from calib.evaluation.bootstrap import ResampledScores, resample_scores
from calib.formatting import listed
from calib.hardware import cpu_description, device_of, gpu_present
from calib.jobs import FitQueue, FitSpec, Job, TaskSpec
from calib.jobs.choose import chosen_executor
from calib.jobs.scheduling import LineFull, Room
from calib.metrics.bootstrap import Interval, Resamples
from calib.numerics import Floats
from calib.plots.style import Style, method_style
from calib.registry import METHODS, calibrator, extras_for, title_of
from calib.ui.session import Evaluated, keep, session
from calib.ui.text import tell
from calib.workspace import keep_fit

RAW = "raw"
MOST_NAMED = 5
REFUSED = "fits/refused"
"""Why something asked for does not wait, in Streamlit's session state until it is said."""


@dataclass(frozen=True)
class ShownFit:
    """One method as every page shows it: the same title, colour and verdict everywhere."""

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
    return FitQueue(chosen_executor(), on_done=keep_fit, room=Room.configured())


def submit(method: str, params: dict[str, Any]) -> None:
    """Ask for a fit on the open calibration set; the same fit is not paid twice.

    On another device it is a fit of its own, which takes the place of the first: both give the same calibrator, and
    share its title.
    """
    now = session()
    assert now.calibration is not None
    changed = {k: v for k, v in params.items() if getattr(calibrator(method), k) != v}
    made = calibrator(method, **changed)
    extras = extras_for(made, now.calibration)
    spec = FitSpec(method, changed, data_key=now.split_key, label=title_of(made, method))
    for key in [key for key, other in now.specs.items() if other.title == spec.title and key != spec.key]:
        cancel(key)
        remove(key)
    ask(spec, now.calibration.logits, now.calibration.labels, extras)
    now.specs[spec.key] = spec


def ask(spec: FitSpec | TaskSpec, logits: Any, labels: Any, extras: dict[str, Any]) -> None:
    """Queue a fit or a study for this visitor; raises LineFull where too much waits."""
    queue().submit(spec, logits, labels, extras, owner=session().visitor)


def cancel(key: str) -> None:
    """Stop a fit; where another visitor waits for it too it goes on, off this visitor's pages."""
    now = session()
    if queue().leave(key, now.visitor):
        now.specs.pop(key, None)


def retry(key: str) -> None:
    """Start a failed or cancelled fit again; where too much waits the page says so."""
    try:
        queue().retry(key, owner=session().visitor)
    except LineFull as error:
        st.session_state[REFUSED] = str(error)


def bring_back(job: Job) -> None:
    """Take in a fit that was asked for on the open split in an earlier visit, as it stands or stood then."""
    now = session()
    assert now.calibration is not None
    assert isinstance(job.spec, FitSpec)
    if job.state != "done":
        extras = extras_for(calibrator(job.spec.method, **job.spec.params), now.calibration)
        queue().adopt(job, now.calibration.logits, now.calibration.labels, extras, owner=now.visitor)
    else:
        queue().adopt(job, owner=now.visitor)


def forget_all() -> None:
    """Drop the visitor's fits on all splits and studies; the queue forgets those that nobody else asked for."""
    now = session()
    studies = [spec.key for spec in now.studies.values()]
    stop()
    for key in [*(key for specs in now.specs_of_splits.values() for key in specs), *studies]:
        queue().forget(key, owner=now.visitor)


def change_split(part: float | None, seed: int) -> None:
    """Split anew; fits that still run on the old split are cancelled, finished ones are found again on it."""
    now = session()
    if (part, seed) != (now.part, now.seed):
        stop("the split was changed")
        now.split(part, seed)


def stop(because: str = "") -> None:
    """Cancel the fits and studies that still run for the visitor, and say so where there is a reason to be given.

    There is one slow worker: a fit that nobody looks at would keep the next one waiting.
    """
    now = session()
    studies = [spec.key for spec in now.studies.values()]
    running = [job for job in queue().snapshot([*now.specs, *studies], owner=now.visitor) if job.active]
    for job in running:
        cancel(job.key)
        now.specs.pop(job.key, None)
    ended = {job.key for job in running}
    now.studies = {kind: spec for kind, spec in now.studies.items() if spec.key not in ended}
    if running and because:
        titles = [job.spec.title for job in running]
        shown = titles[:MOST_NAMED] + [f"{len(titles) - MOST_NAMED} more"] * (len(titles) > MOST_NAMED)
        tell(f"Stopped, because {because}: {listed(shown)}.")


def remove(key: str) -> None:
    """Take a fit off the visitor's pages; the queue keeps its result for whoever asks again."""
    now = session()
    now.specs.pop(key, None)
    if now.variants.pop(key, None) is not None:
        now.kept.clear()  # if it returns it may look otherwise than in these figures


def jobs() -> list[Job]:
    """The visitor's fits as they stand, in the order asked for."""
    return queue().snapshot(session().specs, owner=session().visitor)


def running() -> bool:
    """Whether any of the visitor's fits waits or runs; costs nothing where none was asked for."""
    return bool(session().specs) and any(job.active for job in jobs())


def shown() -> list[ShownFit]:
    """The raw model and every finished fit, in the registry's order, judged on the test set."""
    now = session()
    assert now.data is not None
    raw = calibrator("identity").fit(now.data.logits[:2], now.data.labels[:2])
    finished = [(now.specs[job.key], job) for job in jobs() if job.calibrator]
    done = [(job.key, spec.method, spec.title, job.calibrator, job.seconds, job.cpu_seconds) for spec, job in finished]
    order = list(METHODS)
    done.sort(key=lambda item: order.index(item[1]))
    fits = []
    for key, method, title, fitted, seconds, cpu in [
        (RAW, "identity", METHODS["identity"].title, raw, 0.0, 0.0),
        *done,
    ]:
        assert fitted is not None
        verdict = _judge(key, fitted)
        style = method_style(method, _variant(key, method))
        fits.append(
            ShownFit(key, method, title, style, fitted, verdict.evaluation, seconds, verdict.predict_seconds, cpu)
        )
    return fits


def _variant(key: str, method: str) -> int:
    """The fit's number among those of its method: its own while it is shown, whatever else is added or removed."""
    now = session()
    if key not in now.variants:
        taken = {now.variants.get(other) for other, spec in now.specs.items() if spec.method == method}
        now.variants[key] = next(number for number in range(len(taken) + 1) if number not in taken)
    return now.variants[key]


def _judge(key: str, fitted: Calibrator) -> Evaluated:
    now = session()
    if key not in now.evaluated:
        assert now.test is not None
        start = time.perf_counter()
        features = now.test.features if "features" in fitted.needs else None
        evaluation = Evaluation.from_calibrator(fitted, now.test.logits, now.test.labels, features)
        now.evaluated[key] = Evaluated(evaluation, time.perf_counter() - start)
    return now.evaluated[key]


def intervals_of(fit: ShownFit) -> dict[str, Interval]:
    """Bootstrap intervals of a fit's scores, computed once."""
    return keep(("intervals", fit.key), lambda: resampled([fit])[fit.title].intervals())


def resampled(fits: Sequence[ShownFit]) -> dict[str, ResampledScores]:
    """Scores of fits on shared resamples of the test rows, by title; those of a fit are computed once for all pages."""
    resamples = cache(lambda: Resamples(len(fits[0].evaluation)))

    def draw(evaluation: Evaluation) -> ResampledScores:
        return resample_scores(evaluation, resamples())

    return {fit.title: keep(("resampled", fit.key), partial(draw, fit.evaluation)) for fit in fits}


def class_probability(fit: ShownFit, target: int) -> Floats:
    """Probability of one class on the test rows, of a method that gives probabilities."""
    test = session().test
    assert test is not None
    return fit.calibrator.predict_proba(test.logits)[:, target].copy()


def device_description() -> str:
    """Where fits run, in words: the devices that finished fits reported, else what this machine has."""
    done = [job.calibrator for job in jobs() if job.calibrator] if session().specs else []
    if done:
        return " and ".join(dict.fromkeys(map(device_of, done)))
    return cpu_description() + (", NVIDIA GPU present" if gpu_present() else "")
