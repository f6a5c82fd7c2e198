"""Act or not: a threshold on the probability of the event, what follows from it, and another event rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from calib.decisions.cuts import Basis, EventDecision, Goal, event_decision
from calib.decisions.outcomes import Change, Costs, Outcome
from calib.decisions.prior_shift import cut_at_rate
from calib.decisions.rules import EventCut
from calib.errors import CalibrationError
from calib.formatting import NO_BREAK, number, percent, plural, round_percent
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import weighted_mean
from calib.metrics.decision_curve import NetBenefit, net_benefit
from calib.numerics import Floats, sigmoid
from calib.plots.decisions import decision_curves
from calib.ui import widgets
from calib.ui.compare.recommendation import choose_method
from calib.ui.decide import threshold
from calib.ui.decide.threshold import assumed_number, is_assumed
from calib.ui.export import offer_decision
from calib.ui.fits import ShownFit, ready_of, with_raw
from calib.ui.session import OpenSession
from calib.ui.text import interval_cell, literal, percents
from calib.ui.widgets import segments

BASES: dict[Basis, str] = {
    "costs": "Costs",
    "threshold": "Threshold",
    "capacity": "Capacity",
    "recall": "Recall",
    "precision": "Precision",
}
ASKED: dict[Basis, tuple[str, str, float]] = {
    "capacity": (
        "Cases you can act on, in % of all", "50 of 1,000 cases a week are 5\u00a0%. The cases with the highest "
        "probabilities are taken.", 5.0),
    "recall": ("Share of the events to act on, in %", "The highest threshold that acts on this share of events.", 80.0),
    "precision": ("Share of events among the cases acted on, in %", "The lowest threshold that reaches it.", 50.0),
}  # fmt: skip
THRESHOLDS = 60
"""Of a decision curve."""
ALL_THRESHOLDS = sigmoid(np.linspace(-6.9, 6.9, 121))
"""Thresholds from .1 % to 99.9 % among which the page looks for those at which a model is of use."""
MISS = "decide/miss"


def draw(session: OpenSession, fits: list[ShownFit]) -> None:
    """A threshold on the probability of the event: the figure leads, four numbers follow."""
    head = st.container()
    figure, controls = st.columns(threshold.COLUMNS, gap="medium")
    with controls:
        fit = choose_method(fits, "decide", style="list")
        curve = _net_benefit(fit, ALL_THRESHOLDS)
        try:
            goal = choose_goal(curve.event_rate.value)
            with st.grid(2, min_column_width=threshold.NUMBER, gap="small"):
                goal = replace(goal, today=todays_threshold())
                decision = decision_of(fit, fits[0], goal)
                threshold.typed("decide", decision.cut.value, "Act at or above, in %")
        except (
            CalibrationError
        ) as error:  # costs without a threshold, or none that reaches what was asked for
            head.warning(str(error), icon=":material/warning:")
            return
        if decision.drawn != decision.tied:
            st.caption(
                f"{plural(decision.tied, 'test row')} have exactly this probability, and {decision.drawn:,} of them, "
                f"drawn at random, fill the capacity. The threshold alone acts on all {decision.tied:,}."
            )
    has_calibrator = fit.key != fits[0].key
    with head:
        title = fit.title if has_calibrator else "The raw model"
        show_decision(title, session.view.event_name, decision, curve.useful_range)
    with figure:
        useful = curve.useful_range
        threshold.picture(fit, fit.evaluation, "decide", decision.cut.value, "act", useful)
    threshold.tiles(facts(decision, has_calibrator))
    offer_decision(session, fit, "act", rule(session, decision))
    table = partial(numbers, decision, has_calibrator)
    widgets.folded(
        "Beside the raw model and today's threshold, with intervals", "decide/beside", table
    )
    drawn = partial(benefit, fits, fit, decision.cut.value)
    widgets.folded("Net benefit over all thresholds", "decide/benefit", drawn)
    if fit.calibrator.gives_probabilities:
        another = partial(at_another_rate, session, fit, goal.costs)
        widgets.folded("Another event rate", "decide/another rate", another)


def choose_goal(event_rate: float) -> Goal:
    """Let the visitor say what is known, and so what decides.

    A miss is first worth the odds against the event: at that threshold acting on all is as good as acting on none.
    """
    basis = segments("What is known", BASES, "costs", "decide/basis", wrap=True)
    value = threshold.last_threshold("decide", 0.1)
    if basis in ASKED:
        label, reading, begin = ASKED[basis]
        value = assumed_number(label, begin, f"decide/{basis}", 0.01, 99.99, reading) / 100
    rate = float(np.clip(event_rate, 1e-4, 1 - 1e-4))
    miss = assumed_number(
        "False alarms that one miss is worth",
        float(f"{(1 - rate) / rate:.2g}"),
        MISS,
        0.01,
        reading="What a missed event costs, if acting on a case without it costs 1.",
    )
    return Goal(basis, value, Costs(1.0, miss))


def todays_threshold() -> float | None:
    """Return the threshold in use on the model's own output, where the visitor gives one."""
    today = st.number_input(
        "Today's threshold, in %",
        0.01,
        99.99,
        None,
        1.0,
        key="decide/today",
        persist_state="session",
        format="%g",
        placeholder="none",
        help="On your model's own output, as it is used now.",
    )
    return None if today is None else today / 100


def decision_of(fit: ShownFit, raw: ShownFit, goal: Goal) -> EventDecision:
    """The threshold of one method, judged on the test rows by a worker."""
    evaluation = fit.evaluation
    predicted, observed = evaluation.pair
    rows = (
        predicted,
        raw.evaluation.pair[0],
        observed,
        goal,
        evaluation.weights,
        evaluation.clusters,
    )
    return ready_of(fit, "the result of the threshold", event_decision, *rows, about=goal)


def show_decision(
    title: str, event: str, decision: EventDecision, useful: tuple[float, float] | None
) -> None:
    """The thresholds at which the method is of use; the one that decides, what it leads to, and what it saves."""
    st.header(of_use(title, useful), anchor=False)
    outcome = decision.outcome
    share = percent(decision.cut.value)
    width = "" if decision.cut.low == decision.cut.high else f" ({percents(decision.cut)})"
    of = f" of {literal(event)}" if event else ""
    hits = outcome.true_positives.value
    events = outcome.true_positives.value + outcome.misses.value
    st.markdown(
        f"**Act at or above a probability{of} of {share}**{width}: of 1,000 cases **{outcome.acted.value:,.0f}** are "
        f"acted on, {hits:,.0f} of the {events:,.0f} events among them. {_saving(decision)}"
    )
    if decision.goal.basis == "costs" and is_assumed(MISS):
        st.caption(
            f"Assumed until you set it: a miss is worth {decision.goal.costs.miss:g} false alarms, so that acting on "
            "all and acting on none cost the same."
        )
    if decision.too_few:
        st.warning(decision.too_few, icon=":material/warning:")


def of_use(title: str, useful: tuple[float, float] | None) -> str:
    """Return the range of thresholds at which a method has more net benefit than acting on all and on none."""
    if useful is None:
        return f"{title} is at no threshold significantly better than acting on all and on none."
    low, high = (100 * end for end in useful)
    return f"{title} is of use at thresholds from {low:.2g}{NO_BREAK}% to {high:.2g}{NO_BREAK}%."


def _saving(decision: EventDecision) -> str:
    today = decision.goal.today
    same = _same(decision)
    if decision.from_today is not None and today is not None:
        old = f"today's threshold of {percent(today)} on the uncalibrated probability"
        if not decision.from_today.changed.value:
            return f"{old[0].upper()}{old[1:]} acts on the same cases."
        return f"Against {old} that {worth(decision.from_today.saved, decision.goal)}."
    if not decision.from_same.changed.value:
        side = "below" if decision.acting_on_all else "above"
        return f"That is acting on {same}: the threshold lies {side} every probability, and the model decides nothing."
    return f"Against acting on {same} that {worth(decision.from_same.saved, decision.goal)}."


def _same(decision: EventDecision) -> str:
    return "all" if decision.acting_on_all else "none"


def facts(decision: EventDecision, has_calibrator: bool) -> list[tuple[str, str, str]]:
    """Rows acted on, events found, and what is saved in false alarms, each with its interval."""
    outcome, acted = decision.outcome, decision.outcome.acted
    fewest = f"{acted.low:,.0f}"
    most = f"{acted.high:,.0f}"
    ends = "" if fewest == most else f"{fewest} to {most}; "

    def alarms(change: Change) -> tuple[str, str]:
        value, low, high = (_count(1000.0 * part) for part in change.saved)
        return (
            value,
            f"false alarms, {low} to {high}" if change.changed.value else "as no decision changes",
        )

    numbers = [
        (
            "Acted on, of 1,000",
            f"{acted.value:,.0f}",
            f"{ends}{outcome.true_positives.value:,.0f} with the event",
        ),
        ("Events found", percent(outcome.recall.value, 0), percents(outcome.recall, 0)),
        (f"Saved against acting on {_same(decision)}", *alarms(decision.from_same)),
    ]
    if decision.from_today:
        numbers.append(("Saved against today's threshold", *alarms(decision.from_today)))
    elif has_calibrator:
        numbers.append(("Saved against the raw model", *alarms(decision.from_raw)))
    return numbers


def _count(alarms: float) -> str:
    text = f"{alarms:,.0f}" if abs(alarms) >= 10 else f"{alarms:.1f}"
    return "0" if text in ("0.0", "-0.0") else text.replace("-", "−")


def on_costs(
    saved: Interval, scale: float = 1.0, write: Callable[[float], str] = number, unit: str = ""
) -> str:
    """Describe whether a new rule saves costs or adds to them, as the rest of "that ...", with positive numbers.

    Parameters
    ----------
    saved : cost by the old rule minus that by the new one, with its interval.
    scale : of how many cases costs are said.
    unit : behind the number, with a blank before it.
    """
    value, low, high = (scale * part for part in saved)
    if low <= 0.0 <= high:
        if value == 0.0:
            return f"neither saves nor adds costs ({write(low)} to {write(high)})"
        word, near, far = ("saves", low, high) if value > 0 else ("adds", -high, -low)
        return (
            f"{word} {write(abs(value))}{unit}, which may be chance ({write(near)} to {write(far)})"
        )
    near, far = sorted((abs(low), abs(high)))
    word = "saves" if value > 0 else "adds"
    return f"**{word} {write(abs(value))}{unit}** ({write(near)} to {write(far)})"


def worth(saved: Interval, goal: Goal) -> str:
    """The same in false alarms among 1,000 cases, with how many of them a miss counts as."""
    return f"{on_costs(saved, 1000.0, _count, ' false alarms in 1,000 cases')}, a miss counted as {goal.costs.miss:g}"


def rule(session: OpenSession, decision: EventDecision) -> EventCut:
    """The threshold as files of a calibrator hold it."""
    column, goal = session.view.column, decision.goal
    costs = f"a miss is worth {goal.costs.miss:g} false alarms."
    chosen = (
        costs
        if goal.basis == "costs"
        else f"{BASES[goal.basis].lower()}: {round_percent(goal.value)}."
    )
    return EventCut(cut=decision.cut.value, column=1 if column is None else column, chosen=chosen)


def numbers(decision: EventDecision, has_calibrator: bool) -> None:
    """Show each rule's outcome per 1,000 cases in a table; what calibration changes, and which rows were used."""
    change = decision.from_raw
    if has_calibrator and change.changed.value:
        share = f"**{percent(change.changed.value)}** ({percents(change.changed)})"
        st.markdown(
            f"Calibration changes {share} of the decisions. That {worth(change.saved, decision.goal)}."
        )
    elif has_calibrator:
        st.markdown("Calibration changes **no decision**: both thresholds act on the same rows.")
    of_raw = "no threshold" if decision.cut_of_raw is None else percent(decision.cut_of_raw.value)
    rules = (
        {f"calibrated, {percent(decision.cut.value)}": decision.outcome} if has_calibrator else {}
    )
    rules[f"uncalibrated, {of_raw}"] = decision.raw
    if decision.today is not None and decision.goal.today is not None:
        rules[f"today: uncalibrated, {percent(decision.goal.today)}"] = decision.today
    rows: dict[str, Callable[[Outcome], str]] = {
        "acted on": lambda outcome: _counts(outcome.acted),
        "events found": lambda outcome: _counts(outcome.true_positives),
        "events missed": lambda outcome: _counts(outcome.misses),
        "false alarms": lambda outcome: _counts(outcome.false_positives),
        "recall": lambda outcome: _share(outcome.recall),
        "precision": lambda outcome: _share(outcome.precision),
        "cost of a case": lambda outcome: interval_cell(outcome.cost),
    }
    threshold.rules_table("of 1,000 cases", rows, rules)
    origin = (
        f"The threshold was chosen on {decision.n_decision:,} other test rows. "
        if decision.n_decision
        else ""
    )
    cut = decision.recalibrated
    at = (
        ""
        if cut is None
        else (
            f" By logistic recalibration, this threshold is an uncalibrated probability of {percent(cut.value)} "
            f"[{percents(cut)}]."
        )
    )
    events = f"{plural(decision.n_judgement, 'test row')}, {decision.n_events:,} with the event"
    st.caption(f"{origin}Judged on {events}. Brackets are 95\u00a0% intervals.{at}")


def _counts(interval: Interval) -> str:
    value, low, high = (f"{part:,.0f}" for part in interval)
    return value if low == high else f"{value} [{low}, {high}]"


def _share(interval: Interval) -> str:
    ends = "" if np.isnan(interval.value) else f" [{percents(interval, 0)}]"
    return percent(interval.value) + ends


def benefit(fits: list[ShownFit], fit: ShownFit, cut: float) -> None:
    """The decision curve of one method beside the raw model: of use above acting on all and on none."""
    drawn = with_raw(fits, fit)
    top = min(0.99, max(0.1, 3.0 * cut, 2.0 * float(fit.evaluation.pair[1].mean())))
    thresholds = np.linspace(top / THRESHOLDS, top, THRESHOLDS)
    curves = [(other.title, _net_benefit(other, thresholds), other.style) for other in drawn]
    widgets.show_cached(
        ("decision curve", fit.key, cut, top),
        partial(decision_curves, curves, cut),
        "decision-curve",
        "Net benefit is the share of events acted on minus the weighted share of false alarms. At a threshold t a "
        "false alarm weighs t / (1 − t) (Vickers and Elkin 2006). Where a line is above 0 and above the dotted line, "
        "acting by the model is better than acting on none and on all. The band is the 95\u00a0% interval of "
        f"{fit.title}.",
    )


def _net_benefit(fit: ShownFit, thresholds: Floats) -> NetBenefit:
    evaluation = fit.evaluation
    rows = *evaluation.pair, thresholds, evaluation.weights, evaluation.clusters
    return ready_of(fit, "the decision curve", net_benefit, *rows, about=float(thresholds[-1]))


def at_another_rate(session: OpenSession, fit: ShownFit, costs: Costs) -> None:
    """The new rate, and the threshold of least expected cost at it."""
    name = literal(session.view.event_name)
    column = session.view.column or 0
    part = session.calibration
    old = weighted_mean(part.labels == column, part.confirmed_weights)
    entered = st.number_input(
        f"New rate of {name}, in %",
        0.001,
        99.999,
        None,
        1.0,
        key="rate/event",
        persist_state="session",
        width=330,
        format="%g",
        placeholder=f"{100 * old:.3g} on the calibration rows",
    )
    if entered is None:
        st.markdown(f"The rate of {name} is **{percent(old)}** on the calibration rows.")
        return
    new = entered / 100
    try:
        cut = cut_at_rate(costs.cut, old, new)
    except CalibrationError as error:
        st.warning(str(error), icon=":material/warning:")
        return
    st.markdown(
        f"At a rate of **{percent(new)}** act where {fit.title} gives at least **{percent(cut)}**. "
        f"It was fitted at a rate of {percent(old)}. At the new rate such a case has a probability of "
        f"{percent(costs.cut)}, the threshold of these costs."
    )
    st.caption(
        "It is assumed that the rate alone changed, and that cases with the event and without it look as before "
        "(Saerens et al. 2002)."
    )
    chosen = f"a miss is worth {costs.miss:g} false alarms, at a rate of {percent(new)}."
    offer_decision(session, fit, "rate", EventCut(cut=cut, column=column, chosen=chosen))
