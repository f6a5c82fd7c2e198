"""Small diagrams, size curves and lines through kept results."""

import numpy as np
import pandas as pd
import pytest

from calib.diagnostics.reliability import reliability_curve
from calib.plots import alt_text, figure_data
from calib.plots.entries import entry_lines
from calib.plots.size_curves import size_curves
from calib.plots.small_reliability import small_reliability
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
