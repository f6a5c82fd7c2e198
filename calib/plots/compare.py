"""Many methods on one score: a dot and an interval each, beside the raw model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

if TYPE_CHECKING:
    import pandas as pd


def score_dots(table: pd.DataFrame, score: str, title: str = "") -> go.Figure:
    """One row per method: its score, the interval, and the raw model's score as a vertical line.

    Parameters
    ----------
    table : tidy, with the columns method, title, score, value, low, high, difference, difference_low,
        difference_high and better; rows of other scores are left out.
    score : which score to draw.
    """
    raise NotImplementedError
