"""Figures of the latent function."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from calib.plots.annotations import figure_data
from calib.plots.latent import latent_function
from calib.plots.latent_effect import effect_chart
from calib.plots.style import alt_text
from tests.plots.latent_figures import STYLE, STYLES, TEMPERATURE, effect_of, latent_of, without


def draw(curve=None, **options):
    return latent_function([("GPcalib", curve or latent_of(), STYLE)], TEMPERATURE, **options)


def named(fig):
    return {trace.name: trace for trace in fig.data if trace.name}


def overlaid(first, second):
    return latent_function([("one", first, STYLES[0]), ("two", second, STYLES[1])], TEMPERATURE)


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


def test_only_the_first_fit_has_filled_bands_and_whiskers() -> None:
    fig = overlaid(latent_of(), latent_of(slope=0.6))
    filled = [trace for trace in fig.data if trace.type == "scatter" and trace.fill == "toself"]
    assert len(filled) == 2
    assert {trace.fillcolor.rpartition(",")[0] for trace in filled} == {"rgba(213,94,0"}
    traces = named(fig)
    assert traces["inducing points of one"].error_y.array is not None
    assert traces["inducing points of two"].error_y.array is None


def test_every_curve_is_in_the_picture() -> None:
    fig = overlaid(latent_of(), latent_of(slope=3.0))
    low, high = fig.layout.yaxis.range
    assert low < 3 * -12
    assert high > 0


def test_references_keep_their_dashes_and_colours() -> None:
    traces = named(draw())
    assert traces["identity"].line.dash == "dot"
    assert (traces["temperature"].line.dash, traces["temperature"].line.color) == ("dash", TEMPERATURE.color)
    assert traces["GPcalib"].line.color == STYLE.color


def test_without_temperature_and_truth_only_the_prior_is_beside() -> None:
    assert set(named(draw(without(latent_of("probs"), "temperature", "truth")))) == {
        "ln prior", "GPcalib", "inducing points of GPcalib", "true class", "other classes",
    }  # fmt: skip


def test_inducing_points_have_whiskers_at_one_and_two_standard_deviations() -> None:
    curve = latent_of()
    fig = draw(curve)
    points = named(fig)["inducing points of GPcalib"]
    np.testing.assert_array_equal(points.y, curve.inducing.mean)
    np.testing.assert_allclose(points.error_y.array, 0.3)
    wide = next(trace for trace in fig.data if trace.name is None and trace.error_y.array is not None)
    np.testing.assert_allclose(wide.error_y.array, 0.6)
    assert "diamond" in points.marker.symbol


def test_labels_do_not_cover_each_other() -> None:
    curve = dataclasses.replace(latent_of(), mean=latent_of().prior, temperature=latent_of().prior, truth=None)
    fig = draw(curve, height=480)
    low, high = fig.layout.yaxis.range
    heights = sorted(note.y for note in fig.layout.annotations if note.yref == "y")
    pixels = np.diff(heights) / (high - low) * 0.73 * (480 - 82)
    assert len(heights) == 3
    assert pixels.min() >= 16 - 1e-6


def test_the_data_beneath_have_an_axis_of_their_own_for_each_group() -> None:
    counts = np.r_[100_000.0, np.arange(28.0) * 100, 50.0]
    fig = draw(dataclasses.replace(latent_of(), density_other=counts, every=4))
    bars = named(fig)["other classes"]
    assert bars.y[0] == -1.0
    assert bars.customdata[0][2] == 100_000
    assert "one row in 4" in bars.hovertemplate
    assert list(fig.layout.yaxis2.ticktext) == ["100,000", "0", "20"]


def test_the_alternative_names_all_fits_and_the_numbers_go_home() -> None:
    fig = overlaid(latent_of(), latent_of(slope=0.6))
    assert "one, beside two" in alt_text(fig)
    table = figure_data(fig)
    assert {"one", "two", "identity", "truth", "true class"} <= set(table["trace"])
    assert {"low", "high", "low 2 sd", "high 2 sd"} <= set(table.columns)


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_every_line_is_drawn_where_its_numbers_lie(scale: str) -> None:
    curve = effect_of(scale)
    traces = named(effect_chart([("GPcalib", curve, STYLES[0])], TEMPERATURE))
    drawn = {"GPcalib": curve.after, "temperature": curve.temperature, "truth": curve.truth, "right": curve.accuracy}
    for name, values in drawn.items():
        placed = values if scale == "linear" else np.log(values) - np.log1p(-values)
        np.testing.assert_allclose(traces[name].y, placed)
        np.testing.assert_allclose([row[1] for row in traces[name].customdata], values, rtol=1e-5)


def test_without_temperature_and_truth_the_fit_stands_alone() -> None:
    curve = without(effect_of(), "temperature", "truth")
    assert set(named(effect_chart([("GPcalib", curve, STYLES[0])], TEMPERATURE))) == {"GPcalib", "right"}


def test_a_curve_laid_over_others_is_the_curve_alone_effect() -> None:
    second = ("two", effect_of(slope=0.9), STYLES[1])
    alone = named(effect_chart([second], TEMPERATURE))["two"]
    beside = named(effect_chart([("one", effect_of(), STYLES[0]), second], TEMPERATURE))["two"]
    np.testing.assert_array_equal(alone.y, beside.y)
    assert alone.customdata == beside.customdata


@pytest.mark.parametrize("n", [1, 2])
def test_few_bins_show_as_markers(n: int) -> None:
    fig = effect_chart([("GPcalib", effect_of(n=n), STYLES[0])], TEMPERATURE)
    assert "markers" in named(fig)["GPcalib"].mode
    assert "1 bin of" in alt_text(fig) if n == 1 else "2 bins of" in alt_text(fig)


def test_the_numbers_go_home() -> None:
    table = figure_data(effect_chart([("GPcalib", effect_of(), STYLES[0])], TEMPERATURE))
    assert {"before", "after", "sd", "low", "high", "accuracy", "rows"} <= set(table.columns)
