"""Opening of a decision with one threshold: its figure, the threshold to drag or to type, and four numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import pandas as pd
import streamlit as st

from calib.diagnostics.histograms import ThresholdCounts, threshold_counts
from calib.evaluation import Evaluation
from calib.plots.axes import crowded
from calib.plots.decisions import dragged_to, threshold_chart
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready
from calib.ui.session import current_session, keep

T = TypeVar("T")
COLUMNS = 5, 3
"""Widths of the figure and of its controls."""
TILE = 160
"""Pixels, of a tile at least."""
NUMBER = 140
"""Pixels of a number at least."""
GIVEN = "threshold"
"""The way to a threshold that was dragged or typed."""


def assumed_number(
    label: str, begin: float, key: str, low: float, high: float | None = None, reading: str = ""
) -> float:
    """Return a number that the threshold follows from; its label says "assumed" until the visitor sets it."""
    picked = current_session().picked

    def remember() -> None:
        picked[key] = st.session_state[key]

    value = float(picked.get(key, begin))
    st.number_input(
        label if key in picked else f"{label} (assumed)",
        low,
        high,
        widgets.drawn_with(key, value),
        1.0,
        key=key,
        on_change=remember,
        format="%g",
        help=reading or None,
    )
    return value


def is_assumed(key: str) -> bool:
    """Tell whether the visitor has left a number of :func:`assumed_number` as it was."""
    return key not in current_session().picked


def last_threshold(page: str, begin: float) -> float:
    """The threshold that was dragged or typed last, a probability."""
    return float(current_session().picked.get(f"{page}/given", begin))


def give(page: str, threshold: float) -> None:
    """Take a threshold that was dragged or typed; from now on it decides."""
    current_session().picked[f"{page}/given"] = threshold
    st.session_state[f"{page}/basis"] = GIVEN


def typed(page: str, threshold: float, label: str) -> None:
    """A box that shows the threshold and takes another one.

    Parameters
    ----------
    page : begins the keys of its widgets, of which ``page/basis`` says where the threshold comes from.
    threshold : that decides now.
    """
    key = f"{page}/typed"

    def take() -> None:
        give(page, st.session_state[key] / 100)

    percent = float(f"{100 * min(max(threshold, 1e-4), 1 - 1e-4):.4g}")
    st.number_input(
        label,
        0.01,
        99.99,
        widgets.drawn_with(key, percent),
        1.0,
        key=key,
        on_change=take,
        format="%g",
        help="Or drag the line in the figure.",
    )


def picture(
    fit: ShownFit,
    evaluation: Evaluation,
    page: str,
    threshold: float,
    action: str,
    useful: tuple[float, float] | None = None,
) -> None:
    """The probabilities of the rows by outcome, with the threshold as a line to drag.

    Parameters
    ----------
    fit, evaluation : a method, and its evaluation in the view whose probability the threshold is of.
    page : as in :func:`typed`.
    action : what is done from the threshold on, such as "act".
    useful : ends of the thresholds at which the model is of use.
    """
    (predicted, outcome), view = evaluation.pair, evaluation.view
    scale = keep(
        ("crowded", view.name, fit.key), lambda: "logit" if crowded(predicted) else "linear"
    )
    key = "threshold counts", view.name, fit.key, threshold
    what = f"the rows on both sides of the threshold of {fit.title}"
    counts: ThresholdCounts = ready(
        key, what, threshold_counts, predicted, outcome, threshold, scale
    )
    fig = keep(
        ("threshold figure", *key[1:], action, useful),
        partial(threshold_chart, counts, fit.style, view, action, useful),
    )
    widgets.show(
        fig,
        f"{page}-threshold",
        f"{view.wording.explain_histogram()} Right of the line is where to {action}: drag it, or type the threshold. "
        "Where nothing is done the rows are pale.",
        on_drag=lambda place: give(page, dragged_to(place, scale)),
    )


def rules_table(title: str, rows: Mapping[str, Callable[[T], str]], rules: Mapping[str, T]) -> None:
    """Draw a row for each number and a column for each rule."""
    table = pd.DataFrame({title: list(rows)})
    for rule, outcome in rules.items():
        table[rule] = [write(outcome) for write in rows.values()]
    widgets.show_table(table, title)


def tiles(facts: Sequence[tuple[str, str, str]]) -> None:
    """A few numbers side by side: what, how much, and with which interval."""
    with st.grid(len(facts), min_column_width=TILE, gap="small"):
        for label, value, beneath in facts:
            st.metric(label, value, beneath, delta_color="off", delta_arrow="off", border=True)
