"""The table of all scores, which sorts by them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, Self

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from calib.evaluation import SCORES
from calib.evaluation.comparison_table import (
    MARKS_SAID,
    first_scores,
    said_of_weights,
    score_rows,
)
from calib.evaluation.score_registry import EVENT_RATE, said_of_intervals
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import plural
from calib.ui import widgets
from calib.ui.compare.answer import comparison_table
from calib.ui.fits import ShownFit
from calib.ui.session import OpenSession, keep
from calib.ui.widgets import show_table

BEGIN = ("NLL", "Brier", "accuracy", "ECE")
# Over- and underconfidence give the sign of the gap, and the event rate is the same for all methods.
SHOWN = tuple(key for key in SCORES if key not in ("signed gap", EVENT_RATE))
_COLUMNS = {True: 5, False: 8}
"""Number of scores beside each other in a window of 1500 pixels, with their intervals and without; more go below."""


def all_scores(session: OpenSession, fits: list[ShownFit]) -> None:
    """Methods by scores: value, interval, and whether it differs from the raw model; the best is marked."""
    table = comparison_table(fits)
    view = fits[0].evaluation.view
    there = [key for key in SHOWN if key in set(table["score"])]
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    keys = left.pills(
        "Scores",
        there,
        selection_mode="multi",
        default=first_scores(table, BEGIN),
        key="compare/columns",
        persist_state="session",
        format_func=lambda key: SCORES[key].seen(view).title,
        wrap=True,
    )
    intervals = right.toggle(
        "Intervals", value=True, key="compare/intervals", persist_state="session"
    )
    chosen = [key for key in there if key in keys]
    most = _COLUMNS[intervals]
    for first in range(0, len(chosen), most):
        part = chosen[first : first + most]
        name = (
            "table",
            intervals,
            *part,
            *table[["method", "verdict"]].itertuples(index=False, name=None),
        )
        show_scores(keep(name, partial(styled_scores, table, part, intervals, view=view)))
    st.caption(
        f"A click on a score sorts by it. {MARKS_SAID}. 95\u00a0% intervals in brackets; a "
        "calibration error is biased upwards by noise, so its interval reaches further down than up. The marks stand "
        "on paired differences, with intervals that hold for all comparisons together. "
        f"{view.wording.over_under_title} are not good or bad in themselves."
    )
    if said := said_of_intervals(fits[0].evaluation.n_clusters):
        st.caption(said)
    if said := said_of_weights(session.test):
        st.caption(said)
    clipped = [
        f"{plural(fit.evaluation.n_clipped, 'row')} of {fit.title}"
        for fit in fits
        if fit.evaluation.n_clipped
    ]
    if clipped:
        st.caption(
            f"The NLL counts probabilities below 1e-15 as 1e-15, as the papers do: {', '.join(clipped)}."
        )
    widgets.csv("All scores as CSV", "compare/csv", "comparison.csv", lambda: table, of=(table,))


def styled_scores(
    table: pd.DataFrame,
    keys: Sequence[str],
    intervals: bool,
    spread: bool = False,
    view: View = TOP_LABEL,
) -> Styler:
    """One row per method and one column per score; cells hold numbers and show text.

    Parameters
    ----------
    table : tidy, as from :func:`calib.evaluation.compare.table_of` or
        :func:`calib.evaluation.studies.summarise_splits`.
    keys : scores to show.
    intervals : whether cells show the interval.
    spread : whether they show the standard deviation over splits.
    view : in whose words scores are named.
    """
    rows = score_rows(table, keys)
    columns = [SCORES[key].seen(view).title for key in keys]
    values = [
        [
            Shown(cell.value.value, cell.text(intervals=intervals, spread=spread))
            for cell in row.cells.values()
        ]
        for row in rows
    ]
    frame = pd.DataFrame(values, columns=columns, dtype=object)
    frame.insert(0, "method", [row.title for row in rows])
    return frame.style.format(shown_text, subset=list[Hashable](columns), na_rep="–")


def show_scores(styler: Styler) -> None:
    """Draw the table with the methods held at the left."""
    show_table(styler, "method", width="stretch", height="content", placeholder="–")


class Shown(float):
    """A number with the text that stands for it: equal numbers may have other intervals."""

    text: str

    def __new__(cls, value: float, text: str) -> Self:
        """The number."""
        number = super().__new__(cls, value)
        number.text = text
        return number


def shown_text(cell: Any) -> str:
    """Text of a cell that holds a :class:`Shown`."""
    return str(cell.text)
