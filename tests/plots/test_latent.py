"""Figures of the latent function."""

from __future__ import annotations

import numpy as np

from calib.plots.latent import latent_function
from calib.plots.style import method_style
from tests.plots.zoo import halved

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
