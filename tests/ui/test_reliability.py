"""The Reliability page with bins, a kernel or isotonic regression, with and without the band of chance."""

from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib import metrics
from calib.formatting import brief
from calib.ui.session import OpenSession
from tests.ui.conftest import FITTED, charts, group, open_page

PAGE = "pages/2_Reliability.py"
LINE = {"Bins": "bins", "Smooth": "smooth", "CORP": "isotonic"}


def traces(app: AppTest) -> list[list[str | None]]:
    """Names of the traces of each figure."""
    specs = [json.loads(chart.spec) for chart in charts(app)]
    return [[trace.get("name") for trace in spec["data"]] for spec in specs]


def choose(app: AppTest, shape: str, view: str | None = None) -> AppTest:
    if view is not None:
        group(app, "rel/view").set_value(view)
    return app.button_group(key="rel/shape").set_value(shape).run()


def test_the_page_opens_with_bins_and_no_band(fits_to_read: OpenSession) -> None:
    app = open_page(PAGE, fits_to_read)
    assert len(traces(app)) == 1 + len(FITTED)
    assert all("bins" in names and "consistency band" not in names for names in traces(app))


@pytest.mark.parametrize("shape", LINE)
def test_each_curve_on_each_scale_with_the_band_and_of_one_class(shape: str, fits_to_read: OpenSession) -> None:
    def drawn(app: AppTest) -> list[list[str | None]]:
        assert not app.exception and not app.error
        names = traces(app)
        assert all(LINE[shape] in each for each in names)
        return names

    app = open_page(PAGE, fits_to_read)
    for view in ("Logit-scaled", "Classic"):
        assert len(drawn(choose(app, shape, view))) == 1 + len(FITTED)
        ranges = {json.dumps(json.loads(chart.spec)["layout"]["xaxis"]["range"]) for chart in charts(app)}
        assert len(ranges) == 1
    assert app.toggle(key=f"rel/band/{shape}").value == (shape == "CORP")
    for _ in range(2):
        toggle = app.toggle(key=f"rel/band/{shape}")
        assert all(("consistency band" in names) == toggle.value for names in drawn(app))
        toggle.set_value(not toggle.value).run()
    drawn(app.selectbox(key="rel/target").select(3).run())


def test_the_number_over_each_picture_is_the_metric(fits_to_read: OpenSession) -> None:
    app = choose(open_page(PAGE, fits_to_read), "Smooth")
    test = fits_to_read.test
    logits = test.logits - test.logits.max(axis=1, keepdims=True)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shown = next(metric for metric in app.metric if metric.label == "Smooth ECE")
    assert shown.value == brief(metrics.smooth_ece(probs, test.labels))
    app = choose(app, "CORP")
    shown = next(metric for metric in app.metric if metric.label == "Miscalibration")
    assert shown.value == brief(metrics.corp(probs, test.labels).miscalibration)


def test_the_gap_view_has_bins_whatever_the_curve(fits_to_read: OpenSession) -> None:
    app = choose(open_page(PAGE, fits_to_read), "CORP", "Gap")
    assert not app.exception
    assert len(charts(app)) == 1
    assert app.button_group(key="rel/shape").disabled
