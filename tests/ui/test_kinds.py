"""Pages of data of other kinds: an event, answers, a confidence alone, very many rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data import Predictions
from calib.data.event import Event
from calib.data.samples import load_sample
from calib.engine import Engine
from calib.evaluation import evaluate
from calib.formatting import number, percent
from calib.numerics import softmax
from calib.reporting import html_of_fits
from calib.ui.compare.recommendation import reported
from calib.ui.fits import judged_fits
from calib.ui.link import entry_of
from calib.ui.session import VIEWPOINT, OpenSession
from tests.conftest import npz_bytes, simulate
from tests.test_pairs import pairs
from tests.ui.conftest import (
    PAGES,
    SAMPLE,
    clean,
    fit,
    group,
    one_of,
    open_page,
    opened,
    said,
    unfold,
)

NAME = "_default*"
ESCAPED = r"\_default\*"


@pytest.fixture
def risk(queue) -> OpenSession:
    """Rare events with risks that are too high, under a name that Markdown would read."""
    rng = np.random.default_rng(0)
    truth = rng.normal(-2.5, 1.0, 1200)
    labels = (rng.random(1200) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    logits = np.stack([np.zeros(1200), truth + 1.0], axis=1)
    data = Predictions(
        logits,
        labels,
        ("paid", NAME),
        event=Event(1, NAME, "as chosen"),
        sha256="event",
        name="loans",
    )
    return OpenSession.from_data(data)


def expected(session: OpenSession) -> tuple[float, float]:
    """Mean predicted risk and event rate of the test rows."""
    logits, labels = session.test.logits, session.test.labels
    return float((1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))).mean()), float(labels.mean())


@pytest.mark.parametrize("path", ["app.py", "pages/3_Reliability.py"])
def test_pages_open_with_the_risk_beside_the_rate(risk, path):
    app = open_page(path, risk)
    assert clean(app)
    p, rate = (
        float(values.mean())
        for values in evaluate(softmax(risk.data.logits), risk.data.labels).seen(risk.view).pair
    )
    means = f"{percent(p)} predicted, {percent(rate)} observed"
    assert f"On average too high: {means}" in said(app)
    if path != "app.py":  # the first page describes the samples too
        assert "confiden" not in said(app)


def errors(app: AppTest) -> list[str]:
    """The lines above the diagrams."""
    return [text.value for text in app.markdown if text.value.startswith("ECE")]


def test_the_switch_goes_to_the_predicted_class_and_back(risk):
    raw = evaluate(1 / (1 + np.exp(risk.data.logits[:, ::-1] - risk.data.logits)), risk.data.labels)
    app = open_page("pages/3_Reliability.py", risk)
    before = errors(app)
    group(app, VIEWPOINT).set_value("top-label").run()
    assert clean(app)
    assert f"accuracy {percent(raw.correct.mean())}" in said(app)
    assert errors(app) != before
    group(app, VIEWPOINT).set_value("event").run()
    assert errors(app) == before


def test_the_report_speaks_of_the_event_and_escapes_its_name(risk, monkeypatch):
    risk.data = replace(risk.data, event=replace(risk.data.event, name="<b>x</b>"))
    opened(monkeypatch, risk)
    monkeypatch.setattr("calib.ui.session.find_session", lambda: risk)

    def report() -> str:
        return html_of_fits(data=reported(risk, judged_fits(risk)), callback=lambda *_: None)

    written = report()
    assert "the event is &lt;b&gt;x&lt;/b&gt;" in written and "<b>x</b>" not in written
    assert number(expected(risk)[1]) in written
    risk.viewpoint = "top-label"
    assert "--view" not in written and "--view top-label" in report()


@pytest.mark.parametrize(
    ("sign", "spread", "path", "says"),
    [
        (0, 1.5, "app.py", "rank no better than chance"),
        (-1, 1.5, "pages/2_Compare.py", "rank the wrong way round"),
        (0, 0.1, "pages/4_Decide.py", "which may be chance"),
    ],
)
def test_outputs_that_tell_nothing_are_said_to(queue, sign, spread, path, says):
    rng = np.random.default_rng(1)
    score = rng.normal(0.0, spread, 800)
    labels = (rng.random(800) < 1 / (1 + np.exp(-sign * score))).astype(np.int64)
    logits, event = np.stack([np.zeros(800), score], axis=1), Event(1, "leaves", "as chosen")
    data = Predictions(logits, labels, ("stays", "leaves"), event=event).identified()
    app = open_page(path, OpenSession.from_data(data))
    assert clean(app)
    assert says in said(app)


@pytest.fixture(scope="module")
def kinds(queue: Engine) -> dict[str, OpenSession]:
    """Answers with weights that were explained; a confidence alone and beside others."""
    n = 400
    about = {
        "clusters": np.array([f"question {i // 4}" for i in range(n)]),
        "weights": 1.0 + np.arange(n) % 3,
    }
    answers = replace(pairs(n), **about, weight_kind="frequency", sha256="answers for the pages")
    sample = load_sample(SAMPLE)
    return {
        "answers": fit(queue, OpenSession.from_data(answers), "platt", "isotonic"),
        "beside": fit(
            queue, OpenSession.from_data(sample, sample=SAMPLE), "temperature", "geometric"
        ),
        "alone": fit(queue, OpenSession.from_data(sample, sample=SAMPLE), "geometric"),
    }


@pytest.mark.parametrize("path", one_of(PAGES, "pages/2_Compare.py"))
def test_every_page_is_drawn(path: str, kinds: dict[str, OpenSession]) -> None:
    for kind, session in kinds.items():
        app = open_page(path, session)
        assert clean(app), (kind, app.exception, [error.value for error in app.error])


def test_pages_of_answers_speak_of_a_confidence_of_weights_and_of_clusters(
    kinds: dict[str, OpenSession],
) -> None:
    session = kinds["answers"]
    assert "0.2 as 0.8 that the answer is wrong" in said(open_page("pages/8_Latent_GP.py", session))
    app = open_page("pages/1_Fit.py", session)
    assert "Vector" in said(app) and "all classes" in said(app)
    assert "Not here, as they take no weights: " in said(app)
    offered = [each.key for each in app.checkbox]
    assert "fit/use/platt" in offered
    assert "fit/use/vector" not in offered and "fit/use/geometric" not in offered
    app = unfold(open_page("pages/2_Compare.py", session), "compare/scores")
    assert "take whole clusters as independent" in said(app) and "Weighted by frequency" in said(
        app
    )


def test_export_shows_the_size_before_the_download_and_the_lines_that_use_it(
    kinds: dict[str, OpenSession],
) -> None:
    app = unfold(open_page("pages/5_Export.py", kinds["alone"]), "export/others")
    words = said(app)
    assert "Lowest NLL" not in words
    assert "The pickle holds the training rows too." in words
    assert "250 training rows of 64 numbers" in words
    assert all("probs" not in code.value for code in app.code)
    assert any(
        "calibrator.predict_confidence(outputs, features)" in code.value for code in app.code
    )
    assert "Calibrated confidence" in [heading.value for heading in app.header]


def test_an_upload_to_calibrate_brings_its_features(kinds: dict[str, OpenSession]) -> None:
    rows = kinds["alone"].test.take(np.arange(20))
    for arrays, sentence in (
        ({"logits": rows.logits, "features": rows.features}, "20 rows, 10 classes."),
        ({"logits": rows.logits}, "none looks like the inputs of the rows"),
    ):
        app = open_page("pages/5_Export.py", kinds["alone"])
        app.button_group(key="export/of").set_value("an upload").run()
        assert "with features" in app.file_uploader[0].label
        app.file_uploader[0].upload("new.npz", npz_bytes(**arrays)).run()
        assert not app.exception
        assert sentence in " ".join([said(app), *(error.value for error in app.error)])


def test_a_sample_is_fitted_on_and_said_and_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("apply.sample", "ui.data.view"):
        monkeypatch.setattr(f"calib.{place}.MANY_ROWS", 2000)
        monkeypatch.setattr(f"calib.{place}.SAMPLED_ROWS", 1000)
    session = OpenSession.from_data(Predictions(*simulate(4200, 2), ("no", "yes"), name="many"))
    assert (len(session.calibration), len(session.test)) == (1000, 2100)
    sentence = "1,000 of the 2,100 calibration rows were drawn at random"
    app = open_page("app.py", session)
    assert sentence in said(app)
    assert sentence in said(open_page("pages/1_Fit.py", session))
    before = session.split_key
    ask(app, 2100)
    assert len(session.calibration) == 2100 and not session.drawn and session.split_key != before
    assert entry_of(session).most == 2100
    ask(app, 1000)
    assert session.split_key == before
    app.slider[0].set_value(48)
    ask(app, 2100)  # more rows than there are then
    assert not app.exception
    assert len(session.calibration) == len(session.data) - len(session.test) < 2100


def ask(app: AppTest, rows: int) -> None:
    """Fit on so many rows."""
    next(each for each in app.number_input if each.label == "Rows to fit on").set_value(rows)
    app.button(key="split/again").click().run()
