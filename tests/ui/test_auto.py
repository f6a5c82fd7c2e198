"""The page Auto: without a fit of it, with one, and with too few rows to compare anything; and its figure."""

from __future__ import annotations

import numpy as np

from calib.calibrators.auto import Judged, in_words
from calib.data import Predictions
from calib.engine import Engine
from calib.formatting import for_terminal
from calib.plots import alt_text, figure_data
from calib.plots.forest import member_rows
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import charts, clean, fit, open_page, said, unfold

PAGE = "pages/14_Auto.py"

MEMBERS = [
    Judged("beta", 0.7, 0.31, 0.02, 0.0, 0.0),
    Judged("vector", 0.3, 0.33, 0.02, 0.02, 0.005),
    Judged("temperature", 0.0, 0.4, 0.03, 0.09, 0.01),
]


def test_without_a_fit_the_page_offers_one(with_sample: OpenSession) -> None:
    app = open_page(PAGE, with_sample)
    assert clean(app)
    assert "no fit of it is finished yet" in said(app)
    assert app.button(key="fit-here/auto")


def test_the_figure_has_a_row_per_member_with_its_interval() -> None:
    fig = member_rows(MEMBERS)
    marks = [trace for trace in fig.data if trace.name]
    assert [trace.name for trace in marks] == ["Beta", "Vector", "Temperature"]
    np.testing.assert_allclose([trace.x[0] for trace in marks], [0.0, 0.02, 0.09])
    np.testing.assert_allclose(marks[1].error_x.array, [1.96 * 0.005])
    assert [trace.marker.symbol.endswith("-open") for trace in marks] == [False, False, True]
    assert "Beta 0 above the best, weight 70" in alt_text(fig).replace("0.00 ", "0 ")
    assert set(figure_data(fig)["weight"].dropna()) == {0.7, 0.3, 0.0}


def test_a_fit_shows_its_weights_and_what_the_folds_said(queue: Engine) -> None:
    logits, labels = simulate(60, 2)
    clustered = Predictions(logits, labels, ("a", "b"), sha256="auto", clusters=np.repeat(np.arange(20), 3).astype(str))
    session = fit(queue, OpenSession.from_data(clustered), "auto")
    app = open_page(PAGE, session)
    assert clean(app)
    (job,) = queue.snapshot(session.specs)
    fitted = job.calibrator
    assert fitted is not None
    n_clusters = len(np.unique(session.calibration.clusters))
    assert f"{len(session.calibration):,} rows in {n_clusters} clusters" in said(app)
    assert for_terminal(in_words(fitted.parts())) in said(app)
    assert len(charts(app)) == 1
    table = unfold(app, "auto/numbers").dataframe[0].value
    assert list(table["method"]) == [each.title for each in fitted.judged]


def test_too_few_rows_are_said_and_nothing_is_drawn(queue: Engine) -> None:
    few = Predictions(*simulate(24, 2), ("a", "b"), sha256="auto, few")
    app = open_page(PAGE, fit(queue, OpenSession.from_data(few), "auto"))
    assert clean(app)
    assert "Temperature alone" in said(app)
    assert not charts(app)
