"""Figures of the latent function."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from calib.diagnostics.latent import EffectCurve, LatentCurve
from calib.plots.latent import effect_chart, latent_function
from calib.plots.style import method_style

TEMPERATURE = method_style("temperature")
STYLES = [method_style("gpcalib", index) for index in range(2)]
STYLE = STYLES[0]


def latent_of(space: str = "logits", n_points: int = 140, slope: float = 0.5) -> LatentCurve:
    """A latent function that halves every logit; its data are log-probabilities (or probabilities)."""
    inputs = np.linspace(-12, 0, n_points) if space == "logits" else np.linspace(0.001, 1, n_points)
    prior = inputs if space == "logits" else np.log(inputs)
    return LatentCurve(
        inputs=inputs, mean=slope * prior, sd=np.full(n_points, 0.3), prior=prior,
        prior_name="identity" if space == "logits" else "ln prior", temperature=prior / 3, temperature_outside=0.0,
        truth=0.4 * prior, inducing=np.linspace(inputs[0], inputs[-1], 5),
        density_edges=np.linspace(inputs[0], inputs[-1], 31), density_label=np.arange(30.0),
        density_other=np.arange(30.0)[::-1], every=1, space=space,
    )  # fmt: skip


def effect_of(scale: str = "linear", slope: float = 0.8, n: int = 12) -> EffectCurve:
    """Confidences from 0.4 to 0.99 become ``slope`` of themselves."""
    before = np.linspace(0.4, 0.99, n)
    after = slope * before
    return EffectCurve(
        before=before, after=after, sd=np.full(n, 0.01),
        bands=tuple((after - width, after + width) for width in (0.02, 0.01)),
        accuracy=after, accuracy_low=after - 0.05, accuracy_high=np.minimum(after + 0.05, 1.0),
        count=np.arange(10, 10 + n), temperature=0.9 * before, truth=0.7 * before, scale=scale,
    )  # fmt: skip


def without(thing, *names: str):
    """The same without these references."""
    return dataclasses.replace(thing, **dict.fromkeys(names))


def draw(curve=None, **options):
    return latent_function([("GPcalib", curve or latent_of(), STYLE)], TEMPERATURE, **options)


def named(fig):
    return {trace.name: trace for trace in fig.data if trace.name}


def test_curves_and_bands_are_those_given() -> None:
    curve = latent_of(n_points=50)
    fig = draw(curve)
    traces = named(fig)
    drawn = {"identity": curve.prior, "temperature": curve.temperature, "truth": curve.truth, "GPcalib": curve.mean}
    for name, values in drawn.items():
        np.testing.assert_array_equal(traces[name].x, curve.inputs)
        np.testing.assert_array_equal(traces[name].y, values)
    wide, narrow = fig.data[:2]
    np.testing.assert_allclose(wide.y[:50], curve.mean - 2 * curve.sd)
    np.testing.assert_allclose(narrow.y[50:], (curve.mean + curve.sd)[::-1])


def test_inducing_points_have_whiskers_at_one_and_two_standard_deviations() -> None:
    curve = latent_of()
    fig = draw(curve)
    points = named(fig)["inducing points of GPcalib"]
    np.testing.assert_allclose(points.y, np.interp(curve.inducing, curve.inputs, curve.mean))
    np.testing.assert_allclose(points.error_y.array, 0.3)
    wide = next(trace for trace in fig.data if trace.name is None and trace.error_y.array is not None)
    np.testing.assert_allclose(wide.error_y.array, 0.6)
    assert "diamond" in points.marker.symbol


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_every_line_is_drawn_where_its_numbers_lie(scale: str) -> None:
    curve = effect_of(scale)
    traces = named(effect_chart([("GPcalib", curve, STYLES[0])], TEMPERATURE))
    drawn = {"GPcalib": curve.after, "temperature": curve.temperature, "truth": curve.truth, "right": curve.accuracy}
    for name, values in drawn.items():
        placed = values if scale == "linear" else np.log(values) - np.log1p(-values)
        np.testing.assert_allclose(traces[name].y, placed)
        np.testing.assert_allclose([row[1] for row in traces[name].customdata], values, rtol=1e-5)
