"""Scores over the number of calibration rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib.plots import alt_text, figure_data
from calib.plots.compare import size_curves


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
