"""The Reliability page with bins, a kernel or isotonic regression, with and without the band of chance."""

from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib import metrics
from calib.formatting import brief
from calib.ui.session import Session
from tests.ui.conftest import FITTED, open_page

PAGE = "pages/2_Reliability.py"
LINE = {"Bins": "bins", "Smooth": "smooth", "CORP": "isotonic"}


def traces(app: AppTest) -> list[list[str | None]]:
    """Names of the traces of each figure."""
    specs = [json.loads(element.proto.spec) for element in app.get("plotly_chart")]
    return [[trace.get("name") for trace in spec["data"]] for spec in specs]


def choose(app: AppTest, shape: str, view: str | None = None) -> AppTest:
    if view is not None:
        next(c for c in app.get("button_group") if c.key and c.key.startswith("rel/view")).set_value(view)
    return app.button_group(key="rel/shape").set_value(shape).run()


def test_the_page_opens_with_bins_and_no_band(with_fits: Session) -> None:
    app = open_page(PAGE, with_fits)
    assert len(traces(app)) == 1 + len(FITTED)
    assert all("bins" in names and "consistency band" not in names for names in traces(app))


@pytest.mark.parametrize("view", ["Classic", "Logit-scaled"])
@pytest.mark.parametrize("shape", LINE)
def test_each_curve_is_drawn_for_each_method_on_each_scale(shape: str, view: str, with_fits: Session) -> None:
    app = choose(open_page(PAGE, with_fits), shape, view)
    assert not app.exception
    assert not app.error
    assert len(traces(app)) == 1 + len(FITTED)
    assert all(LINE[shape] in names for names in traces(app))
    ranges = {json.dumps(json.loads(c.proto.spec)["layout"]["xaxis"]["range"]) for c in app.get("plotly_chart")}
    assert len(ranges) == 1


@pytest.mark.parametrize("shape", LINE)
def test_the_band_of_chance_comes_and_goes(shape: str, with_fits: Session) -> None:
    app = choose(open_page(PAGE, with_fits), shape)
    assert app.toggle(key=f"rel/band/{shape}").value == (shape == "CORP")
    for _ in range(2):
        toggle = app.toggle(key=f"rel/band/{shape}")
        assert all(("consistency band" in names) == toggle.value for names in traces(app))
        toggle.set_value(not toggle.value).run()


@pytest.mark.parametrize("shape", LINE)
def test_a_class_can_be_looked_at_in_each_way(shape: str, with_fits: Session) -> None:
    app = choose(open_page(PAGE, with_fits), shape)
    app.selectbox(key="rel/target").select(3).run()
    assert not app.exception
    assert all(LINE[shape] in names for names in traces(app))


def test_the_number_over_each_picture_is_the_metric(with_fits: Session) -> None:
    app = choose(open_page(PAGE, with_fits), "Smooth")
    test = with_fits.test
    assert test is not None
    logits = test.logits - test.logits.max(axis=1, keepdims=True)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shown = next(metric for metric in app.metric if metric.label == "Smooth ECE")
    assert shown.value == brief(metrics.smooth_ece(probs, test.labels))
    app = choose(app, "CORP")
    shown = next(metric for metric in app.metric if metric.label == "Miscalibration")
    assert shown.value == brief(metrics.corp(probs, test.labels).miscalibration)


def test_the_gap_view_has_bins_whatever_the_curve(with_fits: Session) -> None:
    app = choose(open_page(PAGE, with_fits), "CORP", "Gap")
    assert not app.exception
    assert len(app.get("plotly_chart")) == 1
    assert app.button_group(key="rel/shape").disabled
