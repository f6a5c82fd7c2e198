from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import expit

from calib.plots.data import figure_data
from calib.plots.latent import latent_function, objective_trace
from calib.plots.latent_view import latent_view, probability_view
from calib.plots.style import alt_text, method_style
from tests.plots.conftest import latent_of

STYLE, TEMPERATURE = method_style("gpcalib"), method_style("temperature")


def named(fig):
    return {trace.name: trace for trace in fig.data if trace.name}


def test_curves_and_bands_are_those_given() -> None:
    curve = latent_of(n_points=50)
    fig = latent_function(curve, STYLE, TEMPERATURE, truth=curve.inputs * 0.4)
    traces = named(fig)
    for name, values in (("identity", curve.identity), ("temperature", curve.temperature), ("GPcalib", curve.mean)):
        np.testing.assert_array_equal(traces[name].x, curve.inputs)
        np.testing.assert_array_equal(traces[name].y, values)
    np.testing.assert_allclose(traces["truth"].y, curve.inputs * 0.4)
    wide, narrow = fig.data[:2]
    np.testing.assert_allclose(wide.y[:50], curve.mean - 2 * curve.sd)
    np.testing.assert_allclose(narrow.y[50:], (curve.mean + curve.sd)[::-1])


def test_references_keep_their_dashes_and_colours() -> None:
    traces = named(latent_function(latent_of(), STYLE, TEMPERATURE))
    assert traces["identity"].line.dash == "dot"
    assert (traces["temperature"].line.dash, traces["temperature"].line.color) == ("dash", TEMPERATURE.color)
    assert traces["GPcalib"].line.color == STYLE.color


def test_without_temperature_and_truth_only_the_identity_is_beside() -> None:
    curve = dataclasses.replace(latent_of(), temperature=None)
    assert set(named(latent_function(curve, STYLE, TEMPERATURE))) == {
        "identity", "GPcalib", "inducing points", "true class", "other classes",
    }  # fmt: skip


def test_inducing_points_have_their_posterior_whiskers() -> None:
    curve = latent_of()
    points = named(latent_function(curve, STYLE, TEMPERATURE))["inducing points"]
    np.testing.assert_array_equal(points.y, curve.inducing_mean)
    np.testing.assert_array_equal(points.error_y.array, curve.inducing_sd)
    assert "diamond" in points.marker.symbol


def test_labels_do_not_cover_each_other() -> None:
    curve = dataclasses.replace(latent_of(), mean=latent_of().identity, temperature=latent_of().identity)
    fig = latent_function(curve, STYLE, TEMPERATURE, height=480)
    low, high = fig.layout.yaxis.range
    heights = sorted(note.y for note in fig.layout.annotations if note.yref == "y")
    pixels = np.diff(heights) / (high - low) * 0.73 * (480 - 82)
    assert len(heights) == 3
    assert pixels.min() >= 16 - 1e-6


@pytest.mark.parametrize("space", ["logits", "probs"])
def test_against_one_rival_the_identity_is_the_diagonal(space: str) -> None:
    view = probability_view(latent_of(space), None)
    # np.interp on a grid is exact for the straight line z, and close for ln p.
    np.testing.assert_allclose(view.references["identity"], view.x, atol=1e-9 if space == "logits" else 2e-3)


def test_against_one_rival_halved_logits_are_temperature_two() -> None:
    view = probability_view(latent_of(), None)
    log_odds = np.log(view.x) - np.log1p(-view.x)
    np.testing.assert_allclose(view.mean, expit(log_odds / 2), atol=1e-9)
    np.testing.assert_allclose(view.references["temperature"], expit(log_odds / 3), atol=1e-9)


def test_against_one_rival_a_shift_of_the_latents_changes_nothing() -> None:
    curve = latent_of()
    shifted = dataclasses.replace(curve, mean=curve.mean + 7)
    np.testing.assert_allclose(probability_view(shifted, None).mean, probability_view(curve, None).mean)


def test_against_one_rival_the_bands_are_nested_and_within_zero_and_one() -> None:
    view = probability_view(latent_of(), None)
    (low2, high2), (low1, high1) = view.bands
    assert np.all((low2 > 0) & (low2 < low1) & (low1 < view.mean) & (view.mean < high1) & (high1 < high2) & (high2 < 1))


def test_real_logits_are_taken_relative_to_the_usual_one_of_the_true_class() -> None:
    inputs = np.linspace(-10, 20, 301)
    edges = np.linspace(-10, 20, 31)
    curve = dataclasses.replace(
        latent_of(), inputs=inputs, mean=inputs / 2, identity=inputs, temperature=None, sd=np.full(301, 0.2),
        density_edges=edges, density_label=(edges[:-1] == 12).astype(float), density_other=np.ones(30),
    )  # fmt: skip
    view = probability_view(curve, None)
    np.testing.assert_allclose(view.references["identity"], view.x, atol=1e-9)
    assert view.label.sum() == pytest.approx(1)
    assert view.label[:30].sum() == 0


@pytest.mark.parametrize("view", [latent_view, probability_view])
def test_histograms_keep_their_totals(view) -> None:
    curve = latent_of()
    seen = view(curve, None)
    assert seen.label.sum() == pytest.approx(curve.density_label.sum())
    assert seen.other.sum() == pytest.approx(curve.density_other.sum())


def test_a_title_from_outside_is_escaped() -> None:
    fig = latent_function(dataclasses.replace(latent_of(), title="<b>mine"), STYLE, TEMPERATURE)
    assert any(note.text == "&lt;b&gt;mine" for note in fig.layout.annotations)


@pytest.mark.parametrize("length", [0, 1, 2, 5000])
def test_objective_traces_of_any_length(length: int) -> None:
    trace = -1000 / np.arange(1.0, length + 1)
    fig = objective_trace(trace, STYLE)
    assert len(fig.data[0].x) == min(length, 1000)
    if length:
        table = figure_data(fig)
        assert table["iteration"].iloc[[0, -1]].tolist() == [1, length]
        assert table["objective"].iloc[-1] == pytest.approx(trace[-1], rel=1e-5)
        assert fig.layout.annotations[0].text in alt_text(fig)


def test_an_objective_that_failed_is_drawn_as_far_as_it_goes() -> None:
    fig = objective_trace(np.array([-10.0, -5.0, np.nan]), STYLE)
    assert "−5.0 nats" in alt_text(fig)
