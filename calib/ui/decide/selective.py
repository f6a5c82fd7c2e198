"""Answer or hand over: selective prediction at an accepted error."""

from __future__ import annotations

import math
from functools import partial

import pandas as pd
import streamlit as st

from calib.decisions.rules import AnswerAbove
from calib.diagnostics.judged_decisions import certified, priced
from calib.diagnostics.risk_coverage import (
    Answerable,
    OrderQuality,
    RiskCoverage,
    answerable,
    order_qualities,
    risk_coverage,
    usual_error,
)
from calib.engine import Data
from calib.evaluation.comparison_table import NEGLIGIBLE
from calib.formatting import listed, number, percent, plural, round_percent, signed, with_interval
from calib.plots.decisions import answerable_chart, risk_diagram
from calib.ui import widgets
from calib.ui.compare.answer import choose_one
from calib.ui.decide.act import on_costs
from calib.ui.export.view import offer_decision
from calib.ui.fits import ShownFit, ready, rows_to_predict
from calib.ui.session import OpenSession
from calib.ui.text import percents
from calib.ui.widgets import several, show_table

MOST_DRAWN = 5
ANSWER_COSTS = ("decide/error", "decide/hand over")
"""Keys of the costs of a wrong answer and of handing over, in Streamlit's session state."""
CURVES_PIXELS, ANSWERS_PIXELS = 590, 410
"""Both and the menu fill a window of 1500 pixels; in narrower ones they stand one above the other."""


def draw(session: OpenSession, fits: list[ShownFit]) -> None:
    """Selective prediction at an accepted error."""
    said = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        accepted = accepted_error(curve_of(fits[0]))
        closer = choose_one(fits, "decide")
    with said:
        words(closer, accepted)
    answers(fits, closer, accepted)
    table = partial(numbers, fits, accepted)
    widgets.folded("Every method in numbers, and which orders inputs best", "decide/numbers", table)
    promised = partial(guarantee, session, closer, accepted)
    widgets.folded("A threshold whose error is bounded on new rows too", "decide/guarantee", promised)
    priced = partial(costs, session, closer)
    widgets.folded("A threshold from what an error and handing over cost", "decide/costs", priced)


def curve_of(fit: ShownFit) -> RiskCoverage:
    """Risk against coverage of one method on the test rows."""
    one = fit.evaluation
    compute = partial(risk_coverage, clusters=one.clusters)
    return ready(("risk", fit.key), f"the risk-coverage curve of {fit.title}", compute, one.confidence, one.correct)


def accepted_error(raw: RiskCoverage) -> float:
    """Let the visitor say which share of wrong answers is acceptable; to begin with, one that the raw model allows."""
    begin = 100.0 * usual_error(raw)
    percent = st.number_input(
        "Error you accept among the inputs answered, in %", 0.0, 100.0, begin, 0.5, key="risk/accepted",
        persist_state="session", width=330, format="%g",
        help="Inputs whose confidence is too low are not answered: they go to a person, or to a better model.",
    )  # fmt: skip
    return percent / 100


def answers(fits: list[ShownFit], closer: ShownFit, accepted: float) -> None:
    """The curves, and what each method can answer."""
    drawn = _drawn(fits, closer)
    key = (*(fit.key for fit in drawn), accepted)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=CURVES_PIXELS if len(fits) > 1 else "stretch"):
            curves = [(fit.title, curve_of(fit), fit.style) for fit in drawn]
            widgets.show_kept(
                ("risk figure", *key),
                partial(risk_diagram, curves, accepted, title="Error among the answered"),
                "risk-coverage",
                "Risk-coverage curve: inputs are answered in the order of their confidence, which is the probability "
                "of the predicted class, and the line is the error among those answered so far, at the right end that "
                "of all. A lower line puts wrong predictions further back. The band is the 95\u00a0% interval of "
                f"{drawn[-1].title}; dots are the best possible order of its predictions. A symbol marks the last "
                "place within the error you accept. Maps that keep the order of the confidences cannot change the "
                "line.",
            )
        if len(fits) > 1:
            with st.container(width=ANSWERS_PIXELS):
                rows = [(fit.title, answerable(curve_of(fit), accepted), fit.style) for fit in fits]
                widgets.show_kept(
                    ("answerable", *(fit.key for fit in fits), accepted),
                    partial(answerable_chart, rows, accepted),
                    "answerable",
                    "The largest share of inputs with no more than the accepted error among them, with its 95\u00a0% "
                    "interval; the dotted line is the raw model.",
                )


def words(closer: ShownFit, accepted: float) -> None:
    """What can be answered at the accepted error."""
    st.markdown(finding(closer.title, curve_of(closer), answerable(curve_of(closer), accepted), accepted))


def numbers(fits: list[ShownFit], accepted: float) -> None:
    """Whether any method orders the inputs better than the raw model, and every method in numbers."""
    if len(fits) > 1:
        titles = [fit.title for fit in fits]
        st.markdown(how_orders_differ(list(zip(titles, orders(fits), strict=True))))
    show_table(_table(fits, {fit.key: answerable(curve_of(fit), accepted) for fit in fits}))
    st.caption(
        "AURC is the area under the risk-coverage curve: the mean error over all shares answered. E-AURC is AURC "
        "minus that of a perfect order of the same predictions; lower is better. A threshold is a confidence of "
        "the method itself, so each has its own."
    )


def orders(fits: list[ShownFit]) -> list[OrderQuality]:
    """Areas under the curves of all methods, the first of which is the raw model."""
    key, what = ("orders", *(fit.key for fit in fits)), f"the areas under {plural(len(fits), 'curve')}"
    return ready(key, what, order_qualities, [fit.evaluation for fit in fits])


def _drawn(fits: list[ShownFit], closer: ShownFit) -> list[ShownFit]:
    """The raw model, a few others of the visitor's choice, and last the method looked at closely."""
    rest = [fit for fit in fits[1:] if fit.key != closer.key]
    if rest:
        titles = {fit.key: fit.title for fit in rest}
        chosen = several(titles, "risk/beside", "Beside it", most=MOST_DRAWN - 2)
        rest = [fit for fit in rest if fit.key in chosen]
    return [*([fits[0]] if closer.key != fits[0].key else []), *rest, closer]


def _table(fits: list[ShownFit], answers_of: dict[str, Answerable]) -> pd.DataFrame:
    rows = []
    for fit, order in zip(fits, orders(fits), strict=True):
        share, low, high = answers_of[fit.key].coverage
        rows.append(
            {
                "method": fit.title,
                "answered": percent(share),
                "95\u00a0% interval": f"{100 * low:.1f} to {percent(high)}",
                "threshold": answers_of[fit.key].threshold,
                "AURC": order.aurc.value,
                "AURC, low": order.aurc.low,
                "AURC, high": order.aurc.high,
                "E-AURC": order.excess_aurc,
                "change of AURC": order.change.value if order.change else float("nan"),
                "change, low": order.change.low if order.change else float("nan"),
                "change, high": order.change.high if order.change else float("nan"),
            }
        )
    return pd.DataFrame(rows).round(6)


def finding(title: str, curve: RiskCoverage, answer: Answerable, accepted: float) -> str:
    """ "If you accept 2 % error, you can answer x % of inputs", with its interval and the threshold."""
    share, low, high = answer.coverage
    lead = f"If you accept **{round_percent(accepted)} error**, "
    if curve.risk[-1] <= accepted:
        rest = f"its error on all of them is {percent(float(curve.risk[-1]))}"
        sure = "" if low >= 1 else f"; the 95\u00a0% interval of the share reaches down to {percent(low)}"
        return f"{lead}{title} can answer **all inputs**: {rest}{sure}."
    if math.isnan(answer.threshold):
        reason = f"even among the {plural(int(curve.answered[0]), 'input')} of highest confidence the error is higher"
        upper = f"; with {plural(curve.n, 'row')} it could be up to {percent(high)}" if high > 0 else ""
        return f"{lead}{title} can answer **none of the inputs** on its own: {reason}{upper}."
    return (
        f"{lead}you can answer **{percent(share)} of inputs** with {title}: those whose confidence is at least "
        f"{_threshold(answer.threshold)}. With {plural(curve.n, 'test row')}, the 95\u00a0% interval of that share is "
        f"from {percent(low)} to {percent(high)}."
    )


def how_orders_differ(orders: list[tuple[str, OrderQuality]]) -> str:
    """Which methods order the inputs significantly better or worse than the raw model does."""
    (raw, _), *others = orders
    changes = [(title, order.change) for title, order in others if order.change is not None]
    better = [title for title, change in changes if change.high < -NEGLIGIBLE]
    worse = [title for title, change in changes if change.low > NEGLIGIBLE]
    same = [title for title, change in changes if max(abs(part) for part in change) <= NEGLIGIBLE]
    sentences = []
    if better:
        best, change = min((item for item in changes if item[0] in better), key=lambda item: item[1].value)
        sentences.append(
            f"{listed(better)} {'orders' if len(better) == 1 else 'order'} inputs better than {raw} (mean error over "
            f"all shares answered: {best} {_change(change.value)}, {_change(change.low)} to {_change(change.high)})."
        )
    if worse:
        sentences.append(
            f"{listed(worse)} {'orders' if len(worse) == 1 else 'order'} them worse, as binning does where it gives "
            "many inputs the same confidence."
        )
    if len(same) == len(changes):
        sentences.append(f"{listed(same)} {'keeps' if len(same) == 1 else 'keep'} the order of {raw} exactly.")
    elif not better and not worse:
        sentences.append(f"No method orders the inputs significantly better or worse than {raw}.")
    return " ".join(sentences)


def _threshold(value: float) -> str:
    """Enough digits next to 1 to be used: 0.9998 rather than 1.00."""
    return "1" if value >= 1 else f"{value:.{max(3, 2 - math.floor(math.log10(1 - value)))}f}"


def _change(value: float) -> str:
    return signed(value) if abs(value) >= 1e-4 else ("0" if value == 0 else f"{value:+.0e}".replace("e-0", "e-"))


def guarantee(session: OpenSession, fit: ShownFit, accepted: float) -> None:
    """A threshold that holds on new rows with a stated confidence, whichever of many it is."""
    delta = 0.05
    if not 0 < accepted < 1:
        st.caption("Accept an error above 0\u00a0% to look for a threshold.")
        return
    arrays = rows_to_predict(session, fit.calibrator)
    needed = {"logits": session.calibration.logits, "labels": session.calibration.labels}
    data = Data(f"{arrays.key} calibration", {**arrays.arrays, **needed})
    key = "certified", fit.key, accepted
    found = ready(key, "a certified threshold", certified, fit.calibrator, accepted, delta, data=data)
    st.markdown(f"{found.made.said()} {found.said()}")
    if found.found is not None:
        error, share = found.found.error, found.found.coverage
        st.markdown(
            f"On the rows that it was not chosen on, **{percent(share.value)}** ({percents(share)}) are answered, with "
            f"**{percent(error.value)} error** ({percents(error)})."
        )
        offer_decision(session, fit, "guarantee", found.made.rule)
    st.caption(
        "The share above is the largest that looks safe on these rows; the search makes it look safer than it is. "
        "Here thresholds are tested from the strictest on until one fails, and the error is at most the accepted "
        "one with 95\u00a0% confidence whichever threshold that ends at (fixed-sequence testing). Rows must be "
        "independent and come as the test rows do."
    )


def costs(session: OpenSession, fit: ShownFit) -> None:
    """The threshold that costs least, where an error and handing over have costs."""
    with st.container(horizontal=True, gap="medium"):
        error, over = (
            st.number_input(label, 0.01, None, begin, 1.0, key=key, persist_state="session", width=230, format="%g")
            for label, begin, key in zip(
                ("Cost of an error", "Cost of handing over"), (20.0, 1.0), ANSWER_COSTS, strict=True)
        )  # fmt: skip
    data, key = rows_to_predict(session, fit.calibrator), ("priced", fit.key, error, over)
    rule = AnswerAbove.from_costs(error, over)
    found = ready(key, "what a threshold costs", priced, fit.calibrator, error, over, data=data)
    if found.cost is None or found.cost_answering is None or found.saved is None:
        return
    if not found.n_answered:
        st.markdown(
            f"No confidence reaches **{_threshold(rule.threshold)}**, from which on an answer costs less than handing "
            f"over: every row is handed over, at {number(over)} instead of {with_interval(found.cost_answering)}."
        )
        return
    st.markdown(
        f"Answer where the confidence is at least **{_threshold(rule.threshold)}**: {percent(found.coverage.value)} of "
        f"rows, with {percent(found.error.value)} ({percents(found.error)}) error. A "
        f"row costs {with_interval(found.cost)}; answering all costs {with_interval(found.cost_answering)}. Handing "
        f"over {on_costs(found.saved, 'a row')}."
    )
    offer_decision(session, fit, "costs", rule)
    st.caption(
        "1 − cost of handing over / cost of an error (Chow 1970), which is the best threshold where confidence is "
        "calibrated. No row chose it; it is judged on all test rows."
    )
