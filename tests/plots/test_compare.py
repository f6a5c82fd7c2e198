"""Figures of the pages that compare: differences, small diagrams, learning curves and answers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from calib.evaluation import SCORES
from calib.evaluation.comparison_table import Difference
from calib.metrics.bootstrap import Interval
from calib.plots import alt_text, figure_data
from calib.plots.compare import size_curves
from calib.plots.overview import (
    ROW_PIXELS,
    difference_strip,
)
from calib.plots.style import method_style, text_color
from calib.registry import METHODS


def test_size_curves_show_what_can_be_compared_and_carry_the_rest():
    values = {
        "identity": (0.5, 0.5, 0.5),
        "temperature": (0.4, 0.35, 0.3),
        "vector": (9.0, 0.6, 0.3),
    }
    table = pd.DataFrame(
        {"method": method, "title": method.title(), "size": size, "n_splits": 5, "score": "NLL", "score_title": "NLL",
         "value": value, "low": value - 0.02, "high": np.inf if value == 9.0 else value + 0.02}
        for method, found in values.items()
        for size, value in zip((100, 200, 400), found, strict=True)
    )  # fmt: skip
    fig = size_curves(table, "NLL")
    low, high = 10 ** np.array(fig.layout.yaxis.range)
    assert (
        low < 0.28 and high > 9
    )  # on a logarithmic axis, since the vector scaling of 100 rows has 9
    assert figure_data(fig)["value"].max() == 9.0
    assert list(fig.layout.xaxis.ticktext) == ["100", "200", "400"]
    bands = [trace for trace in fig.data if trace.fill == "toself"]
    assert len(bands) == 2  # none around the raw model
    assert np.isfinite(np.array(bands[1].y, dtype=float)).all()
    assert "Vector 9.00 to 0.300" in alt_text(fig)


RAW, TEMPERATURE = method_style("identity"), method_style("temperature")


def strip_row(name: str, value: float, half: float = 0.004, word: str = "better") -> Difference:
    difference = Interval(value, value - half, value + half)
    return Difference(name, METHODS[name].title, 0.8 + value, difference, word, math.nan, 0.001)


REFERENCE = Difference(
    "identity", "Uncalibrated", 0.8, Interval(0.0, 0.0, 0.0), "reference", math.nan, 0.001
)
STYLES = {name: method_style(name) for name in METHODS}


def clicked(fig):
    """Number carried by each invisible square, with its place."""
    squares = fig.data[-1]
    return [(k, x, y) for (k,), x, y in zip(squares.customdata, squares.x, squares.y, strict=True)]


def test_a_strip_shows_difference_interval_number_and_word_of_each_row():
    better = [strip_row("gpcalib", -0.0226), strip_row("temperature", -0.0066)]
    rows = [*better, REFERENCE, strip_row("bbq", 0.02, word="worse")]
    fig = difference_strip(rows, STYLES, SCORES["NLL"])
    table = figure_data(fig)
    assert table["difference"].tolist() == [-0.0226, -0.0066, 0, 0.02]
    assert table["shows"].tolist() == ["better", "better", "reference", "worse"]
    low, middle, high = fig.data[0].x
    assert (low, middle, high) == pytest.approx((-0.0266, -0.0226, -0.0186))
    assert list(fig.layout.xaxis.tickvals) == pytest.approx([-0.02, 0, 0.02])
    names, numbers, words, _ = fig.data[-5:-1]
    assert text_color(method_style("gpcalib").color) in names.text[0] and "GPcalib" in names.text[0]
    assert "−0.0226" in numbers.text[0] and "better" in words.text[0]
    assert "0.0000" in numbers.text[2] and "reference" in words.text[2]
    shaded = fig.layout.shapes[0]
    assert (shaded.x0, shaded.x1) == (-0.001, 0.001)
    assert {k for k, _, y in clicked(fig) if y == 1} == {1}
    assert (
        fig.data[-1].marker.size < ROW_PIXELS
    )  # where squares of two rows overlap, a click may take either
    assert "2 better, 1 reference, 1 worse" in alt_text(fig)
    assert len(alt_text(fig)) < 400


def test_a_method_far_worse_does_not_squeeze_the_others_and_a_better_one_is_always_on_the_axis():
    rows = [
        strip_row("gpcalib", -0.02),
        strip_row("temperature", -0.01),
        REFERENCE,
        strip_row("bbq", 3.0),
    ]
    fig = difference_strip(rows, STYLES, SCORES["NLL"])
    low, high = fig.layout.xaxis.range
    assert high - low < 0.3
    bbq = fig.data[3]
    assert bbq.marker.symbol.endswith("-open")
    assert max(bbq.x) <= high
    assert figure_data(fig)["difference"].max() == 3.0
    assert "+3.0000" in fig.data[-4].text[3]
    rows = [
        strip_row("gpcalib", -3.0),
        strip_row("temperature", -0.01),
        REFERENCE,
        strip_row("bbq", 0.02),
    ]
    fig = difference_strip(rows, STYLES, SCORES["NLL"])
    assert fig.layout.xaxis.range[0] < -3
    assert not any(trace.marker.symbol.endswith("-open") for trace in fig.data[:4])
