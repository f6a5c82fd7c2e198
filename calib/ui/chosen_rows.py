"""Test rows that were clicked in a figure: one choice for the session, listed and marked until it is cleared."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.gaps import gaps_by_group
from calib.formatting import plural, points, points_between
from calib.metrics.confidence import Bools
from calib.numerics import Floats, Ints
from calib.ui import widgets
from calib.ui.fits import ShownFit
from calib.ui.session import current_session, keep

CHOSEN = "rows"


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Chosen rows: their description in Markdown, their numbers among the test rows of a split, and themselves."""

    description: str
    places: Ints
    split: str
    table: pd.DataFrame


def chosen_rows() -> ChosenRows | None:
    """The rows of the present split that were chosen last, on whatever page."""
    session = current_session()
    rows: ChosenRows | None = session.picked.get(CHOSEN)
    return rows if rows is not None and rows.split == session.rows_key else None


def choose_rows(
    fit: ShownFit, what: str, selected: Bools, pair: tuple[Floats, Bools] | None = None
) -> None:
    """Choose rows for all pages, if there are any.

    Parameters
    ----------
    fit : the method by which they were chosen.
    what : they are, in Markdown, such as "site a".
    selected : (n,) whether a test row is one of them.
    pair : what is said of every row and what came true, if not those of the view.
    """
    session = current_session()
    view = fit.evaluation.view
    places = np.flatnonzero(selected)
    if not len(places):
        return
    (predicted, outcome), test, names = (
        pair or fit.evaluation.pair,
        session.test,
        np.array(session.test.class_names),
    )
    rows = fit.evaluation
    inside = selected.astype(np.int64)
    gaps = gaps_by_group(
        predicted, outcome, inside, 2, clusters=rows.clusters, weights=rows.weights
    )
    gap = f"{points(gaps.gap[1])} points (95\u00a0%: {points_between(gaps.gap_low[1], gaps.gap_high[1])})"
    means = view.wording.describe_means(gaps.confidence[1], gaps.accuracy[1])
    columns: dict[str, str] = {role.role: role.column for role in test.roles}
    metadata = {"cluster": test.clusters, "group": test.groups, "time": test.times}
    table = pd.DataFrame(
        {
            "row": session.test_numbers[places],
            "label": names[test.labels[places]],
            "predicted": names[fit.evaluation.predicted[places]],
            view.wording.predicted_label: predicted[places],
            view.wording.outcome_label: outcome[places],
            **{
                columns.get(role, role): of[places]
                for role, of in metadata.items()
                if of is not None
            },
        }
    )
    about = f"**{fit.title}, {what}**: {plural(len(places), 'row')}, {means}, gap {gap}."
    session.picked[CHOSEN] = ChosenRows(about, places, session.rows_key, table)


def clear() -> None:
    """Choose no rows any more."""
    current_session().picked.pop(CHOSEN, None)


def show_clickable(
    key: Hashable,
    draw: Callable[[], go.Figure],
    name: str,
    how_to_read: str,
    choose: Callable[[str, Any], None],
) -> None:
    """Show a figure whose marks stand for rows; see :func:`calib.ui.widgets.show_cached`.

    Parameters
    ----------
    choose : called with the name of the trace that was clicked, and the first number that its point carries.
    """
    fig = keep(key, draw)

    def clicked() -> None:
        for point in st.session_state[name]["selection"]["points"]:
            choose(fig.data[point["curve_number"]].name, point["customdata"][0])

    widgets.show(fig, name, how_to_read + " Click a mark for its rows.", on_select=clicked)


def list_rows() -> None:
    """The rows that are chosen, with the table's columns; nothing where there are none."""
    rows = chosen_rows()
    if rows is None:
        return
    st.markdown(rows.description)
    widgets.draw_table(rows.table, height=300)
    st.button("Clear the choice", key="rows/clear", icon=":material/close:", on_click=clear)
