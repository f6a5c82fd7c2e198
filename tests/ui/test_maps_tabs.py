"""The tabs Ranks and Auto of Calibration maps: what they say of fits, and how Auto gets one."""

from __future__ import annotations

import numpy as np
from streamlit.testing.v1 import AppTest

from calib.calibrators.auto import in_words
from calib.calibrators.identity import Identity
from calib.data import Predictions
from calib.diagnostics.reliability import ranks_of_rows
from calib.engine import Engine
from calib.formatting import for_terminal, percent
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import charts, clean, fit, open_page, said

PAGE = "pages/7_Calibration_maps.py"


def opened(session: OpenSession, tab: str) -> AppTest:
    """A tab of the page, without errors."""
    app = open_page(PAGE, session)
    app.session_state["maps/tab"] = tab
    assert clean(app.run())
    return app


def test_ranks_are_those_of_the_test_rows(with_sample: OpenSession) -> None:
    app = opened(with_sample, "Ranks")
    found = ranks_of_rows(
        Identity().fit(with_sample.test.logits, with_sample.test.labels),
        data={"logits": with_sample.test.logits, "labels": with_sample.test.labels},
    )
    assert f"rank 1 of Uncalibrated in {percent(found.observed[0])}" in said(app)
    assert len(charts(app)) == 1


def test_a_fit_of_auto_shows_its_weights(queue: Engine) -> None:
    logits, labels = simulate(60, 2)
    clustered = Predictions(logits, labels, ("a", "b"), sha256="auto", clusters=np.repeat(np.arange(20), 3).astype(str))
    session = fit(queue, OpenSession.from_data(clustered), "auto")
    app = opened(session, "Auto")
    (job,) = queue.snapshot(session.specs)
    fitted = job.calibrator
    assert fitted is not None
    n_clusters = len(np.unique(session.calibration.clusters))
    assert f"{len(session.calibration):,} rows in {n_clusters} clusters" in said(app)
    assert for_terminal(in_words(fitted.parts())) in said(app)
    assert len(charts(app)) == 1
