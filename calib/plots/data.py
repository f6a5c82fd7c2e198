"""The numbers behind a figure, as a table people can take away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

if TYPE_CHECKING:
    import pandas as pd


def figure_data(fig: go.Figure) -> pd.DataFrame:
    """Everything the figure's data traces show: columns ``trace``, ``x``, ``y`` and what hovering adds.

    Guides, shades and bands are layout and left out.
    """
    raise NotImplementedError
