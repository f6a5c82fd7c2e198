"""The numbers behind a figure, for hover texts and tables.

Axes may be transformed and bands are polygons, so a trace's x and y are not what a reader wants to keep. Each trace
that shows data therefore carries its numbers in their natural units in ``customdata``, named in ``meta``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

if TYPE_CHECKING:
    import pandas as pd


def carry(**columns: Any) -> dict[str, Any]:
    """Arguments that make a trace carry named columns, in the order given (``_`` is read as a space).

    Numbers are rounded to six significant digits and sent as plain lists: typed arrays would come back from
    selection events as dictionaries.
    """
    names = [name.replace("_", " ") for name in columns]
    rows = [list(row) for row in zip(*(_short(values) for values in columns.values()), strict=True)]
    return {"customdata": rows, "meta": {"columns": names}}


def figure_data(fig: go.Figure) -> pd.DataFrame:
    """Everything the figure's data traces show, one row per point.

    Returns
    -------
    DataFrame with the column ``trace`` and one column per named quantity, empty where a trace has no such
    quantity. Guides, shades and bands are left out.
    """
    import pandas as pd

    rows = []
    for trace in fig.data:
        name, meta, carried = trace.name, trace.meta, trace.customdata  # plotly makes each of them when it is asked for
        if meta is not None and carried is not None:
            names = ["trace", *meta["columns"]]
            rows += [dict(zip(names, (name, *row), strict=True)) for row in carried]
    return pd.DataFrame(rows) if rows else pd.DataFrame({"trace": []})


def _short(values: Any) -> list[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return [float(f"{value:.6g}") if np.isfinite(value) else None for value in array]
    return array.tolist()
