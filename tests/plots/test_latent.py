"""Figures of the latent function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit

from calib.plots.latent import effect_chart, latent_function
from calib.plots.style import method_style
from tests.conftest import simulate
from tests.plots.zoo import Case, effects, halved

TEMPERATURE, STYLE = method_style("temperature"), method_style("gpcalib")


def test_curves_and_bands_are_those_given() -> None:
    curve = halved(np.linspace(-12, 0, 50))
    fig = latent_function([("GPcalib", curve, STYLE)], TEMPERATURE)
    traces = {trace.name: trace for trace in fig.data if trace.name}
    drawn = {"identity": curve.prior, "temperature": curve.temperature, "truth": curve.truth, "GPcalib": curve.mean}
    for name, values in drawn.items():
        np.testing.assert_array_equal(traces[name].x, curve.inputs)
        np.testing.assert_array_equal(traces[name].y, values)
    wide, narrow = fig.data[:2]
    np.testing.assert_allclose(wide.y[:50], curve.mean - 2 * curve.sd)
    np.testing.assert_allclose(narrow.y[50:], (curve.mean + curve.sd)[::-1])
    points = traces["inducing points of GPcalib"]
    np.testing.assert_allclose(points.y, np.interp(curve.inducing, curve.inputs, curve.mean))
    np.testing.assert_allclose(points.error_y.array, np.interp(curve.inducing, curve.inputs, curve.sd))


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_every_line_is_drawn_where_its_numbers_lie(scale: str) -> None:
    lines = effects(Case(*simulate(400)), "GPcalib", scale, [STYLE, method_style("gpcalib", 1)])
    curve = lines[0][1]
    traces = {trace.name: trace for trace in effect_chart(lines[:1], TEMPERATURE).data if trace.name}
    for name, values in {"GPcalib": curve.after, "temperature": curve.temperature, "right": curve.accuracy}.items():
        inside = (values > 0.01) & (values < 0.99)
        np.testing.assert_allclose(
            np.array(traces[name].y)[inside], (values if scale == "linear" else logit(values))[inside]
        )
        np.testing.assert_allclose([row[1] for row in traces[name].customdata], values, rtol=1e-5)
