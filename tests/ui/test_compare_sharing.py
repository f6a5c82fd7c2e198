"""Shared and class-wise maps side by side on the Compare page."""

from __future__ import annotations

import time

import numpy as np
from streamlit.testing.v1 import AppTest

from calib.data.predictions import Predictions
from calib.formatting import number
from calib.jobs import FitQueue, FitSpec
from calib.registry import calibrator
from calib.ui.session import Session
from tests.conftest import simulate
from tests.ui.conftest import open_page

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


def scores_of(session: Session, method: str) -> list[tuple[float, float]]:
    """Accuracy and NLL on the test rows of shared and of class-wise maps, fitted anew."""
    found = []
    for share in (True, False):
        made = calibrator(method.lower(), share_classes=share)
        made.fit(session.calibration.logits, session.calibration.labels)
        probs = made.predict_proba(session.test.logits)
        of_label = probs[np.arange(len(probs)), session.test.labels]
        found.append((np.mean(probs.argmax(axis=1) == session.test.labels), -np.log(of_label).mean()))
    return found


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
    (said,) = [text.value for text in app.markdown if "against" in text.value and text.value.startswith("- ")]
    lines = said.split("\n")
    scores = {name: scores_of(session, name) for name in ("Platt", "Beta")}
    for line, (name, ((right, loss), (right_apart, loss_apart))) in zip(lines[::-1], scores.items(), strict=True):
        assert line.startswith(f"- **{name} (sCW)** against {name} (CW): accuracy ")
        points = 100 * (right - right_apart)
        assert f"{abs(points):.1f} points {'higher' if points > 0 else 'lower'}" in line or points == 0
        assert f"({100 * right:.1f} % against {100 * right_apart:.1f} %)" in line
        nll = line[line.index("NLL ") :]
        assert ("higher" if loss > loss_apart else "lower") in nll
        assert f"({number(loss)} against {number(loss_apart)})" in nll
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
    app = open_page(PAGE, session)
    assert np.all([toggle.key != "compare/sharing" for toggle in app.toggle])
    assert any("two classes need one map alone" in caption.value for caption in app.caption)
