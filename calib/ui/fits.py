"""The visitor's fits: asked for once, followed from every page, judged on the test set when done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from calib.base import Calibrator, extras_for
from calib.data import Predictions
from calib.diagnostics.judgement import (
    Judgement,
    arrays_to_judge,
    both_parts,
    class_pair,
    fit_method_and_judge,
    judge_fitted,
    raw_on_all_rows,
)
from calib.diagnostics.reliability import DiagramParts
from calib.engine import NO_DATA, Data, Engine, FitSpec, Job, QueueFull, TaskSpec
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.evaluation.evaluation import raw_model
from calib.evaluation.score_registry import Scored
from calib.evaluation.studies import pool_arrays
from calib.formatting import listed
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools
from calib.numerics import Floats
from calib.plots.style import Style, method_style
from calib.registry import METHODS, OFFERED, calibrator, title_of
from calib.settings import limit, text
from calib.store.contents import get_job, put_job
from calib.store.index import describe_error, server_store
from calib.ui.ready import awaited, request
from calib.ui.server.memory import nbytes
from calib.ui.session import OpenSession, Visitor, current_session, find_session, find_visitor, keep
from calib.ui.text import add_notice

T = TypeVar("T")

RAW = "raw"
LONG = 4 << 20
"""Bytes of rows from which a computation may take a second, and gives way to shorter ones."""
_ONE = Lock()
LOST = "Not finished: it was interrupted or cancelled, or its result was damaged or removed to make room."


@dataclass(frozen=True)
class ShownFit:
    """One method as every page shows it: the same title, colour and scores everywhere.

    Attributes
    ----------
    evaluation : on the test rows, in the view that the visitor looks at.
    judgement : what the worker that judged it made of these rows.
    """

    key: str
    method: str
    title: str
    style: Style
    calibrator: Calibrator
    evaluation: Evaluation
    fit_seconds: float
    predict_seconds: float
    cpu_seconds: float = 0.0
    judgement: Judgement | None = None

    @property
    def scores(self) -> Scored:
        """Its scores on the groups of rows that all fits share."""
        assert self.judgement is not None
        return self.judgement.resampled[self.evaluation.view.name]

    @property
    def diagram(self) -> DiagramParts:
        """Contents of its reliability diagram."""
        assert self.judgement is not None
        return self.judgement.diagrams[self.evaluation.view.name]


def queue() -> Engine:
    """The one engine of this server; all visitors share its workers and its finished fits."""
    with _ONE:  # two visitors may come first
        return _queue()


@cache
def _queue() -> Engine:
    store = server_store()
    return Engine(
        text("CALIB_SCHEDULER"),
        fit=fit_method_and_judge,
        on_done=None if store is None else partial(put_job, store),
        most_waiting=int(limit("CALIB_WAITING")),
    )


def start(chosen: list[tuple[str, Mapping[str, Any]]]) -> None:
    """Ask for a fit of each method with its parameters; the next page drawn says what was not started."""
    for place, (name, params) in enumerate(chosen):
        try:
            submit(name, dict(params))
        except QueueFull as error:
            rest = [METHODS[later].title for later, _ in chosen[place:]]
            add_notice(
                f"{listed(rest)} {'was' if len(rest) == 1 else 'were'} not started: {error}",
                "error",
            )
            break
        except CalibrationError as error:
            add_notice(f"{METHODS[name].title} was not started: {error}", "error")


def submit(method: str, params: dict[str, Any]) -> None:
    """Ask for a fit on the open calibration set; the same fit is not paid twice.

    On another device it is a fit of its own, which takes the place of the first: both give the same calibrator, and
    share its title.
    """
    session = current_session()
    changed = {k: v for k, v in params.items() if getattr(calibrator(method), k) != v}
    unfitted = calibrator(method, **changed)
    label = title_of(unfitted, method, session.calibration.n_classes)
    spec = FitSpec(method, changed, data_key=session.split_key, label=label)
    for key in [
        key for key, other in session.specs.items() if other.title == spec.title and key != spec.key
    ]:
        cancel(key)
        remove(key)
    ask(spec)
    session.specs[spec.key] = spec


def ask(spec: FitSpec | TaskSpec, data: Data | None = None) -> None:
    """Queue a fit or a study for this visitor, on the open data where no others are given.

    Raises
    ------
    QueueFull
        If too much of this visitor's waits.
    """
    session = current_session()
    queue().submit(spec, _data_of(session, spec) if data is None else data, owner=session.visitor)


def _data_of(session: OpenSession, spec: FitSpec | TaskSpec) -> Data:
    key = spec.data_key
    if isinstance(spec, FitSpec):
        part = session.calibration
        unfitted = calibrator(spec.method, **spec.params)
        key += unfitted.group_column
        extras = extras_for(unfitted, part) | arrays_to_judge(session.whole_test, unfitted)
    else:
        part = session.data
        extras = pool_arrays(session.data)
    return Data.of(key, logits=part.logits, labels=part.labels, **extras)


def cancel(key: str) -> None:
    """Stop a fit or a study; a study goes, and a fit for which another visitor waits too, off this visitor's pages."""
    session = current_session()
    if queue().leave(key, session.visitor):
        session.specs.pop(key, None)
    for kind in [kind for kind, spec in session.studies.items() if spec.key == key]:
        del session.studies[kind]


def retry(key: str) -> None:
    """Start a failed, cancelled or lost fit or study again; where too much waits the page says so."""
    with refusal_noted():
        ask(next(spec for spec in current_session().all_specs if spec.key == key))


@contextmanager
def refusal_noted() -> Iterator[None]:
    """Leave a note for the next page where too much waits, or what is asked for cannot be done."""
    try:
        yield
    except CalibrationError as error:
        add_notice(str(error), "warning")


def where(specs: Iterable[FitSpec | TaskSpec]) -> list[Job]:
    """State of each of the visitor's fits or studies: in the queue, else as stored, else to be tried again."""
    requested = {spec.key: spec for spec in specs}
    here = {job.key: job for job in queue().snapshot(requested)}
    return [here[key] if key in here else _as_stored(spec) for key, spec in requested.items()]


def _as_stored(spec: FitSpec | TaskSpec) -> Job:
    store = server_store()
    job = None
    why = LOST
    try:
        job = None if store is None else get_job(store, spec)
    except OSError as error:
        why = f"What is stored cannot be read now: {describe_error(error)}."
    job = job or Job(spec.key, spec, state="failed", message=why)
    queue().adopt(job, owner=current_session().visitor)
    return job


def change_split(
    session: OpenSession, part: float | None, seed: int, most: int | None = None
) -> None:
    """Split anew; fits that still run on the old split are cancelled, and found again on it as finished ones are."""
    if (part, seed, most) != (session.part, session.seed, session.most):
        stop(session, "the split was changed")
        session.split(part, seed, most)


def stop(session: OpenSession, because: str = "") -> None:
    """Cancel the fits and studies that still run for the visitor, with a notice where there is a reason to be given.

    There is one slow worker: a fit that nobody looks at would keep the next one waiting. So would what a page waits
    for.
    """
    for computed in session.waiting.values():
        computed.cancel()
    session.waiting.clear()
    studies = [spec.key for spec in session.studies.values()]
    running = [job for job in queue().snapshot([*session.specs, *studies]) if job.active]
    for job in running:
        cancel(job.key)
    if running and because:
        add_notice(f"Stopped, because {because}: {listed([job.spec.title for job in running])}.")


def remove(key: str) -> None:
    """Take a fit off the visitor's pages; the queue keeps its result for whoever asks again."""
    session = current_session()
    gone = session.specs.pop(key, None)
    if gone is not None and any(spec.method == gone.method for spec in session.specs.values()):
        session.cached.clear()  # others of its method look otherwise now than in these figures


def jobs() -> list[Job]:
    """The visitor's fits as they stand, in the order asked for; none where nothing is open."""
    session = find_session()
    if session is None or not session.specs:
        return []
    return where(session.specs.values())


def judged_fits(session: OpenSession) -> list[ShownFit]:
    """The raw model and every finished fit, in the order of their methods, judged on the test set."""
    start = partial(_judge_raw, session)
    what = "the scores of the raw model"
    judged = keep(RAW, lambda: awaited(session, session.seen(RAW), what, start))
    raw_title = METHODS["identity"].title
    raw = _judged_fit(session, RAW, "identity", raw_title, 0, raw_model(session.data), judged)
    finished = []
    of_method = Counter[str]()
    for job in jobs():
        spec = session.specs[job.key]
        about = job.key, spec.method, spec.title, of_method[spec.method]
        of_method[spec.method] += 1
        if (fitted := job.calibrator) is not None:
            judged = _judgement(session, job, fitted)
            seconds = job.seconds, job.cpu_seconds
            finished.append(_judged_fit(session, *about, fitted, judged, *seconds))
    return [raw, *sorted(finished, key=lambda fit: OFFERED.index(fit.method))]


def _judgement(session: OpenSession, job: Job, fitted: Calibrator) -> Judgement:
    """The judgement of a finished fit on the test rows; a worker judges those of a cohort."""
    judged: Judgement | None = job.judgement
    if session.cohort is not None:
        data = rows_to_predict(session, fitted)
        what = f"the scores of {job.spec.title}"
        judged = ready(("cohort", job.key), what, judge_fitted, fitted, data=data)
    assert judged is not None
    return judged


def _judged_fit(
    session: OpenSession,
    key: str,
    method: str,
    title: str,
    number: int,
    fitted: Calibrator,
    judged: Judgement,
    seconds: float = 0.0,
    cpu_seconds: float = 0.0,
) -> ShownFit:
    about = key, method, title, method_style(method, number), fitted
    evaluation = judged.evaluation.seen(session.view)
    return ShownFit(*about, evaluation, seconds, judged.predict_seconds, cpu_seconds, judged)


def on_all_rows(session: OpenSession) -> Evaluation:
    """The raw model on all rows of the open data, in the view that the visitor looks at."""
    parts = session.calibration, session.test
    if session.cohort is not None:
        half = np.arange(len(session.shown)) % 2 == 0
        parts = session.shown.take(half), session.shown.take(~half)
    rows = Data(f"{session.rows_key} both parts", both_parts(*parts))
    what = "the scores of the raw model on all rows"
    raw = raw_model(session.data)
    whole = ready("raw on all rows", what, raw_on_all_rows, raw, data=rows)
    return whole.seen(session.view)


def ask_for_raw(session: OpenSession) -> None:
    """Have the raw model judged, which every page shows, before any page needs it."""
    if (key := session.seen(RAW)) not in session.cached:
        request(session, key, partial(_judge_raw, session))


def _judge_raw(session: OpenSession) -> Future[Any]:
    raw = raw_model(session.data)
    return compute(session, judge_fitted, raw, data=rows_to_predict(session, raw))


def compute(
    visitor: Visitor,
    function: Callable[..., Any],
    *arguments: Any,
    data: Data = NO_DATA,
    most_seconds: float = 0.0,
) -> Future[Any]:
    """Have a worker compute something for a page; with many rows, or a limit, not where pages with few rows wait."""
    short = not most_seconds and nbytes(arguments, dict(data.arrays)) < LONG
    about: dict[str, Any] = {"kind": "page" if short else "file", "most_seconds": most_seconds}
    return queue().compute(function, *arguments, data=data, owner=visitor.visitor, **about)


def with_raw(fits: list[ShownFit], *chosen: ShownFit) -> list[ShownFit]:
    """The raw model, which is the first of all fits, and the chosen ones, each once."""
    return [fits[0], *(fit for fit in chosen if fit.key != fits[0].key)]


def rows_of(part: Predictions) -> Data:
    """Logits and labels of a part of the data, which workers keep between calls."""
    return Data(part.sha256, {"logits": part.logits, "labels": part.labels})


def rows_to_predict(session: OpenSession, fitted: Calibrator) -> Data:
    """The test rows as a worker needs them to predict."""
    arrays = arrays_to_judge(session.test, fitted)
    key = f"{session.rows_key}{fitted.group_column}"
    return Data(f"{key} {sorted(arrays)}", arrays)


def ready(
    key: Hashable,
    what: str,
    function: Callable[..., T],
    *arguments: Any,
    data: Data = NO_DATA,
    most_seconds: float = 0.0,
) -> T:
    """Compute over rows in a worker, once per key and view on the open split; the page waits and says for what.

    Parameters
    ----------
    key : names the result, as in :func:`calib.ui.session.keep`.
    what : is computed, for people: "the intervals of 13 methods".
    function : of a module that the pages are not needed for, called as ``function(*arguments)``; with ``data=...`` too
        where there are arrays.
    most_seconds : processor time after which it is ended; 0 for any.
    """
    visitor = find_visitor()
    if visitor is None:  # no page is drawn
        return function(*arguments, data=data.arrays) if data.arrays else function(*arguments)
    start = partial(compute, visitor, function, *arguments, data=data, most_seconds=most_seconds)
    waiting: Callable[[], T] = partial(awaited, visitor, visitor.seen(key), what, start)
    return keep(key, waiting)


def ready_of(
    fit: ShownFit,
    what: str,
    function: Callable[..., T],
    *arguments: Any,
    about: Hashable = (),
    data: Data = NO_DATA,
) -> T:
    """Compute something about a fit in a worker; see :func:`ready`.

    Parameters
    ----------
    what : is computed, for people, such as "the panel"; it names the result too.
    about : names what the result depends on besides the fit.
    """
    key = what, fit.key, about
    return ready(key, f"{what} of {fit.title}", function, *arguments, data=data)


def short_titles(fits: Sequence[ShownFit]) -> list[str]:
    """Return the method's title for each fit, or the fit's own where there are several of the method."""
    of_method = Counter(fit.method for fit in fits)
    return [fit.title if of_method[fit.method] > 1 else METHODS[fit.method].title for fit in fits]


def pair_of_class(fit: ShownFit, target: int) -> tuple[Floats, Bools]:
    """The probability that a fit gives a class, and whether it is the class, of each test row."""
    data = rows_to_predict(current_session(), fit.calibrator)
    about = fit.calibrator, target
    return ready_of(fit, "the class probabilities", class_pair, *about, about=target, data=data)


def intervals_of(fit: ShownFit) -> dict[str, Interval]:
    """Intervals of a fit's scores, computed once."""
    return keep(("intervals", fit.key), fit.scores.intervals)


def resampled(fits: Sequence[ShownFit]) -> dict[str, Scored]:
    """Scores of fits on the same test rows, by title."""
    return {fit.title: fit.scores for fit in fits}
