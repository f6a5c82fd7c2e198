"""Another base rate: known or estimated from rows without labels, and what it changes in the decision."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.decisions.judgement import LEVEL
from calib.decisions.outcomes import Costs
from calib.decisions.prior_shift import NewRate
from calib.decisions.rules import CostMatrix, EventCut
from calib.decisions.shifted_decision import ShiftedClasses, ShiftedDecision, cut_at_rate, decision_at_rate
from calib.diagnostics.judged_decisions import classes_shifted, rates_of_rows
from calib.engine import Data
from calib.errors import CalibrationError
from calib.formatting import class_in_words, number, percent, plural
from calib.numerics import Floats
from calib.ui import widgets
from calib.ui.compare.answer import choose_one
from calib.ui.decide import act, class_costs
from calib.ui.decide.act import on_costs
from calib.ui.export.view import offer_decision, uploaded_rows
from calib.ui.fits import ShownFit, ready, rows_to_predict
from calib.ui.session import OpenSession, current_session
from calib.ui.text import literal, percents
from calib.ui.widgets import segments, show_table

SOURCES = {"known": "Known", "rows": "From rows without labels"}
RATES = "rate/rates"
"""Rates of K classes as entered, in percent."""
MOST_CLASSES, FEW_CLASSES = 100, 20
RESAMPLES, FEWER = 400, 100
"""Of an estimate's interval: up to 20 classes, and up to 100."""
ROUNDING = 0.01
"""By which rates that were entered may miss 1; they are divided by their sum."""
ASSUMES = (
    "It is assumed that the rates alone changed, and that cases of each class look as before (Saerens et al. 2002)."
)


def draw(session: OpenSession, fits: list[ShownFit]) -> None:
    """The new rate, and the decision at it."""
    said = st.container()
    source = segments("The new base rate is", SOURCES, "known", "rate/source")
    able = [fit for fit in fits if fit.calibrator.gives_probabilities]
    fit = choose_one(able, "decide")
    try:
        found = None if source == "known" else estimated(session, fits[0])
        if session.view.is_event:
            _event(session, fit, source == "known", found, said)
        else:
            _classes(session, fit, source == "known", found, said)
    except CalibrationError as error:
        said.warning(str(error), icon=":material/warning:")


# -- where the rate comes from -------------------------------------------------------------------------


def estimated(session: OpenSession, raw: ShownFit) -> NewRate | None:
    """Rates of the rows of an upload, by a worker; None until there is one."""
    if session.data.n_classes > MOST_CLASSES:
        st.caption(f"Rates are estimated for up to {MOST_CLASSES} classes; enter known ones.")
        return None
    rows = uploaded_rows(session, raw, "rate", "New outputs of the same model; labels in the file are not used")
    if rows is None:
        return None
    part, few = session.calibration, session.data.n_classes <= FEW_CLASSES
    arrays: dict[str, Any] = {"logits": part.logits, "labels": part.labels}
    arrays |= {} if part.clusters is None else {"clusters": part.clusters}
    data, key = Data(f"{part.sha256} for rates", arrays), ("rate of rows", rows[1])
    given = rows[0].logits, session.view.column, RESAMPLES if few else FEWER
    return ready(key, "the base rate of the new rows", rates_of_rows, *given, data=data)


def words_of_rate(found: NewRate, names: list[str]) -> None:
    """The estimate with its interval, and a warning where the rows tell too little."""
    rows = plural(found.n_new, "new row")
    if len(found.rates) == 1:
        st.markdown(
            f"The rate of {names[0]} among {rows} is **{percent(found.rate.value)}** "
            f"({percents(found.rate)}), estimated from the outputs alone; among the "
            f"{found.n_calibration:,} calibration rows it is {percent(float(found.old_rates[0]))}."
        )
    else:
        moved = [k for k, rate in enumerate(found.rates) if not rate.low <= found.old_rates[k] <= rate.high]
        by_chance = number((1.0 - LEVEL) * len(names), 2)
        st.markdown(
            f"Of {len(names)} classes, **{len(moved)}** have an interval of the new rate that leaves out the old one, "
            f"estimated from the outputs of {rows}; {by_chance} would by chance."
        )
    if found.flat:
        st.warning(
            f"These rows say too little of the rate: their likelihood is flat, and tells as much as "
            f"{number(found.equivalent_labels, 2)} rows with labels would. Collect more rows, or label some.",
            icon=":material/warning:",
        )


# -- an event ------------------------------------------------------------------------------------------


def _event(session: OpenSession, fit: ShownFit, known: bool, found: NewRate | None, said: DeltaGenerator) -> None:
    name = literal(session.view.event_name)
    part = session.calibration
    old = float((part.labels == session.view.column).mean())
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        entered = None
        if known:
            entered = st.number_input(
                f"New base rate of {name}, in %", 0.001, 99.999, None, 1.0, key="rate/event", persist_state="session",
                width=330, format="%g", placeholder=f"{100 * old:.3g} on the calibration rows",
            )  # fmt: skip
        alarm, miss = act.costs_asked()
    costs = Costs(alarm, miss)
    if found is not None:
        with said:
            words_of_rate(found, [name])
    new = found.rate.value if found is not None else None if entered is None else entered / 100
    if new is None or not 0.0 < new < 1.0:
        said.markdown(_waiting(name, old, new, known))
        return
    shifted = shifted_of(fit, costs, old, new)
    with said:
        _event_words(name, fit, shifted, found, costs)
    before, after = percent(shifted.old_rate), percent(shifted.new_rate)
    act.outcome_table(
        [
            (f"now, {before} {name}", shifted.now),
            (f"same threshold, {after}", shifted.kept),
            (f"new threshold, {after}", shifted.moved),
        ]
    )
    st.caption(
        f"Test rows with and without the event, weighted to {after}, which counts as known. {ASSUMES} Brackets are "
        "95\u00a0% intervals."
    )
    chosen = f"a false alarm costs {alarm:g}, a miss {miss:g}, at a base rate of {percent(new)}."
    offer_decision(session, fit, "rate", EventCut(cut=shifted.cut, column=session.view.column or 0, chosen=chosen))


def _waiting(name: str, old: float, new: float | None, known: bool) -> str:
    if new is not None:
        return f"At a rate of {percent(new)} nothing is left to decide: {'all' if new else 'none'} of the rows have it."
    how = "Enter its new rate" if known else "Upload new outputs of the same model"
    return (
        f"The base rate of {name} is **{percent(old)}** on the calibration rows. {how} to see how the decision changes."
    )


def shifted_of(fit: ShownFit, costs: Costs, old: float, new: float) -> ShiftedDecision:
    """The decision of one method at the new rate, judged on the test rows by a worker."""
    one = fit.evaluation
    key = "shifted decision", fit.key, costs.false_alarm, costs.miss, new
    given = *one.pair, costs, old, new, one.weights, one.clusters
    return ready(key, "the decision at the new rate", decision_at_rate, *given)


def _event_words(name: str, fit: ShownFit, found: ShiftedDecision, rate: NewRate | None, costs: Costs) -> None:
    low_cut, high_cut = (_cut_of(found, costs, end) for end in (rate.rate.high, rate.rate.low)) if rate else ("", "")
    span = f" ({low_cut} to {high_cut} over the interval of the rate)" if rate else ""
    now, moved, kept = found.now.acted.value, found.moved.acted.value, found.kept.acted.value
    st.markdown(
        f"At a base rate of **{percent(found.new_rate)}** (now {percent(found.old_rate)}), act where {fit.title} says "
        f"at least **{percent(found.cut)}**{span}. It learned at the old rate: at the new rate of {name} such a case "
        f"has a probability of {percent(found.cut_before)}, the threshold that the costs ask for. Of 1,000 cases "
        f"**{moved:,.0f}** are acted on; with the old threshold it would be {kept:,.0f}, and at the old rate it is "
        f"{now:,.0f}."
    )
    change = found.change
    if not change.changed.value:
        st.markdown("That is a **tie**: both thresholds decide alike on every test row.")
        return
    same = found.kept.cost
    part = f", {percent(abs(change.saved.value) / same.value, 0)}" if same is not None and same.value > 0 else ""
    st.markdown(f"Against the old one, the new threshold {on_costs(change.saved, 'a case', part)}.")


def _cut_of(found: ShiftedDecision, costs: Costs, rate: float) -> str:
    return percent(cut_at_rate(costs, found.old_rate, float(np.clip(rate, 1e-6, 1.0 - 1e-6))))


# -- K classes -----------------------------------------------------------------------------------------


def _classes(session: OpenSession, fit: ShownFit, known: bool, found: NewRate | None, said: DeltaGenerator) -> None:
    names = [class_in_words(name) for name in session.data.class_names]
    old = np.bincount(session.calibration.labels, minlength=len(names)) / len(session.calibration)
    new = entered_rates(names, old) if known else None
    if found is not None:
        new = np.array([rate.value for rate in found.rates])
        with said:
            words_of_rate(found, names)
    if new is None:
        said.markdown("Upload new outputs of the same model, to estimate the rates of its classes and shift decisions.")
        return
    missing = np.flatnonzero(old == 0)
    if len(missing):
        raise CalibrationError(
            f"No calibration row has {literal(names[missing[0]])}, so that nothing is known of it at another rate."
        )
    rule = class_costs.rule_entered(session)
    shifted = classes_of(session, fit, rule, old, new)
    with said:
        _class_words(fit, shifted)
    if found is not None:
        widgets.folded("The estimated rate of each class", "rate/estimates", partial(_rates_table, names, found))
    _class_table(shifted)
    st.caption(
        f"Test rows, weighted to the new rates, which count as known. {ASSUMES} Costs are "
        f"{'1 for every error' if class_costs.is_zero_one(rule) else 'those entered under Cost matrix'}. Brackets are "
        "95\u00a0% intervals."
    )
    offer_decision(session, fit, "rates", shifted.rule)


def entered_rates(names: list[str], old: Floats) -> Floats:
    """Let the visitor enter rates of classes, in percent; the others share what is left as they do now.

    Raises
    ------
    CalibrationError
        Unless they are rates whose sum is 100, but for rounding, or less where some are left empty.
    """
    begin = pd.DataFrame({"class": names, "old": 100 * old, "new": np.full(len(names), np.nan)})
    if (left := current_session().picked.get(RATES)) is not None:
        left["old"] = begin["old"]  # of another split they are others
    titles = {
        "class": st.column_config.TextColumn("class", pinned=True, disabled=True),
        "old": st.column_config.NumberColumn("calibration rows, %", format="%.3g", disabled=True),
        "new": st.column_config.NumberColumn("new base rate, %", format="%.3g", min_value=0.0, max_value=100.0),
    }
    st.markdown("**New base rates.** Classes left empty share the rest as they do among the calibration rows.")
    looks: dict[str, Any] = {"num_rows": "fixed", "height": min(38 + 35 * len(names), 400), "placeholder": "the rest"}
    table = widgets.edited(begin, RATES, column_config=titles, **looks)
    return filled(table["new"].to_numpy(dtype=float, na_value=np.nan) / 100, old)


def filled(new: Floats, old: Floats) -> Floats:
    """Rates that sum to 1: those that were entered, and the others, NaN, in proportion to the old ones.

    Raises
    ------
    CalibrationError
        Unless the rates that were entered leave as much as the others need.
    """
    empty = np.isnan(new)
    total = float(new[~empty].sum())
    if total > 1.0 + ROUNDING or (not empty.any() and total < 1.0 - ROUNDING):
        raise CalibrationError(
            f"The new rates add up to {100 * total:.4g}\u00a0%, not to 100\u00a0%; change them, or leave some empty."
        )
    rates = np.where(empty, old, new)
    rest = float(old[empty].sum())
    rates[empty] *= max(0.0, 1.0 - total) / rest if rest else 0.0
    return rates / rates.sum()


def classes_of(session: OpenSession, fit: ShownFit, rule: CostMatrix, old: Floats, new: Floats) -> ShiftedClasses:
    """Decisions of one method at the new rates, judged on the test rows by a worker."""
    mark = hashlib.sha256(rule.costs.tobytes() + new.tobytes()).hexdigest()
    key, data = ("shifted classes", fit.key, mark, rule.hand_over), rows_to_predict(session, fit.calibrator)
    return ready(key, "decisions at the new rates", classes_shifted, fit.calibrator, rule, old, new, data=data)


def _class_words(fit: ShownFit, found: ShiftedClasses) -> None:
    if not found.changed.value:
        same = np.allclose(found.old_rates, found.new_rates, atol=5e-4)
        why = " These are the rates of the calibration rows: enter the new ones below." if same else ""
        st.markdown(f"A **tie**: at these rates no decision of {fit.title} changes.{why}")
        return
    kept, moved = found.kept.cost, found.moved.cost
    st.markdown(
        f"At the new rates **{percent(found.changed.value)}** ({percents(found.changed)}) of the decisions "
        f"of {fit.title} change. Of 1,000 rows the cost is **{number(1000 * moved.value)}**, and "
        f"**{number(1000 * kept.value)}** if the decisions stay: changing them "
        f"{on_costs(class_costs.of_thousand(found.saved), class_costs.OF_ROWS)}."
    )


def _class_table(found: ShiftedClasses) -> None:
    columns = {"now": found.now, "new rates, decisions as now": found.kept, "new rates, new decisions": found.moved}
    table = pd.DataFrame({"of 1,000 rows": ["cost", "cost that it expects"]})
    for title, one in columns.items():
        table[title] = [class_costs.thousand(one.cost), number(1000 * one.expected)]
    show_table(table, "of 1,000 rows")


def _rates_table(names: list[str], found: NewRate) -> None:
    show_table(
        pd.DataFrame(
            {
                "class": names,
                "calibration rows": [percent(float(rate)) for rate in found.old_rates],
                "new rows": [f"{percent(rate.value)} [{percents(rate)}]" for rate in found.rates],
            }
        ),
        "class",
    )
