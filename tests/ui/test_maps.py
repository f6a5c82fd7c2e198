"""The Calibration maps page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data.samples import load_sample
from calib.engine import Engine
from calib.ui.session import OpenSession
from tests.ui.conftest import charts, clean, fit, open_page, said, unfold

PAGE = "pages/7_Calibration_maps.py"


def opened(session: OpenSession) -> AppTest:
    """The page with every map and its further questions; at first sight it has the raw model and one method."""
    app = open_page(PAGE, session)
    assert clean(app)
    assert len(charts(app)) == 1
    choice = app.button_group(key="maps/methods")
    assert len(choice.value) == 2 and choice.value[0] == "raw"
    choice.set_value(["raw", *session.specs]).run()
    return unfold(app, "maps/ends")


def test_the_change_in_points_is_a_view_of_the_maps(binary: OpenSession) -> None:
    app = open_page(PAGE, binary)
    app.button_group(key="maps/scale/linear").set_value("change").run()
    assert clean(app)
    (spec,) = [json.loads(chart.spec) for chart in charts(app)]
    assert spec["layout"]["yaxis"]["title"]["text"] == "map minus raw, points"


@pytest.fixture(scope="module")
def binary(queue: Engine) -> OpenSession:
    session = OpenSession.from_data(load_sample("simulated-binary").take(np.arange(1000)))
    both: list[tuple[str, dict[str, Any]]] = [
        ("isotonic", {}),
        ("isotonic", {"platt_correction": True}),
    ]
    return fit(queue, session, "temperature", *both, ("bayes_iso", {"n_maps": 500}), "enir")


def test_fits_are_laid_over_one_another_with_what_bayes_iso_knows(binary: OpenSession) -> None:
    app = opened(binary)
    words = said(app)
    assert len(charts(app)) == 3  # maps and both ends
    for name in ("Temperature", "Isotonic", "Bayes-Iso"):
        assert name in words
    assert "averages over all monotone maps" in words
    assert "posterior mean" in " ".join(chart.spec for chart in charts(app))


def test_the_prior_stands_beside_the_posterior_and_replicates_beside_the_truth(
    queue: Engine,
) -> None:
    session = OpenSession.from_data(load_sample("simulated-binary").take(np.arange(600)))
    session.sample = "simulated-binary"
    app = opened(fit(queue, session, "bayes_iso", "isotonic"))
    key = next(key for key, spec in session.specs.items() if spec.method == "bayes_iso")
    unfold(app, f"maps/prior/{key}", "maps/replicates")
    assert clean(app)
    specs = [json.loads(chart.spec) for chart in charts(app)][3:]
    titles = [spec["layout"]["title"]["text"] for spec in specs]
    assert titles[:3] == ["Prior", "Within bounds", "Posterior"]
    for spec in specs[3:]:
        assert [trace.get("name") for trace in spec["data"]] == [None, "truth"]
    assert len(specs) == 5
    assert "The root mean squared error of 10 maps is" in said(app)


def test_all_classes_are_pooled_first_and_a_method_without_a_map_is_named(
    with_fits: OpenSession,
) -> None:
    """A class that agrees by itself says nothing of a model that is off in all of them together."""
    app = opened(with_fits)
    words = said(app)
    n, n_classes = with_fits.test.logits.shape
    assert app.markdown[0].value.startswith(
        "**The raw model's probabilities of all classes, pooled,"
    )
    assert f"{n * n_classes:,} pairs of test row and class, of which {n:,}" in words
    assert "Temperature and GPcalib have no one map that all classes share" in words
    assert "before the probabilities of a row" in words
    assert "Isotonic" in app.markdown[0].value
    app.selectbox[0].set_value(3).run()
    assert "have no map of one class" in said(app)
