"""Methods by scores as a table of numbers, so that it sorts by them, shown with their intervals and marks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
from pandas.io.formats.style import Styler

from calib.evaluation import SCORES
from calib.evaluation.score_table import score_rows
from calib.evaluation.view import TOP_LABEL, View
from calib.ui.widgets import show_table


def styled_scores(
    table: pd.DataFrame, keys: Sequence[str], intervals: bool, spread: bool = False, view: View = TOP_LABEL
) -> Styler:
    """One row per method and one column per score; cells hold numbers and show text.

    Parameters
    ----------
    table : tidy, as from :func:`calib.evaluation.compare.compare_evaluations` or
        :func:`calib.evaluation.repeated_splits.summarise_splits`.
    keys : scores to show.
    intervals : whether cells show the interval.
    spread : whether they show the standard deviation over splits.
    view : in whose words scores are named.
    """
    rows = score_rows(table, keys)
    columns = [SCORES[key].seen(view).title for key in keys]
    values = [[cell.value.value for cell in row.cells.values()] for row in rows]
    frame = pd.DataFrame(values, columns=columns, dtype=float)
    frame.insert(0, "method", [row.title for row in rows])
    styler = frame.style
    for place, row in enumerate(rows):
        for column, cell in zip(columns, row.cells.values(), strict=True):
            text = cell.text(intervals=intervals, spread=spread)
            # A cell at a time, since equal values may have other intervals.
            styler.format(partial(shown_text, text), subset=pd.IndexSlice[[place], [column]], na_rep="–")
    return styler


def show_scores(styler: Styler) -> None:
    """Draw the table with the methods held at the left."""
    show_table(styler, "method", len(styler.columns), width="stretch", height="content", placeholder="–")


def shown_text(text: str, value: object) -> str:
    """What a cell shows, whatever its value."""
    return text
