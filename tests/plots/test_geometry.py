"""Figures of the page Geometry: success by separation and images, each number where it belongs."""

from __future__ import annotations

import numpy as np

from calib.diagnostics.reliability import sided_counts
from calib.diagnostics.separation import success_rates
from calib.plots.annotations import figure_data
from calib.plots.geometry import success_curve
from calib.plots.style import alt_text, method_style
from tests.plots.conftest import traces, words

GRID = np.linspace(-1, 2, 31)
STYLE = method_style("isotonic")


def test_success_rates_stand_at_their_separation_between_both_maps_over_the_rows(rng) -> None:
    separation = rng.normal(0.5, 0.5, size=300)
    right_rows = rng.random(300) < 1 / (1 + np.exp(-4 * separation))
    rates = success_rates(separation, right_rows, 7)
    lines = [("isotonic", STYLE, np.linspace(0, 1, 31)), ("sigmoid", STYLE, np.full(31, 0.5))]
    fig = success_curve(rates, sided_counts(separation, right_rows, 0.0), GRID, lines, "separation")
    (dots,) = traces(fig, "test rows")
    np.testing.assert_allclose(dots.x, rates.score)
    np.testing.assert_allclose(np.array(dots.y) + dots.error_y.array, rates.high)
    np.testing.assert_allclose(np.array(dots.y) - dots.error_y.arrayminus, rates.low)
    np.testing.assert_allclose(traces(fig, "isotonic")[0].y, np.linspace(0, 1, 31))
    assert {"isotonic", "sigmoid", "← dangerous", f"{(~right_rows).sum()} wrong"} <= set(words(fig))
    assert "300 test rows" in alt_text(fig) and "in 7 bins" in alt_text(fig)
    assert figure_data(fig)["rows"].sum() == 300
    (right,), (wrong,) = traces(fig, "right"), traces(fig, "wrong")
    assert (max(right.y), min(wrong.y)) == (1, -1)
    assert sum(point[2] for point in right.customdata) == right_rows.sum()
