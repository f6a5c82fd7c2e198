"""The figures of the pages Risk and groups, and Still calibrated?."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.histogram import confidence_histogram
from calib.diagnostics.risk_coverage import answerable, risk_coverage
from calib.plots import alt_text, figure_data
from calib.plots.risk import MAX_POINTS, answerable_chart, risk_diagram
from calib.plots.shift import confidence_drift
from calib.plots.style import method_style

RAW, TEMPERATURE = method_style("identity"), method_style("temperature")


def pair(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    confidence = generator.uniform(0.5, 1.0, n)
    return confidence, generator.random(n) < confidence


def line(fig, name: str):
    return next(trace for trace in fig.data if trace.name == name)


def test_the_lines_are_the_curves_and_end_at_all_inputs() -> None:
    curves = [risk_coverage(*pair(300, seed)) for seed in (0, 1)]
    fig = risk_diagram([("raw", curves[0], RAW), ("cooled", curves[1], TEMPERATURE)], 0.1)
    for name, curve in zip(("raw", "cooled"), curves, strict=True):
        drawn = line(fig, name)
        np.testing.assert_allclose(drawn.x, curve.coverage)
        np.testing.assert_allclose(drawn.y, curve.risk)
        assert drawn.x[-1] == 1.0
    assert line(fig, "cooled").line.color == TEMPERATURE.color
    assert "raw" in alt_text(fig)
    table = figure_data(fig)
    assert {"coverage", "error", "threshold", "low", "high"} <= set(table.columns)


def test_symbols_stand_where_the_accepted_error_is_last_met() -> None:
    curve = risk_coverage(*pair(500))
    fig = risk_diagram([("raw", curve, RAW)], 0.1)
    (mark,) = [trace for trace in fig.data if trace.mode == "markers"]
    assert mark.x[0] == answerable(curve, 0.1).coverage.value
    none = risk_coverage(np.array([0.9, 0.8]), np.array([False, False]))
    assert not [t for t in risk_diagram([("raw", none, RAW)], 0.1).data if t.mode == "markers"]


def test_the_best_order_is_drawn_of_the_method_with_the_band() -> None:
    curve = risk_coverage(*pair(400))
    fig = risk_diagram([("raw", curve, RAW)], 0.02)
    best = line(fig, "best possible order")
    assert best.y[-1] == pytest.approx(curve.risk[-1])
    assert min(best.y) == 0
    band = next(trace for trace in fig.data if trace.fill == "toself")
    assert len(band.x) == len(band.y)
    assert max(band.y) <= 1
    top = fig.layout.yaxis.range[1]
    assert top >= curve.risk[-1]


def test_a_million_rows_are_a_few_hundred_points() -> None:
    fig = risk_diagram([("raw", risk_coverage(*pair(1_000_000)), RAW)], 0.02)
    assert max(len(trace.x) for trace in fig.data if trace.name == "raw") <= MAX_POINTS
    assert line(fig, "raw").x[-1] == 1.0


def test_shares_have_their_intervals() -> None:
    found = [answerable(risk_coverage(*pair(400, seed)), 0.1) for seed in (0, 1)]
    fig = answerable_chart([("raw", found[0], RAW), ("<b>cooled", found[1], TEMPERATURE)], 0.1)
    for place, (trace, one) in enumerate(zip(fig.data, found, strict=True)):
        share, low, high = one.coverage
        assert (trace.x[0], trace.y[0]) == (share, place)
        assert trace.x[0] + trace.error_x.array[0] == pytest.approx(high)
        assert trace.x[0] - trace.error_x.arrayminus[0] == pytest.approx(low)
    assert "<b>" not in fig.layout.yaxis.ticktext[1]
    assert "10 % is accepted" in alt_text(fig)


def test_nothing_answerable_is_drawn_at_zero() -> None:
    found = answerable(risk_coverage(np.array([0.9, 0.8]), np.array([False, False])), 0.1)
    fig = answerable_chart([("raw", found, RAW)], 0.1)
    assert fig.data[0].x == (0.0,)


def test_drift_mirrors_before_below_now() -> None:
    before, now = pair(400)[0], np.clip(pair(300, 1)[0] + 0.1, 0, 0.999)
    right = [np.ones(len(part), dtype=bool) for part in (before, now)]
    histograms = [
        confidence_histogram(part, good, scale="logit") for part, good in zip((before, now), right, strict=True)
    ]
    fig = confidence_drift(*histograms, TEMPERATURE)
    upper, lower = line(fig, "now"), line(fig, "before")
    assert min(upper.y) >= 0 >= max(lower.y)
    shares = figure_data(fig).groupby("trace")["share"].sum()
    assert shares["now"] == pytest.approx(1, abs=1e-4)
    assert shares["before"] == pytest.approx(1, abs=1e-4)
    assert "moved up" in alt_text(fig)
    assert max(abs(np.array(upper.y)).max(), abs(np.array(lower.y)).max()) == pytest.approx(1)
