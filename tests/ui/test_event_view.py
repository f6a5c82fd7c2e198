"""The event view on pages: numbers and words of P(event), and the switch to the predicted class and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.evaluation import evaluate
from calib.evaluation.view import EVENT
from calib.formatting import number, percent
from calib.numerics import softmax
from calib.ui.fits import shown_fits
from calib.ui.session import VIEWPOINT, OpenSession
from tests.ui.conftest import clean, facts, group, open_page, report_of, said

NAME = "_default*"
ESCAPED = r"\_default\*"


@pytest.fixture
def risk(queue) -> OpenSession:
    """Rare events with risks that are too high, under a name that Markdown would read."""
    rng = np.random.default_rng(0)
    truth = rng.normal(-2.5, 1.0, 1200)
    labels = (rng.random(1200) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    logits = np.stack([np.zeros(1200), truth + 1.0], axis=1)
    data = Predictions(logits, labels, ("paid", NAME), event=Event(1, NAME, "as chosen"), sha256="event", name="loans")
    return OpenSession.from_data(data)


def expected(session: OpenSession) -> tuple[float, float]:
    """Mean predicted risk and event rate of the test rows."""
    logits, labels = session.test.logits, session.test.labels
    return float((1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))).mean()), float(labels.mean())


@pytest.mark.parametrize("path", ["app.py", "pages/3_Reliability.py", "pages/6_Over_underconfidence.py"])
def test_pages_open_with_the_risk_beside_the_rate(risk, path):
    app = open_page(path, risk)
    assert clean(app)
    assert f"overestimates the risk of {ESCAPED} by" in said(app)
    p, rate = expected(risk)
    if path == "app.py":
        p, rate = (
            float(values.mean())
            for values in evaluate(softmax(risk.data.logits), risk.data.labels).seen(risk.view).pair
        )
        assert facts(app)["Observed rate"] == percent(rate)
    if path != "pages/6_Over_underconfidence.py":
        assert percent(p) in said(app)
    assert percent(rate) in said(app)
    if path != "app.py":  # which describes the samples
        assert "confiden" not in said(app)


def errors(app: AppTest) -> list[str]:
    """The lines above the diagrams."""
    return [text.value for text in app.markdown if text.value.startswith("ECE")]


def test_the_switch_goes_to_the_predicted_class_and_back(risk):
    raw = evaluate(1 / (1 + np.exp(risk.test.logits[:, ::-1] - risk.test.logits)), risk.test.labels)
    app = open_page("pages/3_Reliability.py", risk)
    before = errors(app)
    group(app, VIEWPOINT).set_value("top-label").run()
    assert clean(app)
    assert f"accuracy {percent(raw.correct.mean())}" in said(app)
    assert errors(app) != before
    group(app, VIEWPOINT).set_value("event").run()
    assert errors(app) == before


def test_the_report_speaks_of_the_event_and_escapes_its_name(risk, monkeypatch):
    hostile = "<b>x</b>"
    risk.data = replace(risk.data, event=replace(risk.data.event, name=hostile))
    monkeypatch.setattr("calib.ui.session.find_session", lambda: risk)
    monkeypatch.setattr("calib.ui.fits.find_session", lambda: risk)
    written = report_of(risk, shown_fits(risk))
    assert hostile not in written
    assert "the event is &lt;b&gt;x&lt;/b&gt;" in written
    assert EVENT.over_and_under in written
    assert "--view" not in written, "the event is what the command line looks at"
    _, rate = expected(risk)
    assert number(rate) in written
    risk.viewpoint = "top-label"
    again = report_of(risk, shown_fits(risk))
    assert "--view top-label" in again
    assert "Over- and underconfidence" in again


def test_pages_without_words_of_an_event_say_so(risk):
    app = open_page("pages/9_IMax_binning.py", risk)
    assert clean(app)
    assert f"Shown for both classes, {ESCAPED} and the other" in said(app)
    app.switch_page("pages/3_Reliability.py").run()
    assert "Shown for both classes" not in said(app)
    app.session_state[VIEWPOINT] = "top-label"
    app.switch_page("pages/9_IMax_binning.py").run()
    assert "Shown for both classes" not in said(app)


@pytest.mark.parametrize(("sign", "says"), [(0, "not shown to tell cases of"), (-1, "rank cases the wrong way round")])
def test_outputs_that_tell_nothing_are_said_to(queue, sign, says):
    rng = np.random.default_rng(1)
    score = rng.normal(0.0, 1.5, 800)
    labels = (rng.random(800) < 1 / (1 + np.exp(-sign * score))).astype(np.int64)
    logits = np.stack([np.zeros(800), score], axis=1)
    data = Predictions(logits, labels, ("stays", "leaves"), event=Event(1, "leaves", "as chosen"), sha256=f"no {sign}")
    for path in ("app.py", "pages/2_Compare.py"):
        app = open_page(path, OpenSession.from_data(data))
        assert clean(app)
        assert says in " ".join(warning.value for warning in app.warning)


def test_a_threshold_below_every_risk_is_acting_on_all(queue):
    rng = np.random.default_rng(2)
    logits = np.stack([np.zeros(400), rng.normal(0.0, 0.1, 400)], axis=1)
    data = Predictions(
        logits, rng.integers(0, 2, 400), ("stays", "leaves"), event=Event(1, "leaves", "as chosen"), sha256="all"
    )
    app = open_page("pages/4_Decide.py", OpenSession.from_data(data))
    assert clean(app)
    assert "That is acting on all: the threshold lies below every risk" in said(app)
    assert facts(app)["Acted on, of 1,000"] == "1,000"
