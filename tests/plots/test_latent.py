"""Figures of the latent function."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from calib.plots.annotations import figure_data
from calib.plots.latent import ObjectiveTrace, latent_function, latent_view, objective_traces, probability_view
from calib.plots.latent_effect import effect_chart
from calib.plots.style import alt_text
from tests.plots.conftest import words
from tests.plots.latent_figures import STYLE, STYLES, TEMPERATURE, effect_of, latent_of, pairwise_of, without


def draw(curve=None, **options):
    return latent_function([("GPcalib", latent_view(curve or latent_of()), STYLE)], TEMPERATURE, **options)


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


@pytest.mark.parametrize("view", [latent_view(latent_of()), probability_view(pairwise_of("logit"))])
def test_a_curve_laid_over_others_is_the_curve_alone(view) -> None:
    alone = named(latent_function([("two", view, STYLES[1])], TEMPERATURE))["two"]
    other = latent_view(latent_of(slope=0.2)) if view.scale is None else probability_view(pairwise_of("logit", 0.9))
    beside = named(overlaid(other, view))["two"]
    np.testing.assert_array_equal(alone.x, beside.x)
    np.testing.assert_array_equal(alone.y, beside.y)
    assert alone.customdata == beside.customdata


def test_only_the_first_fit_has_filled_bands_and_whiskers() -> None:
    fig = overlaid(latent_view(latent_of()), latent_view(latent_of(slope=0.6)))
    filled = [trace for trace in fig.data if trace.type == "scatter" and trace.fill == "toself"]
    assert len(filled) == 2
    assert {trace.fillcolor.rpartition(",")[0] for trace in filled} == {"rgba(213,94,0"}
    traces = named(fig)
    assert traces["inducing points of one"].error_y.array is not None
    assert traces["inducing points of two"].error_y.array is None


def test_every_curve_is_in_the_picture() -> None:
    fig = overlaid(latent_view(latent_of()), latent_view(latent_of(slope=3.0)))
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


def test_a_logit_scale_makes_temperature_a_straight_line() -> None:
    trace = named(latent_function([("GPcalib", probability_view(pairwise_of("logit")), STYLE)], TEMPERATURE))
    slopes = np.diff(trace["temperature"].y) / np.diff(trace["temperature"].x)
    np.testing.assert_allclose(slopes, 1 / 3)


def test_a_usual_prior_is_called_identity_whatever_the_inputs() -> None:
    curve = dataclasses.replace(pairwise_of(), prior_name="ln prior")
    assert next(iter(probability_view(curve).references)) == "identity"
    scaled = dataclasses.replace(curve, prior=curve.probs**2, prior_name="prior z / 9")
    assert next(iter(probability_view(scaled).references)) == "prior z / 9"


def test_the_data_beneath_have_an_axis_of_their_own_for_each_group() -> None:
    counts = np.r_[100_000.0, np.arange(28.0) * 100, 50.0]
    fig = latent_function(
        [("GPcalib", probability_view(dataclasses.replace(pairwise_of(), density_other=counts)), STYLE)], TEMPERATURE
    )
    bars = named(fig)["other classes"]
    assert bars.y[0] == -1.0
    assert bars.customdata[0][2] == 100_000
    assert "every 4th row" in bars.hovertemplate
    assert list(fig.layout.yaxis2.ticktext) == ["100,000", "0", "20"]


@pytest.mark.parametrize(("every", "word"), [(2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (21, "21st")])
def test_every_how_many_rows_is_said_in_words(every: int, word: str) -> None:
    view = latent_view(dataclasses.replace(latent_of(), every=every))
    fig = latent_function([("GPcalib", view, STYLE)], TEMPERATURE)
    assert f"inputs of every {word} row" in named(fig)["true class"].hovertemplate


def test_a_name_from_outside_is_escaped() -> None:
    fig = latent_function([("<b>mine", latent_view(latent_of()), STYLE)], TEMPERATURE)
    assert "&lt;b&gt;mine" in words(fig)
    assert not any("<b>mine" in (trace.hovertemplate or "") for trace in fig.data)


def test_the_alternative_names_all_fits_and_the_numbers_go_home() -> None:
    fig = overlaid(latent_view(latent_of()), latent_view(latent_of(slope=0.6)))
    assert "one, beside two" in alt_text(fig)
    table = figure_data(fig)
    assert {"one", "two", "identity", "truth", "true class"} <= set(table["trace"])
    assert {"low", "high", "low 2 sd", "high 2 sd"} <= set(table.columns)


def trace_of(values, name: str = "GPcalib", converged: bool = True, style=STYLE) -> ObjectiveTrace:
    return ObjectiveTrace(name, np.asarray(values, dtype=float), converged, style)


@pytest.mark.parametrize("length", [0, 1, 2, 5000])
def test_objective_traces_of_any_length(length: int) -> None:
    values = -1000 / np.arange(1.0, length + 1)
    fig = objective_traces([trace_of(values)])
    assert len(fig.data[0].x) <= min(length, 500)
    assert len(fig.data[0].x) > 0.8 * min(length, 500) or not length
    if length:
        table = figure_data(fig)
        assert table["iteration"].iloc[-1] == length - 1
        assert table["objective"].iloc[-1] == pytest.approx(values[-1], rel=1e-5)
        assert words(fig)[0] in alt_text(fig)


def test_an_objective_that_failed_is_drawn_as_far_as_it_goes() -> None:
    fig = objective_traces([trace_of([-10.0, -5.0, np.nan], converged=False)])
    assert "stopped unconverged at −5.0 nats" in alt_text(fig)
    assert (fig.data[1].x[0], fig.data[1].marker.symbol) == (1, "x")


def test_several_fits_are_named_and_all_in_the_picture() -> None:
    fig = objective_traces([trace_of([-300, -200.0], "one"), trace_of([-99, -90.0], "two", style=STYLES[1])])
    assert words(fig) == ["one", "two"]
    low, high = fig.layout.yaxis.range
    assert low < -200
    assert high > -90
    assert "one converged at −200.0 nats after 1 iterations; two converged" in alt_text(fig)


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


def test_the_probe_is_marked_where_it_lies() -> None:
    fig = effect_chart([("GPcalib", effect_of("logit"), STYLES[0])], TEMPERATURE, probe=0.9)
    assert [shape.x0 for shape in fig.layout.shapes] == pytest.approx([np.log(9)])


@pytest.mark.parametrize("n", [1, 2])
def test_few_bins_show_as_markers(n: int) -> None:
    fig = effect_chart([("GPcalib", effect_of(n=n), STYLES[0])], TEMPERATURE)
    assert "markers" in named(fig)["GPcalib"].mode
    assert "1 bin of" in alt_text(fig) if n == 1 else "2 bins of" in alt_text(fig)


def test_the_numbers_go_home() -> None:
    table = figure_data(effect_chart([("GPcalib", effect_of(), STYLES[0])], TEMPERATURE))
    assert {"before", "after", "sd", "low", "high", "accuracy", "rows"} <= set(table.columns)
