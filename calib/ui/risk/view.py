"""The Risk and groups page's upper half: what can be answered if some error is accepted."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from calib.diagnostics.risk_coverage import (
    Answerable,
    OrderQuality,
    RiskCoverage,
    answerable,
    order_qualities,
    risk_coverage,
)
from calib.plots.risk import answerable_chart, risk_diagram
from calib.ui import figures
from calib.ui.fits import ShownFit
from calib.ui.narrow import sideways
from calib.ui.risk.text import finding, how_orders_differ
from calib.ui.session import keep
from calib.ui.widgets import several

ACCEPTED = 2.0
"""Percent of error to begin with."""
MOST_DRAWN = 5
CURVES_PIXELS, ANSWERS_PIXELS = 590, 410
"""Both and the menu fill a window of 1500 pixels; in narrower ones they stand one above the other."""


def curve_of(fit: ShownFit) -> RiskCoverage:
    """Risk against coverage of one method on the test rows."""
    return keep(("risk", fit.key), lambda: risk_coverage(*fit.evaluation.pair))


def accepted_error() -> float:
    """Let the visitor say which share of wrong answers is acceptable."""
    percent = st.number_input(
        "Error you accept among the inputs answered, in %", 0.0, 100.0, ACCEPTED, 0.5, key="risk/accepted",
        persist_state="session", width=330, format="%g",
        help="Inputs whose confidence is too low are not answered: they go to a person, or to a better model.",
    )  # fmt: skip
    return percent / 100


def answers(everything: list[ShownFit], closer: ShownFit, accepted: float) -> None:
    """The curves, and what each method can answer, with the numbers."""
    found = {fit.key: answerable(curve_of(fit), accepted) for fit in everything}
    drawn = _drawn(everything, closer)
    key = (*(fit.key for fit in drawn), accepted)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=CURVES_PIXELS if len(everything) > 1 else "stretch"):
            curves = [(fit.title, curve_of(fit), fit.style) for fit in drawn]
            figures.show(
                keep(("risk figure", *key), partial(risk_diagram, curves, accepted, title="Error among the answered")),
                "risk-coverage",
                "Sort the inputs by confidence and answer the surest first: the line is the error among those answered "
                "so far, at the right end that of all. A lower line puts wrong predictions further back. The band is "
                f"the 95 % interval of {drawn[-1].title}; dots are the best possible order of its predictions. A "
                "symbol marks the last place within the error you accept. Maps that keep the order of the confidences "
                "cannot change the line.",
            )
        if len(everything) > 1:
            with st.container(width=ANSWERS_PIXELS):
                rows = [(fit.title, found[fit.key], fit.style) for fit in everything]
                draw = partial(answerable_chart, rows, accepted, title="What each method can answer")
                figures.show(
                    keep(("answerable", *(fit.key for fit in everything), accepted), draw),
                    "answerable",
                    "The largest share of inputs with no more than the accepted error among them, with its 95 % "
                    "interval; the dotted line is the raw model.",
                )
    with st.expander("Numbers of every method"):
        table = _table(everything, found)
        st.dataframe(table, hide_index=True)
        sideways()
        st.caption(
            "AURC is the mean error over all shares answered, E-AURC what of it a perfect order of the same "
            "predictions would save; lower is better. Thresholds are what the method itself says, so each has its own."
        )


def words(everything: list[ShownFit], closer: ShownFit, accepted: float) -> None:
    """The finding, and whether any method orders the inputs better than the raw model."""
    st.markdown(finding(closer.title, curve_of(closer), answerable(curve_of(closer), accepted), accepted))
    if len(everything) > 1:
        titles = [fit.title for fit in everything]
        st.markdown(how_orders_differ(list(zip(titles, orders(everything), strict=True))))


def orders(everything: list[ShownFit]) -> list[OrderQuality]:
    """Areas under the curves of all methods, the first of which is the raw model."""
    return keep(
        ("orders", *(fit.key for fit in everything)), lambda: order_qualities([fit.evaluation for fit in everything])
    )


def _drawn(everything: list[ShownFit], closer: ShownFit) -> list[ShownFit]:
    """The raw model, a few others of the visitor's choice, and last the method looked at closely."""
    rest = [fit for fit in everything[1:] if fit.key != closer.key]
    if rest:
        titles = {fit.key: fit.title for fit in rest}
        chosen = several(titles, "risk/beside", "Beside it", most=MOST_DRAWN - 2)
        rest = [fit for fit in rest if fit.key in chosen]
    return [*([everything[0]] if closer.key != everything[0].key else []), *rest, closer]


def _table(everything: list[ShownFit], found: dict[str, Answerable]) -> pd.DataFrame:
    rows = []
    for fit, order in zip(everything, orders(everything), strict=True):
        share, low, high = found[fit.key].coverage
        rows.append(
            {
                "method": fit.title,
                "answered": f"{100 * share:.1f} %",
                "95 % interval": f"{100 * low:.1f} to {100 * high:.1f} %",
                "threshold": found[fit.key].threshold,
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
