"""The calibration curve of a risk model as a figure."""

from __future__ import annotations

import numpy as np
import pytest

from calib.metrics import risk_model
from calib.numerics import sigmoid
from calib.plots.annotations import figure_data
from calib.plots.risk_model import prefers_logit, risk_limits, risk_model_diagram
from calib.plots.style import method_style

STYLE = method_style("platt")


def curve_of(rate: float):
    rng = np.random.default_rng(3)
    risk = sigmoid(np.log(rate / (1 - rate)) + rng.normal(0, 1.2, 3000))
    return risk_model(risk, rng.random(3000) < risk, n_resamples=0).curve


@pytest.fixture(scope="module")
def rare():
    return curve_of(0.02)


@pytest.fixture(scope="module")
def usual():
    return curve_of(0.4)


def test_a_rare_event_has_axes_of_log_odds_that_hold_every_risk(rare, usual):
    assert prefers_logit(rare) and not prefers_logit(usual)
    low, high = risk_limits([rare], "logit")
    assert low <= rare.risk[0] and rare.risk[-1] <= high
    ticks = risk_model_diagram(rare, STYLE).layout.xaxis.ticktext
    assert "0.01" in ticks
    assert tuple(risk_model_diagram(usual, STYLE).layout.xaxis.range) == (0, 1)


def test_the_numbers_behind_the_figure_are_those_of_the_curve(usual):
    table = figure_data(risk_model_diagram(usual, STYLE))
    spline = table[table["trace"] == "spline"]
    np.testing.assert_allclose(spline["predicted risk"], usual.risk, rtol=1e-5)
    np.testing.assert_allclose(spline["low"], usual.low, rtol=1e-5)
    np.testing.assert_allclose(spline["observed rate"], usual.spline, rtol=1e-5)
