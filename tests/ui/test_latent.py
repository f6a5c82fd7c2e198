"""The Latent GP page in its states: no fit, one, several, with and without temperature, and awkward data."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data import Predictions
from calib.data.samples import load_sample
from calib.jobs import FitQueue, FitSpec
from calib.registry import calibrator, title_of
from calib.ui.session import Session
from tests.conftest import simulate
from tests.ui.conftest import open_page

PAGE = "pages/4_Latent_GP.py"
QUICK = {"max_iter": 15, "n_inducing": 4}


def with_fits_of(queue: FitQueue, session: Session, *fits: tuple[str, dict[str, Any]]) -> Session:
    assert session.calibration is not None
    for method, params in fits:
        title = title_of(calibrator(method, **params), method)
        spec = FitSpec(method, params, data_key=session.split_key, label=title)
        queue.submit(spec, session.calibration.logits, session.calibration.labels)
        session.specs[spec.key] = spec
    until = time.monotonic() + 120
    while any(job.active for job in queue.snapshot(session.specs)) and time.monotonic() < until:
        time.sleep(0.05)
    assert {job.state for job in queue.snapshot(session.specs)} <= {"done"}
    return session


def sample(name: str) -> Session:
    return Session.opened(load_sample(name), sample=name)


def said(app: AppTest) -> str:
    assert not app.exception
    assert not app.error
    return " ".join(str(element.value) for element in (*app.markdown, *app.info, *app.caption, *app.warning))


def charts(app: AppTest) -> list[Any]:
    return [element.proto for element in app.get("plotly_chart")]


def alternatives(app: AppTest) -> str:
    return " ".join(chart.spec for chart in charts(app))


@pytest.fixture(scope="module")
def several(queue: FitQueue) -> Session:
    plain, probs = ("gpcalib", QUICK), ("gpcalib", {**QUICK, "inputs": "probs"})
    return with_fits_of(queue, sample("simulated-100"), ("temperature", {}), plain, probs)


def test_one_fit_says_its_finding_first_and_follows_a_confidence(with_fits: Session) -> None:
    app = open_page(PAGE, with_fits)
    assert app.markdown[0].value.startswith("**GPcalib ")
    assert "It is least sure at confidences about" in said(app)
    assert "Temperature scaling" in app.markdown[0].value
    probe = [metric for metric in app.metric if metric.label == "0.93 becomes"]
    assert len(probe) == 1
    assert "±" in probe[0].value
    assert len(charts(app)) == 3


def test_another_confidence_has_another_answer(with_fits: Session) -> None:
    app = open_page(PAGE, with_fits)
    before = app.metric[0].value
    app.select_slider[0].set_value(0.995).run()
    assert app.metric[0].label == "0.995 becomes"
    assert app.metric[0].value != before
    assert "test rows nearest to 0.995" in said(app)


def test_probability_space_keeps_the_page_whole(with_fits: Session) -> None:
    app = open_page(PAGE, with_fits)
    app.segmented_control(key="latent/space").set_value("probability").run()
    assert "probability against one rival" in alternatives(app)
    app.segmented_control(key="latent/scale/logit").set_value("linear").run()
    assert '"0.99"' not in charts(app)[0].spec  # a tick of the logit scale
    assert len(charts(app)) == 3
    said(app)


def test_without_temperature_nothing_is_compared_with_it(queue: FitQueue) -> None:
    app = open_page(PAGE, with_fits_of(queue, sample("digits-cnn"), ("gpcalib", QUICK)))
    assert "Temperature" not in said(app)
    assert '"name":"temperature"' not in alternatives(app).replace(" ", "")
    assert len(app.metric) == 1


def test_functions_of_logits_and_of_probabilities_are_drawn_apart_or_as_maps(several: Session) -> None:
    app = open_page(PAGE, several)
    assert len(charts(app)) == 4
    assert "logit z" in charts(app)[0].spec
    assert "probability p" in charts(app)[1].spec
    assert "ln prior" in charts(app)[1].spec
    assert "*inputs=probs*" in said(app)
    app.segmented_control(key="latent/space").set_value("probability").run()
    assert len(charts(app)) == 3


def test_a_known_truth_is_drawn_in_every_picture_of_it(several: Session) -> None:
    app = open_page(PAGE, several)
    drawn = [chart.spec.replace(" ", "") for chart in charts(app)]
    assert ['"name":"truth"' in spec for spec in drawn] == [True, False, True, False]  # logits, probs, effect, trace
    app.segmented_control(key="latent/space").set_value("probability").run()
    assert '"name":"truth"' in charts(app)[0].spec.replace(" ", "")


def test_a_fit_that_did_not_converge_says_so_by_name(several: Session) -> None:
    warnings = [warning.value for warning in open_page(PAGE, several).warning]
    assert len(warnings) == 2
    assert [warning.split(": The fit did not converge")[0] for warning in warnings] == ["GPcalib", "inputs=probs"]


def awkward() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    logits, labels = simulate(200, 4)
    some = labels != 2
    return {
        "one class absent": (logits[some], labels[some]),
        "constant logits": (np.zeros((60, 3)), np.arange(60) % 3),
        "two classes": simulate(120, 2),
        "thirty rows": simulate(60, 5),
        "separable": (np.eye(3)[np.arange(90) % 3] * 40.0, np.arange(90) % 3),
    }


@pytest.mark.parametrize("name", awkward())
@pytest.mark.parametrize("inputs", ["logits", "probs"])
def test_awkward_data_are_drawn(queue: FitQueue, name: str, inputs: str) -> None:
    logits, labels = awkward()[name]
    names = tuple(f"c{k}" for k in range(logits.shape[1]))
    session = Session.opened(Predictions(logits, labels, names, sha256=name))
    app = open_page(PAGE, with_fits_of(queue, session, ("temperature", {}), ("gpcalib", {**QUICK, "inputs": inputs})))
    said(app)
    assert len(charts(app)) == 3
    app.segmented_control(key="latent/space").set_value("probability").run()
    said(app)


def test_a_collapsed_fit_says_so_and_gives_no_certainty(queue: FitQueue) -> None:
    app = open_page(PAGE, with_fits_of(queue, sample("odd-digits-adaboost"), ("gpcalib", {})))
    assert "its kernel variance went to 0" in app.markdown[0].value
    assert "no certainty" in app.markdown[0].value
    assert all("±" not in metric.value for metric in app.metric)
