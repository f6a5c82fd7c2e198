"""Figures of the pages that compare: small diagrams, learning curves, groups and monitoring."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.diagnostics.reliability import confidence_histogram, reliability_curve
from calib.diagnostics.risk_coverage import answerable, risk_coverage
from calib.plots import alt_text, figure_data
from calib.plots.compare import entry_lines, size_curves
from calib.plots.reliability import confidence_drift
from calib.plots.reliability_frame import small_reliability
from calib.plots.risk import MAX_POINTS, answerable_chart, risk_diagram
from calib.plots.style import method_style


def sizes_table(last: float = 0.3) -> pd.DataFrame:
    rows = []
    for method, values in (
        ("identity", (0.5, 0.5, 0.5)),
        ("temperature", (0.4, 0.35, last)),
        ("vector", (9.0, 0.6, last)),
    ):
        for size, value in zip((100, 200, 400), values, strict=True):
            wide = np.inf if size == 100 and method == "vector" else value + 0.02
            rows.append(
                {"method": method, "title": method.title(), "size": size, "n_draws": 5, "score": "NLL", "value": value,
                 "low": value - 0.02, "high": wide}
            )  # fmt: skip
    return pd.DataFrame(rows)


def test_a_small_diagram_carries_its_curve(rng):
    confidence = rng.uniform(0.5, 1.0, 300)
    curve = reliability_curve(confidence, rng.random(300) < confidence, n_bins=6, binning="equal_mass")
    fig = small_reliability(
        curve, method_style("platt"), "A <b>name</b> that is far too long for it", "linear", (0, 1), 0.0123
    )
    table = figure_data(fig)
    assert table["accuracy"].to_numpy() == pytest.approx(curve.accuracy, rel=1e-5)
    assert table["count"].tolist() == curve.count.tolist()
    assert "&lt;b&gt;" in fig.layout.annotations[0].text
    assert "ECE 0.0123" in fig.layout.annotations[0].text
    assert "300 rows" in alt_text(fig)


def test_size_curves_show_what_can_be_compared_and_carry_the_rest():
    fig = size_curves(sizes_table(), "NLL")
    low, high = fig.layout.yaxis.range
    assert low < 0.28 and 0.52 < high < 1.0  # the vector scaling of 100 rows, at 9, leaves at the top
    assert figure_data(fig)["value"].max() == 9.0
    assert list(fig.layout.xaxis.tickvals) == [100, 200, 400]
    bands = [trace for trace in fig.data if trace.fill == "toself"]
    assert len(bands) == 2  # none around the raw model
    assert np.isfinite(np.array(bands[1].y, dtype=float)).all()
    assert "Vector 9.00 to 0.300" in alt_text(fig)


def test_size_curves_of_one_size():
    one = sizes_table()[sizes_table()["size"] == 400]
    fig = size_curves(one, "NLL")
    assert list(fig.layout.xaxis.tickvals) == [400]
    assert fig.layout.xaxis.range[0] < np.log10(400) < fig.layout.xaxis.range[1]


@pytest.mark.parametrize("n", [1, 3, 12])
def test_entries_are_drawn_in_their_order_with_intervals(n):
    rows = [
        {"entry": f"epoch {k}", "method": method, "title": method.title(), "score": "NLL", "value": 1 / (k + 1),
         "low": 0.9 / (k + 1), "high": 1.2 / (k + 1)}
        for k in range(n)
        for method in ("identity", "temperature")
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    fig = entry_lines(table, "NLL")
    assert list(fig.layout.xaxis.ticktext) == [f"epoch {k}" for k in range(n)]
    raw, scaled = fig.data
    assert list(raw.error_y.array) == pytest.approx([0.2 / (k + 1) for k in range(n)])
    assert (np.array(raw.x) < np.array(scaled.x)).all()  # side by side, not on top of each other
    assert np.round(np.array(raw.x, dtype=float)).tolist() == list(range(n))


def test_an_entry_without_a_method_leaves_a_gap_in_its_line_alone():
    table = pd.DataFrame(
        [
            {"entry": entry, "method": method, "title": method, "score": "NLL", "value": 1.0, "low": 0.9, "high": 1.1}
            for entry, method in (("a", "identity"), ("b", "identity"), ("b", "temperature"))
        ]
    )
    fig = entry_lines(table, "NLL")
    assert [len(trace.x) for trace in fig.data] == [2, 1]


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
