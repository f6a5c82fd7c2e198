"""The threshold on the probabilities of the rows: one line, and every row faded or not."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.judged_decisions import threshold_counts
from calib.evaluation.view import EVENT
from calib.plots import alt_text
from calib.plots.decisions import dragged_to, threshold_chart
from calib.plots.style import Style


@pytest.mark.parametrize("scale", ["linear", "logit"])
@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.5, 1.0])
def test_bars_are_the_rows_and_those_below_the_line_are_pale(rng, scale, threshold) -> None:
    risk = np.r_[rng.beta(1, 5, 300), 0.0, 1.0]
    event = rng.random(302) < risk
    counts = threshold_counts(risk, event, threshold, scale)
    fig = threshold_chart(counts, Style("#0072b2"), EVENT, "act")
    (line,) = fig.layout.shapes
    assert line.x0 == line.x1 == counts.at and np.isfinite(line.x0)
    assert fig.layout.xaxis.range[0] < line.x0 < fig.layout.xaxis.range[1]
    for bars, rows in zip(fig.data, (event, ~event), strict=True):
        full = np.array([not color.startswith("rgba") for color in bars.marker.color])
        number = np.array([told[-1] for told in bars.customdata], dtype=float)
        assert number.sum() == rows.sum()
        assert number[full].sum() == (risk[rows] >= threshold).sum()
    assert f"act from {100 * threshold:.4g} %" in alt_text(fig)


def test_a_line_is_dragged_on_the_axis_of_the_figure() -> None:
    assert dragged_to(float(np.log(0.2 / 0.8)), "logit") == pytest.approx(0.2)
    assert dragged_to(0.3, "linear") == pytest.approx(0.3)
    assert (dragged_to(-40.0, "logit"), dragged_to(1.7, "linear")) == (1e-4, 1 - 1e-4)
