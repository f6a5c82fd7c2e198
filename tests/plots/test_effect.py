from __future__ import annotations

import numpy as np
import pytest

from calib.plots.data import figure_data
from calib.plots.latent_effect import effect_chart
from calib.plots.style import alt_text
from tests.plots.latent_figures import STYLES, TEMPERATURE, effect_of, without


def named(fig):
    return {trace.name: trace for trace in fig.data if trace.name}


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


def test_a_curve_laid_over_others_is_the_curve_alone() -> None:
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
