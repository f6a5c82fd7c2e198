"""The tabs Ranks and Auto of Calibration maps: what they say of fits, and how Auto gets one."""

from __future__ import annotations

import numpy as np
from streamlit.testing.v1 import AppTest

from calib.calibrators.auto import Judged, in_words
from calib.calibrators.identity import Identity
from calib.data import Predictions
from calib.data.samples import load_sample
from calib.diagnostics.reliability import ranks_of_rows
from calib.engine import Engine
from calib.formatting import for_terminal, percent
from calib.plots import alt_text, figure_data
from calib.plots.forest import member_rows
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import charts, clean, fit, open_page, said

PAGE = "pages/7_Calibration_maps.py"

MEMBERS = [
    Judged("beta", 0.7, 0.31, 0.02, 0.0, 0.0),
    Judged("vector", 0.3, 0.33, 0.02, 0.02, 0.005),
    Judged("temperature", 0.0, 0.4, 0.03, 0.09, 0.01),
]


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


def test_two_classes_have_no_tab_of_ranks() -> None:
    app = open_page(PAGE, OpenSession.from_data(load_sample("clinic-tumours")))
    assert [tab.label for tab in app.tabs] == ["Maps", "Auto"]


def test_without_such_fits_the_tab_offers_one(with_sample: OpenSession) -> None:
    app = opened(with_sample, "Auto")
    assert "no fit of it is finished yet" in said(app)
    assert app.button(key="fit-here/auto")


def test_the_figure_of_auto_has_a_row_per_member_with_its_interval() -> None:
    fig = member_rows(MEMBERS)
    marks = [trace for trace in fig.data if trace.name]
    assert [trace.name for trace in marks] == ["Beta", "Vector", "Temperature"]
    np.testing.assert_allclose([trace.x[0] for trace in marks], [0.0, 0.02, 0.09])
    np.testing.assert_allclose(marks[1].error_x.array, [1.96 * 0.005])
    assert [trace.marker.symbol.endswith("-open") for trace in marks] == [False, False, True]
    assert "Beta 0 above the best, weight 70" in alt_text(fig).replace("0.00 ", "0 ")
    assert set(figure_data(fig)["weight"].dropna()) == {0.7, 0.3, 0.0}


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
