"""Methods by scores as a table of numbers, so that it sorts by them, shown with their intervals and marks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

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
    values = [
        [Shown(cell.value.value, cell.text(intervals=intervals, spread=spread)) for cell in row.cells.values()]
        for row in rows
    ]
    frame = pd.DataFrame(values, columns=columns, dtype=object)
    frame.insert(0, "method", [row.title for row in rows])
    return frame.style.format(shown_text, subset=list[Hashable](columns), na_rep="–")


def show_scores(styler: Styler) -> None:
    """Draw the table with the methods held at the left."""
    show_table(styler, "method", len(styler.columns), width="stretch", height="content", placeholder="–")


class Shown(float):
    """A number with the text that stands for it: equal numbers may have other intervals."""

    text: str

    def __new__(cls, value: float, text: str) -> Self:
        """The number."""
        number = super().__new__(cls, value)
        number.text = text
        return number


def shown_text(cell: Any) -> str:
    """What a cell shows that holds a :class:`Shown`."""
    return str(cell.text)
