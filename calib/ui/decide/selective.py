"""Predict or abstain: a threshold of the confidence, and the share predicted and the error above it."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import pandas as pd
import streamlit as st

from calib.base import groups_for
from calib.decisions.judgement import AnswerScores
from calib.decisions.rules import AnswerAbove
from calib.diagnostics.risk_coverage import (
    RiskCoverage,
    answerable,
    answered_above,
    certified,
    risk_coverage,
    usual_error,
)
from calib.engine import Data
from calib.evaluation.view import TOP_LABEL
from calib.formatting import percent, round_percent, with_interval
from calib.metrics.bootstrap import Interval
from calib.plots.decisions import risk_diagram
from calib.ui import widgets
from calib.ui.compare.recommendation import choose_method
from calib.ui.decide import threshold
from calib.ui.decide.act import on_costs
from calib.ui.decide.threshold import assumed_number, is_assumed
from calib.ui.export import offer_decision
from calib.ui.fits import ShownFit, intervals_of, ready_of, rows_to_predict, with_raw
from calib.ui.session import OpenSession
from calib.ui.text import percents, rows_count_once
from calib.ui.widgets import segments, show_table

ACCEPTED = "risk/accepted"
Basis = Literal["error", "costs", "threshold"]
BASES: dict[Basis, str] = {"error": "Accepted error", "costs": "Costs", "threshold": "Threshold"}


def draw(session: OpenSession, fits: list[ShownFit]) -> None:
    """A threshold of the confidence: the figure leads, four numbers follow."""
    head = st.container()
    figure, controls = st.columns(threshold.COLUMNS, gap="medium")
    with controls:
        fit = choose_method(fits, "decide", style="list")
        basis = segments("What is known", BASES, "error", "answers/basis", wrap=True)
        accepted = usual_error(curve_of(fits[0]))
        costs = None
        if basis == "error":
            accepted = (
                assumed_number("Error you accept, in %", 100.0 * accepted, ACCEPTED, 0.0, 100.0)
                / 100
            )
            rule = _within(fit, accepted)
        elif basis == "costs":
            error = assumed_number("Cost of an error", 20.0, "answers/error", 0.01)
            costs = error, assumed_number("Cost of an abstention", 1.0, "answers/abstain", 0.01)
            rule = AnswerAbove.from_costs(*costs)
        else:
            rule = AnswerAbove(threshold=threshold.last_threshold("answers", 0.9), chosen="given.")
        threshold.typed("answers", rule.threshold, "Predict at or above, in %")
    rows = rows_to_predict(session, fit.calibrator)
    about = rule.threshold, costs
    what = "predictions above the threshold"
    scores: AnswerScores = ready_of(
        fit, what, answered_above, fit.calibrator, *about, about=about, data=rows
    )
    with head:
        most = f"the **{round_percent(accepted)} error** that you accept"
        most += " (assumed)" * is_assumed(ACCEPTED)
        larger = f" No larger share has at most {most}."
        if scores.coverage.value == 1:
            larger = f" All together stay within {most}."
        if not scores.n_answered or scores.error.value > accepted + 1e-9:
            larger = f" No threshold stays within {most}."
        st.markdown(above(fit.title, rule.threshold, scores, costs) + larger * (basis == "error"))
    evaluation = fit.evaluation.seen(TOP_LABEL) if fit.evaluation.view.is_event else fit.evaluation
    with figure:
        threshold.picture(fit, evaluation, "answers", rule.threshold, "predict")
    threshold.tiles(facts(fit, scores))
    offer_decision(session, fit, "answers", rule)
    curves = partial(methods, fits, fit, accepted)
    widgets.folded("Error against the share predicted, of every method", "decide/numbers", curves)
    promised = partial(guarantee, session, fit, accepted)
    widgets.folded(
        "A threshold whose error is bounded on new rows too", "decide/guarantee", promised
    )


def _within(fit: ShownFit, accepted: float) -> AnswerAbove:
    """The lowest threshold with no more than the accepted error on the test rows."""
    lowest = answerable(curve_of(fit), accepted).threshold
    cut = 1.0 if math.isnan(lowest) else min(1.0, lowest)  # sums of probabilities may be 1 + 1e-16
    return AnswerAbove(
        threshold=cut, chosen=f"{round_percent(accepted)} error among the answers on the test rows."
    )


def curve_of(fit: ShownFit) -> RiskCoverage:
    """Risk against coverage of one method on the test rows."""
    evaluation = fit.evaluation
    compute = partial(risk_coverage, clusters=evaluation.clusters, weights=evaluation.weights)
    return ready_of(
        fit, "the risk-coverage curve", compute, evaluation.confidence, evaluation.correct
    )


def above(title: str, cut: float, scores: AnswerScores, costs: tuple[float, float] | None) -> str:
    """Describe the share predicted above a threshold, its error, and what that saves."""
    if not scores.n_answered:
        return f"No confidence of {title} reaches **{_digits(cut)}**: the model abstains from every input."
    lead = (
        f"Predict where the confidence of {title} is at least **{_digits(cut)}**: **{percent(scores.coverage.value)} "
        f"of inputs**, with **{percent(scores.error.value)} error** ({percents(scores.error)})."
    )
    if (
        costs is None
        or scores.cost is None
        or scores.saved is None
        or scores.cost_answering is None
    ):
        return lead
    return (
        f"{lead} An input costs {with_interval(scores.cost)}; predicting all costs "
        f"{with_interval(scores.cost_answering)}. Abstaining {on_costs(scores.saved, unit=' an input')}."
    )


def facts(fit: ShownFit, scores: AnswerScores) -> list[tuple[str, str, str]]:
    """Return four numbers: shares of predictions and abstentions, and the errors in both parts and in all."""
    accuracy = intervals_of(fit).get("accuracy")
    wrong = fit.evaluation.rows.mean(~fit.evaluation.correct)
    wrong_in_all = int((~fit.evaluation.correct).sum())
    over = scores.n - scores.n_answered
    every = (
        Interval(*(1.0 - accuracy[place] for place in (0, 2, 1))) if accuracy is not None else None
    )
    return [
        ("Predicted, of 1,000", *_of_thousand(scores.coverage)),
        ("Error of predictions", percent(scores.error.value), percents(scores.error)),
        (
            "Error without abstaining",
            percent(wrong),
            "" if every is None else percents(every),
        ),
        (
            "Abstentions, of 1,000",
            f"{1000 * (1.0 - scores.coverage.value):,.0f}",
            f"{wrong_in_all - scores.n_wrong:,} of {over:,} wrong",
        ),
    ]


def _of_thousand(share: Interval) -> tuple[str, str]:
    value, low, high = (f"{1000 * part:,.0f}" for part in share)
    return value, f"{low} to {high}"


def _digits(value: float) -> str:
    """A threshold with enough digits next to 100 % to be used: 99.98 % rather than 100.0 %."""
    return (
        percent(1.0, 0)
        if value >= 1
        else percent(value, max(1, -math.floor(math.log10(1 - value)) - 1))
    )


def methods(fits: list[ShownFit], closer: ShownFit, accepted: float) -> None:
    """The curves of the raw model and of one method, and what every method can answer."""
    drawn = with_raw(fits, closer)
    widgets.show_cached(
        ("risk figure", closer.key, accepted),
        partial(risk_diagram, [(fit.title, curve_of(fit), fit.style) for fit in drawn], accepted),
        "risk-coverage",
        "Risk-coverage curve: inputs are answered in the order of their confidence. The line is the error among "
        "those answered so far; at the right end all are answered. A lower line puts wrong predictions further back. "
        f"The band is the 95\u00a0% interval of {closer.title}; dots are the best possible order of its predictions. "
        "A symbol marks the last place within the error you accept. Maps that keep the order of the confidences "
        "cannot change the line.",
    )
    points = [(fit, answerable(curve_of(fit), accepted)) for fit in fits]
    show_table(
        pd.DataFrame(
            {
                "method": [fit.title for fit, _ in points],
                "predicted": [percent(point.coverage.value) for _, point in points],
                "95\u00a0% interval": [percents(point.coverage) for _, point in points],
                "threshold": [
                    "–" if math.isnan(point.threshold) else _digits(point.threshold)
                    for _, point in points
                ],
            }
        ),
        "method",
    )
    st.caption(
        f"The largest share of inputs with at most {round_percent(accepted)} error among them. A threshold is a "
        "confidence of the method itself, so each has its own."
    )


def guarantee(session: OpenSession, fit: ShownFit, accepted: float) -> None:
    """A threshold that holds on new rows with a stated confidence, whichever of many it is."""
    if not 0 < accepted < 1:
        st.caption("Accept an error above 0\u00a0% to look for a threshold.")
        return
    arrays = rows_to_predict(session, fit.calibrator)
    needed = {"logits": session.calibration.logits, "labels": session.calibration.labels}
    if (groups := groups_for(fit.calibrator, session.calibration)) is not None:
        needed["groups"] = groups
    data = Data(f"{arrays.key} calibration", {**arrays.arrays, **needed})
    what = "a certified threshold"
    about = fit.calibrator, accepted, 0.05
    result = ready_of(fit, what, certified, *about, about=accepted, data=data)
    st.markdown(f"{result.made.said()} {result.said()}")
    if result.found is not None:
        error, share = result.found.error, result.found.coverage
        st.markdown(
            f"On the rows that it was not chosen on, **{percent(share.value)}** ({percents(share)}) are answered, with "
            f"**{percent(error.value)} error** ({percents(error)})."
        )
        offer_decision(session, fit, "guarantee", result.made.rule, called="this bounded threshold")
    rows_count_once(session.test.confirmed_weights)
    st.caption(
        "The share above is the largest that looks safe on these rows; the search makes it look safer than it is. "
        "Here thresholds are tested from the strictest on until one fails (fixed-sequence testing). With 95\u00a0% "
        "confidence the error at the last that passes is at most the accepted one. Rows must be independent and come "
        "as the test rows do."
    )
