"""Cost matrix: what each class costs where the truth is another one, and the action of the least expected cost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from calib.decisions.class_costs import ClassDecision
from calib.decisions.rules import CostMatrix
from calib.diagnostics.risk_coverage import CostsBeside, costs_against_raw
from calib.errors import CalibrationError
from calib.formatting import class_phrase, number, percent, plural, safe_cell, with_interval
from calib.metrics.bootstrap import Interval
from calib.numerics import Floats
from calib.ui import widgets
from calib.ui.compare.recommendation import choose_method
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
    head = st.container()
    fit = choose_method(able, "decide", style="list")
    try:
        rule = choose_costs(session)
    except CalibrationError as error:
        head.warning(str(error), icon=":material/warning:")
        return
    comparison = decision_of(session, fits[0], fit, rule)
    with head:
        show_costs(fit, comparison, is_equal_cost(rule))
    numbers(fits[0], fit, comparison)
    offer_decision(session, fit, "class costs", rule)


def choose_costs(session: OpenSession) -> CostMatrix:
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
    true_class = st.column_config.TextColumn("true class", pinned=True, disabled=True)
    table = widgets.edited(
        begin, EDITOR, column_config={"true": true_class, **titles}, num_rows="fixed"
    )
    costs = table.drop(columns="true").to_numpy(dtype=float, na_value=np.nan)
    empty = np.argwhere(~np.isfinite(costs))
    if len(empty):
        true, acted = (literal(names[place]) for place in empty[0])
        raise CalibrationError(
            f"{plural(len(empty), 'cost is', 'costs are')} not a number, the first where the true class is {true} and "
            f"{acted} is acted on. Enter a number there."
        )
    return costs


def is_equal_cost(rule: CostMatrix) -> bool:
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
    return ready_of(fit, "the decisions", costs_against_raw, *both, rule, about=matrix, data=data)


def show_costs(fit: ShownFit, comparison: CostsBeside, equal_costs: bool) -> None:
    """Describe the cost of the decisions beside those by the most probable class, and what calibration changes."""
    method = comparison.method
    cost, plain = (number(OF_ROWS * part.value) for part in (method.cost, method.plain))
    if not method.changed.value:
        why = (
            "all errors cost the same"
            if equal_costs
            else "no row has another class that is expected to cost less"
        )
        sentence = (
            f"A **tie**: in every row the most probable class is also the action of least expected cost, as {why}. "
            f"With {fit.title}, 1,000 rows cost {_with_ends(method.cost)}."
        ) + " Enter below what each error costs." * equal_costs
    else:
        sentence = (
            f"Acting by the least expected cost instead of the most probable class changes "
            f"**{percent(method.changed.value)}** ({percents(method.changed)}) of the decisions of {fit.title}. Of "
            f"1,000 rows the cost is **{cost}** instead of **{plain}**. "
            f"That {on_costs(method.saved, OF_ROWS, unit=' on 1,000 rows')}."
        )
    if fit.key != RAW:
        raw = f"{number(OF_ROWS * comparison.raw.cost.value)} of the raw model"
        if (method.actions != comparison.raw.actions).any():
            change = on_costs(comparison.saved, OF_ROWS, unit=" on 1,000 rows")
            sentence += f"\n\nCalibration {change}, beside the {raw}."
        else:
            sentence += (
                f"\n\nCalibration changes **no decision**: the costs are a tie with the {raw}."
            )
    st.markdown(sentence)


def numbers(raw: ShownFit, fit: ShownFit, comparison: CostsBeside) -> None:
    """Each rule's cost, what it expects itself, and how many rows it changes."""
    rules = {raw.title: comparison.raw, fit.title: comparison.method}
    rows: dict[str, Callable[[ClassDecision], str]] = {
        "by the most probable class": lambda decision: _with_ends(decision.plain),
        "by the least expected cost": lambda decision: _with_ends(decision.cost),
        "cost that it expects": lambda decision: number(OF_ROWS * decision.expected),
        "rows changed": lambda decision: (
            f"{percent(decision.changed.value)} [{percents(decision.changed)}]"
        ),
        "abstentions": lambda decision: (
            f"{percent(decision.handed_over.value)} [{percents(decision.handed_over)}]"
        ),
    }
    rules_table("cost of 1,000 rows", rows, rules)
    n = len(comparison.method.actions)
    st.caption(
        f"Judged on {plural(n, 'test row')}. Brackets are 95\u00a0% intervals, and differences are paired by row. "
        "Where a cost is far above the one that the method expects, its probabilities are overconfident."
    )


def _with_ends(interval: Interval) -> str:
    """A mean over rows as a number of 1,000 rows, with its interval."""
    return with_interval(tuple(OF_ROWS * part for part in interval))
