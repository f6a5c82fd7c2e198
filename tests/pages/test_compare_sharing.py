"""Shared and class-wise maps side by side on the Compare page."""

from __future__ import annotations

import time

import numpy as np
from streamlit.testing.v1 import AppTest

from calib.data.predictions import Predictions
from calib.jobs import FitQueue, FitSpec
from calib.ui.session import Session
from tests.conftest import simulate
from tests.pages.conftest import open_page

PAGE = "pages/5_Compare.py"


def fitted(queue: FitQueue, session: Session, *specs: FitSpec) -> Session:
    assert session.calibration is not None
    for spec in specs:
        queue.submit(spec, session.calibration.logits, session.calibration.labels)
        session.specs[spec.key] = spec
    wait(queue, session)
    return session


def wait(queue: FitQueue, session: Session) -> None:
    until = time.monotonic() + 60
    while any(job.active for job in queue.snapshot(session.specs)) and time.monotonic() < until:
        time.sleep(0.05)
    assert {job.state for job in queue.snapshot(session.specs)} == {"done"}


def methods(app: AppTest) -> list[str]:
    return app.dataframe[0].value["method"].tolist()


def test_counterparts_come_and_go(queue: FitQueue, with_sample: Session) -> None:
    key = with_sample.split_key
    session = fitted(
        queue,
        with_sample,
        FitSpec("temperature", {}, data_key=key),
        FitSpec("platt", {}, data_key=key, label="Platt (sCW)"),
        FitSpec("beta", {"share_classes": False}, data_key=key, label="Beta (CW)"),
    )
    asked = list(session.specs)
    app = open_page(PAGE, session)
    app.toggle(key="compare/sharing").set_value(True).run()
    assert not app.exception
    assert len(session.specs) == 5
    wait(queue, session)
    app.run()
    assert methods(app)[1:] == ["Temperature", "Beta (CW)", "Beta (sCW)", "Platt (sCW)", "Platt (CW)"]
    assert len(session.specs) == 5
    app.toggle(key="compare/sharing").set_value(False).run()
    assert not app.exception
    assert list(session.specs) == asked
    assert len(methods(app)) == 4


def test_it_is_offered_only_where_there_is_something_to_share(queue: FitQueue, with_sample: Session) -> None:
    session = fitted(queue, with_sample, FitSpec("temperature", {}, data_key=with_sample.split_key))
    assert "compare/sharing" not in [toggle.key for toggle in open_page(PAGE, session).toggle]


def test_two_classes_share_one_map(queue: FitQueue) -> None:
    logits, labels = simulate(n=300, n_classes=2)
    session = Session.opened(Predictions(logits, labels, ("no", "yes"), sha256="two classes, made for this test"))
    fitted(queue, session, FitSpec("platt", {}, data_key=session.split_key))
    assert np.all([toggle.key != "compare/sharing" for toggle in open_page(PAGE, session).toggle])
