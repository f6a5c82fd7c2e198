"""Cost matrix: what each class costs where the truth is another one, and the action of the least expected cost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from calib.decisions.class_costs import ClassDecision
from calib.decisions.rules import HAND_OVER, HANDED_OVER, CostMatrix
from calib.diagnostics.judged_decisions import CostsBeside, costs_beside_raw
from calib.errors import CalibrationError
from calib.formatting import class_in_words, number, percent, plural, safe_cell, with_interval
from calib.metrics.bootstrap import Interval
from calib.numerics import Floats
from calib.ui import widgets
from calib.ui.decide import threshold
from calib.ui.decide.act import on_costs
from calib.ui.export.view import offer_decision
from calib.ui.fits import RAW, ShownFit, ready, rows_to_predict
from calib.ui.session import OpenSession
from calib.ui.text import literal, percents
from calib.ui.widgets import show_table

MOST_IN_MATRIX = 20
"""Classes up to which each cost has a cell; of more, the visitor lists the errors that do not cost 1."""
EDITOR = "decide/cost matrix"
MOST_MOVED = 10
OF_ROWS = "on 1,000 rows"
CELL = 78
"""Pixels of a column of costs."""


def draw(session: OpenSession, fits: list[ShownFit]) -> None:
    """The matrix, and what the actions of least expected cost lead to."""
    able = [fit for fit in fits if fit.calibrator.gives_probabilities]
    said = st.container()
    fit = threshold.method(able)
    try:
        rule = asked(session)
    except CalibrationError as error:
        said.warning(str(error), icon=":material/warning:")
        return
    found = decision_of(session, fits[0], fit, rule)
    names = session.data.class_names
    with said:
        words(fit, found, is_zero_one(rule))
    numbers(fits[0], fit, found)
    if len(found.moved):
        drawn = partial(moved, names, found)
        widgets.folded("Which decisions change?", "decide/moved", drawn)
    offer_decision(session, fit, "class costs", rule)


def asked(session: OpenSession) -> CostMatrix:
    """Let the visitor enter what each action costs.

    Raises
    ------
    CalibrationError
        Naming the cell that holds no number.
    """
    names = _names(session)
    table = _matrix(names) if len(names) <= MOST_IN_MATRIX else _exceptions(names)
    over = st.number_input(
        "Cost of handing a row over", None, None, None, 1.0, key="decide/cost of handing over",
        persist_state="session", width=230, format="%g", placeholder="never handed over",
        help="A row is handed over where even the cheapest action is expected to cost more than this.",
    )  # fmt: skip
    costs = _costs_in(table, names)
    if swapped := unlikely(costs, names):
        st.caption(f":material/info: {swapped}")
    return _rule(costs, over)


def _names(session: OpenSession) -> list[str]:
    """The classes as the table calls them, in which no name is a formula."""
    return [str(safe_cell(class_in_words(name))) for name in session.data.class_names]


def _rule(costs: Floats, over: float | None) -> CostMatrix:
    chosen = f"a matrix of {len(costs):,} by {costs.shape[1]:,} costs, from {costs.min():g} to {costs.max():g}."
    return CostMatrix(costs=costs, hand_over=over, chosen=chosen)


def _matrix(names: list[str]) -> pd.DataFrame:
    """A cell for each true class and each class acted on."""
    k = len(names)
    st.markdown("**What it costs to act on a class** (across) where the true class is another one (down)")
    begin = pd.DataFrame(1.0 - np.eye(k), columns=[str(column) for column in range(k)])
    begin.insert(0, "true", names)
    titles = {
        str(column): st.column_config.NumberColumn(name, format="%g", width=CELL, required=True)
        for column, name in enumerate(names)
    }
    known = st.column_config.TextColumn("true class", pinned=True, disabled=True)
    table = widgets.edited(begin, EDITOR, column_config={"true": known, **titles}, num_rows="fixed")
    widgets.sideways()
    return table


def _exceptions(names: list[str]) -> pd.DataFrame:
    """A row for each error that does not cost 1."""
    st.markdown(f"**Errors that do not cost 1**; of {plural(len(names), 'class', 'classes')} all others do")
    texts = {name: pd.Series(dtype=object) for name in ("true", "acted on")}
    begin = pd.DataFrame({**texts, "cost": pd.Series(dtype=float)})
    titles = {
        "true": st.column_config.SelectboxColumn("true class", options=names, required=True),
        "acted on": st.column_config.SelectboxColumn("acted on as", options=names, required=True),
        "cost": st.column_config.NumberColumn("cost", format="%g", required=True),
    }
    return widgets.edited(begin, EDITOR, column_config=titles, num_rows="dynamic")


def _costs_in(table: pd.DataFrame, names: list[str]) -> Floats:
    """The costs of either table, all of which are numbers.

    Raises
    ------
    CalibrationError
        Naming the first cell without one.
    """
    if "acted on" in table:
        costs, place = 1.0 - np.eye(len(names)), {name: number for number, name in enumerate(names)}
        for true, acted, cost in table[["true", "acted on", "cost"]].itertuples(index=False):
            if true in place and acted in place:
                costs[place[true], place[acted]] = np.nan if cost is None else float(cost)
    else:
        costs = table.drop(columns="true").to_numpy(dtype=float, na_value=np.nan)
    empty = np.argwhere(~np.isfinite(costs))
    if len(empty):
        true, acted = (names[place] for place in empty[0])
        raise CalibrationError(
            f"{plural(len(empty), 'cost is', 'costs are')} not a number, the first where the true class is "
            f"{literal(true)} and {literal(acted)} is acted on. Enter a number there."
        )
    return costs


def unlikely(costs: Floats, names: list[str]) -> str:
    """Classes for which acting on another one costs less than acting on them, in a sentence; "" where none is."""
    k = len(names)
    right = np.diagonal(costs)
    others = np.where(np.eye(k, dtype=bool), np.inf, costs)
    cheaper = np.flatnonzero(others.min(axis=1) < right)
    if not len(cheaper):
        return ""
    first = int(cheaper[0])
    other = int(np.argmin(others[first]))
    more = f", and so for {plural(len(cheaper) - 1, 'other class', 'other classes')}" if len(cheaper) > 1 else ""
    return (
        f"Where the true class is {literal(names[first])}, acting on {literal(names[other])} costs "
        f"{costs[first, other]:g}, less than the {right[first]:g} of acting on {literal(names[first])}{more}. If rows "
        "and columns were swapped, enter the costs the other way round."
    )


def is_zero_one(rule: CostMatrix) -> bool:
    """Whether all errors cost the same and right decisions nothing, so that the most probable class costs least."""
    off = rule.costs[~np.eye(len(rule.costs), dtype=bool)]
    return rule.hand_over is None and not np.diagonal(rule.costs).any() and bool((off == off[0]).all() and off[0] > 0)


def decision_of(session: OpenSession, raw: ShownFit, fit: ShownFit, rule: CostMatrix) -> CostsBeside:
    """The decisions of one method beside those of the raw model, judged on the test rows by a worker."""
    key = "class costs", fit.key, hashlib.sha256(rule.costs.tobytes()).hexdigest(), rule.hand_over
    data = rows_to_predict(session, fit.calibrator)
    what = f"the decisions of {fit.title}"
    return ready(key, what, costs_beside_raw, raw.calibrator, fit.calibrator, rule, data=data)


def words(fit: ShownFit, found: CostsBeside, zero_one: bool) -> None:
    """What the decisions cost beside those by the most probable class, and what calibration changes."""
    one = found.method
    if not one.changed.value:
        why = "all errors cost the same" if zero_one else "no row has another class that is expected to cost less"
        st.markdown(
            f"A **tie**: in every row the most probable class is also the action of least expected cost, as {why}. "
            f"With {fit.title}, 1,000 rows cost {thousand(one.cost)}."
            + (" Enter below what each error costs." if zero_one else "")
        )
    else:
        st.markdown(
            f"Acting by the least expected cost instead of the most probable class changes "
            f"**{percent(one.changed.value)}** ({percents(one.changed)}) of the decisions of {fit.title}. "
            f"{_compared(one)}"
        )
    if fit.key != RAW:
        st.markdown(_against_raw(found))


def _compared(one: ClassDecision) -> str:
    cost, plain, saved = (1000.0 * part.value for part in (one.cost, one.plain, one.saved))
    part = f", {percent(abs(saved) / plain, 0)}" if plain > 0 else ""
    return (
        f"Of 1,000 rows the cost is **{number(cost)}** instead of **{number(plain)}**. That "
        f"{on_costs(of_thousand(one.saved), OF_ROWS, part)}."
    )


def _against_raw(found: CostsBeside) -> str:
    raw = f"{number(1000.0 * found.raw.cost.value)} of the raw model"
    if not (found.method.actions != found.raw.actions).any():
        return f"Calibration changes **no decision**: the costs are a tie with the {raw}."
    return f"Calibration {on_costs(of_thousand(found.saved), OF_ROWS)}, beside the {raw}."


def numbers(raw: ShownFit, fit: ShownFit, found: CostsBeside) -> None:
    """Each rule's cost, what it expects itself, and how many rows it changes."""
    both = [(raw, found.raw)] if raw.key != fit.key else []
    rows: dict[str, Callable[[ClassDecision], str]] = {
        "by the most probable class": lambda one: thousand(one.plain),
        "by the least expected cost": lambda one: thousand(one.cost),
        "cost that it expects": lambda one: number(1000.0 * one.expected),
        "rows changed": lambda one: f"{percent(one.changed.value)} [{percents(one.changed)}]",
        "rows handed over": lambda one: f"{percent(one.handed_over.value)} [{percents(one.handed_over)}]",
    }
    table = pd.DataFrame({"cost of 1,000 rows": list(rows)})
    for one, decision in [*both, (fit, found.method)]:
        table[one.title] = [write(decision) for write in rows.values()]
    show_table(table, "cost of 1,000 rows")
    n = len(found.method.actions)
    st.caption(
        f"Judged on {plural(n, 'test row')}. Brackets are 95\u00a0% intervals, and differences are paired by row. "
        "Where a cost is far above the one that the method expects, its probabilities are overconfident."
    )


def moved(names: tuple[str, ...], found: CostsBeside) -> None:
    """From which class to which action rows move, the most first."""
    called = [*map(class_in_words, names)]
    shown = found.moved[:MOST_MOVED].tolist()
    table = pd.DataFrame(
        {
            "most probable class": [called[first] for first, _, _ in shown],
            "action": [HANDED_OVER if action == HAND_OVER else called[action] for _, action, _ in shown],
            "rows": [rows for _, _, rows in shown],
        }
    )
    show_table(table, "most probable class")
    if len(found.moved) > MOST_MOVED:
        rest = int(found.moved[MOST_MOVED:, 2].sum())
        st.caption(f"{plural(len(found.moved) - MOST_MOVED, 'other pair')} with {plural(rest, 'row')} are left out.")


def of_thousand(interval: Interval) -> Interval:
    """A mean over rows as a sum over 1,000 rows."""
    return Interval(*(1000.0 * part for part in interval))


def thousand(interval: Interval) -> str:
    """A mean over rows as a number of 1,000 rows, with its interval."""
    return with_interval(of_thousand(interval))
