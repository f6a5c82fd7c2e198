"""What goes by rows is computed by workers; pages draw it when it is there."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.jobs import FitQueue
from calib.jobs.local import WorkerDied
from calib.jobs.tasks import Fitted
from calib.ui import fits
from calib.ui.ready import awaited
from calib.ui.session import OpenSession
from tests.ui.conftest import PAGES, clean, fit, open_page, opened

OVER_ROWS = (
    "calib.evaluation.scores.scores",
    "calib.evaluation.scores.resample_scores",
    "calib.evaluation.scores.statistics_of",
    "calib.diagnostics.reliability.reliability_curve",
    "calib.metrics.bootstrap.interval_of_draws",
    "calib.diagnostics.calibration_maps.class_pairs",
    "calib.diagnostics.separation.timed_separation",
)
"""Functions that sort, bin or resample rows."""
WITHOUT_ROWS = ("Compare.py", "Reliability.py", "Over_underconfidence.py", "Decide.py", "Calibration_maps.py", "app.py")
"""Pages that leave all of it to workers."""


@pytest.fixture
def nothing_over_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process, which is the server's, computes nothing over rows, under whatever name a module has it."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("computed over rows in the server's process")

    for name in ("from_calibrator", "from_predictions", "resamples"):
        monkeypatch.setattr(Evaluation, name, refuse)
    for path in OVER_ROWS:
        module, _, name = path.rpartition(".")
        original = getattr(import_module(module), name)
        for place in [place for place in sys.modules.values() if getattr(place, "__name__", "").startswith("calib.")]:
            if vars(place).get(name) is original:
                monkeypatch.setattr(place, name, refuse)


@pytest.mark.parametrize("path", [page for page in PAGES if page.endswith(WITHOUT_ROWS)])
def test_a_page_is_drawn_without_computing_over_rows(
    queue: FitQueue, with_fits: OpenSession, nothing_over_rows: None, path: str
) -> None:
    assert clean(open_page(path, with_fits))


def test_a_fit_that_came_without_a_judgement_is_judged_by_a_worker(
    queue: FitQueue, with_sample: OpenSession, nothing_over_rows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = fit(queue, with_sample, "temperature")
    (job,) = queue.snapshot(session.specs)
    assert isinstance(job.result, Fitted) and job.judgement is not None
    bare = replace(job, result=Fitted(job.calibrator))
    monkeypatch.setattr(fits, "jobs", lambda: [bare])
    opened(monkeypatch, session)
    shown = fits.shown_fits(session)[1]
    assert shown.judgement is not job.judgement
    assert shown.scores.value == job.judgement.resampled["top-label"].value


def test_a_computation_that_failed_says_why_and_is_tried_again(with_sample: OpenSession) -> None:
    failed: Future[int] = Future()
    failed.set_exception(WorkerDied("its process ended with exit code 7"))
    with pytest.raises(CalibrationError, match=r"the curve.*exit code 7"):
        awaited(with_sample, "key", "the curve", lambda: failed)
    done: Future[int] = Future()
    done.set_result(3)
    assert awaited(with_sample, "key", "the curve", lambda: done) == 3
    assert not with_sample.waiting


def test_a_page_that_waits_says_what_for() -> None:
    def page() -> None:
        import threading
        from concurrent.futures import Future
        from types import SimpleNamespace

        import streamlit as st

        from calib.ui import ready

        said, future, caption = [], Future(), st.delta_generator.DeltaGenerator.caption

        def note(place, text):  # the result comes once it was said what is waited for
            said.append(text)
            if len(said) == 1:
                threading.Timer(0, future.set_result, (7,)).start()
            return caption(place, text)

        st.delta_generator.DeltaGenerator.caption = note
        try:
            value = ready.awaited(SimpleNamespace(waiting={}), "key", "the curve", lambda: future)
        finally:
            st.delta_generator.DeltaGenerator.caption = caption
        st.write(f"{value}: {said[0]}")

    app = AppTest.from_function(page, default_timeout=300).run()
    assert not app.exception
    assert app.markdown[0].value.startswith("7: ")
    assert "Computing the curve…" in app.markdown[0].value
