"""Cost matrix: what each class costs where the truth is another one, and the action of the least expected cost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from calib.decisions.class_costs import ClassDecision
from calib.decisions.rules import CostMatrix
from calib.diagnostics.risk_coverage import CostsBeside, costs_beside_raw
from calib.errors import CalibrationError
from calib.formatting import class_phrase, number, percent, plural, safe_cell, with_interval
from calib.metrics.bootstrap import Interval
from calib.numerics import Floats
from calib.ui import widgets
from calib.ui.compare.answer import choose_one
from calib.ui.decide.act import on_costs
from calib.ui.decide.threshold import rules_table
from calib.ui.export import offer_decision
from calib.ui.fits import RAW, ShownFit, ready_of, rows_to_predict
from calib.ui.session import OpenSession
from calib.ui.text import literal, percents

MOST_CLASSES = 100
"""Classes up to which the page offers a matrix."""
EDITOR = "decide/cost matrix"
OF_ROWS = 1000.0
"""Costs are said of so many rows."""
CELL = 78
"""Pixels of a column of costs."""


def draw(session: OpenSession, fits: list[ShownFit]) -> None:
    """The matrix, and what the actions of least expected cost lead to."""
    able = [fit for fit in fits if fit.calibrator.gives_probabilities]
    said = st.container()
    fit = choose_one(able, "decide", style="list")
    try:
        rule = asked(session)
    except CalibrationError as error:
        said.warning(str(error), icon=":material/warning:")
        return
    found = decision_of(session, fits[0], fit, rule)
    with said:
        words(fit, found, is_zero_one(rule))
    numbers(fits[0], fit, found)
    offer_decision(session, fit, "class costs", rule)


def asked(session: OpenSession) -> CostMatrix:
    """Let the visitor enter what each action costs."""
    names = [
        str(safe_cell(class_phrase(name))) for name in session.data.class_names
    ]  # no formula of a spreadsheet
    costs = _matrix(names)
    over = st.number_input(
        "Cost of an abstention",
        None,
        None,
        None,
        1.0,
        key="decide/cost of abstaining",
        persist_state="session",
        width=230,
        format="%g",
        placeholder="never abstain",
        help="The model abstains where even the cheapest action is expected to cost more than this.",
    )
    chosen = f"a matrix of {len(costs):,} by {costs.shape[1]:,} costs, from {costs.min():g} to {costs.max():g}."
    return CostMatrix(costs=costs, abstain=over, chosen=chosen)


def _matrix(names: list[str]) -> Floats:
    """A cell for each true class and each class acted on."""
    k = len(names)
    st.markdown(
        "**What it costs to act on a class** (across) where the true class is another one (down)"
    )
    begin = pd.DataFrame(1.0 - np.eye(k), columns=[str(column) for column in range(k)])
    begin.insert(0, "true", names)
    titles = {
        str(column): st.column_config.NumberColumn(name, format="%g", width=CELL, required=True)
        for column, name in enumerate(names)
    }
    known = st.column_config.TextColumn("true class", pinned=True, disabled=True)
    table = widgets.edited(begin, EDITOR, column_config={"true": known, **titles}, num_rows="fixed")
    costs = table.drop(columns="true").to_numpy(dtype=float, na_value=np.nan)
    empty = np.argwhere(~np.isfinite(costs))
    if len(empty):
        true, acted = (literal(names[place]) for place in empty[0])
        raise CalibrationError(
            f"{plural(len(empty), 'cost is', 'costs are')} not a number, the first where the true class is {true} and "
            f"{acted} is acted on. Enter a number there."
        )
    return costs


def is_zero_one(rule: CostMatrix) -> bool:
    """Return whether all errors cost the same and right decisions nothing: the most probable class costs least."""
    off = rule.costs[~np.eye(len(rule.costs), dtype=bool)]
    return (
        rule.abstain is None
        and not np.diagonal(rule.costs).any()
        and bool((off == off[0]).all() and off[0] > 0)
    )


def decision_of(
    session: OpenSession, raw: ShownFit, fit: ShownFit, rule: CostMatrix
) -> CostsBeside:
    """The decisions of one method beside those of the raw model, judged on the test rows by a worker."""
    matrix = hashlib.sha256(rule.costs.tobytes()).hexdigest(), rule.abstain
    data = rows_to_predict(session, fit.calibrator)
    both = raw.calibrator, fit.calibrator
    return ready_of(fit, "the decisions", costs_beside_raw, *both, rule, about=matrix, data=data)


def words(fit: ShownFit, found: CostsBeside, zero_one: bool) -> None:
    """Describe the cost of the decisions beside those by the most probable class, and what calibration changes."""
    one = found.method
    cost, plain = (number(OF_ROWS * part.value) for part in (one.cost, one.plain))
    if not one.changed.value:
        why = (
            "all errors cost the same"
            if zero_one
            else "no row has another class that is expected to cost less"
        )
        said = (
            f"A **tie**: in every row the most probable class is also the action of least expected cost, as {why}. "
            f"With {fit.title}, 1,000 rows cost {_with_ends(one.cost)}."
        ) + " Enter below what each error costs." * zero_one
    else:
        said = (
            f"Acting by the least expected cost instead of the most probable class changes "
            f"**{percent(one.changed.value)}** ({percents(one.changed)}) of the decisions of {fit.title}. Of 1,000 "
            f"rows the cost is **{cost}** instead of **{plain}**. "
            f"That {on_costs(one.saved, OF_ROWS, unit=' on 1,000 rows')}."
        )
    if fit.key != RAW:
        raw = f"{number(OF_ROWS * found.raw.cost.value)} of the raw model"
        if (one.actions != found.raw.actions).any():
            said += f"\n\nCalibration {on_costs(found.saved, OF_ROWS, unit=' on 1,000 rows')}, beside the {raw}."
        else:
            said += f"\n\nCalibration changes **no decision**: the costs are a tie with the {raw}."
    st.markdown(said)


def numbers(raw: ShownFit, fit: ShownFit, found: CostsBeside) -> None:
    """Each rule's cost, what it expects itself, and how many rows it changes."""
    rules = {raw.title: found.raw, fit.title: found.method}
    rows: dict[str, Callable[[ClassDecision], str]] = {
        "by the most probable class": lambda one: _with_ends(one.plain),
        "by the least expected cost": lambda one: _with_ends(one.cost),
        "cost that it expects": lambda one: number(OF_ROWS * one.expected),
        "rows changed": lambda one: f"{percent(one.changed.value)} [{percents(one.changed)}]",
        "abstentions": lambda one: (
            f"{percent(one.handed_over.value)} [{percents(one.handed_over)}]"
        ),
    }
    rules_table("cost of 1,000 rows", rows, rules)
    n = len(found.method.actions)
    st.caption(
        f"Judged on {plural(n, 'test row')}. Brackets are 95\u00a0% intervals, and differences are paired by row. "
        "Where a cost is far above the one that the method expects, its probabilities are overconfident."
    )


def _with_ends(interval: Interval) -> str:
    """A mean over rows as a number of 1,000 rows, with its interval."""
    return with_interval(tuple(OF_ROWS * part for part in interval))
