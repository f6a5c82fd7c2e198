"""The first parts of the Over/underconfidence page: o, u and their ratio before and after, and the densities."""

from __future__ import annotations

from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.histogram import confidence_histogram
from calib.diagnostics.over_under import Balance, balances
from calib.formatting import number
from calib.metrics.bootstrap import Interval
from calib.plots.confidence import confidence_densities
from calib.plots.over_under import Row, before_after, ratio_to_odds
from calib.ui import figures
from calib.ui.fits import ShownFit
from calib.ui.narrow import sideways
from calib.ui.over_under import text as balance_words
from calib.ui.over_under.text import points
from calib.ui.session import keep

THIRD = 310
"""Three figures and the menu fill a window of 1500 pixels, two one of 1100."""


def rows_of(everything: list[ShownFit], chosen: list[ShownFit]) -> list[Row]:
    """Title, balance and style of the chosen methods, the raw model first; the balances are computed once."""
    keys = [fit.key for fit in everything]
    known = keep(("balances", *keys), lambda: balances([fit.evaluation for fit in everything]))
    shown = [everything[0], *(fit for fit in chosen if fit.key != everything[0].key)]
    return [(fit.title, known[keys.index(fit.key)], fit.style) for fit in shown]


def finding(rows: list[Row]) -> None:
    """What the numbers come to, and a warning where they rest on few rows."""
    named = [(name, balance) for name, balance, _ in rows]
    st.markdown(balance_words.finding(named))
    few = balance_words.few(named)
    if few:
        st.warning(few, icon=":material/warning:")


def change(rows: list[Row], keys: tuple[str, ...]) -> None:
    """Underconfidence, overconfidence and the ratio of every method, from the raw model to it."""
    reading = (
        "The dotted line is the raw model, each row goes from it to a method; whiskers are 95 % bootstrap intervals, "
        "and hovering gives the change with its paired interval. "
    )
    pictures = (
        ("under", partial(before_after, rows, "under", title="Underconfidence u"),
         reading + "Underconfidence is the mean doubt, 1 − confidence, where the method is right. Calibrating trades "
         "it against overconfidence: neither should be zero."),
        ("over", partial(before_after, rows, "over", title="Overconfidence o"),
         reading + "Overconfidence is the mean confidence where the method is wrong."),
        ("ratio", partial(ratio_to_odds, rows, title="Ratio o / u against the odds"),
         "A calibrated method says on average how often it is right, so that o · P(wrong) = u · P(right): its ratio "
         "o / u is P(right) / P(wrong), the odds of its accuracy, drawn as a bar. A dot to the right of its bar is "
         "overconfident, to the left underconfident; the faint line between them is what is left to mend."),
    )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        for name, draw, how_to_read in pictures:
            with st.container(width=THIRD):
                figures.show(keep(("before-after", name, *keys), draw), f"{name}-before-after", how_to_read)
    with st.expander("The numbers, with intervals and changes"):
        table = keep(("balance table", *keys), lambda: _table(rows))
        pinned = {"method": st.column_config.TextColumn(pinned=True)}
        st.dataframe(table, hide_index=True, column_config=pinned)
        sideways(len(table.columns))
        st.caption(
            "95 % intervals in brackets: bootstrap over test rows, Wilson's for the odds. Changes are against the raw "
            "model on the same rows (paired): differences of o, u and the gap, factors of the ratio. The gap is "
            "o · P(wrong) − u · P(right), in points; above zero is overconfident."
        )


def _table(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame([_cells(name, balance) for name, balance, _ in rows])


def _cells(name: str, balance: Balance) -> dict[str, str]:
    changed = balance.change
    nothing = "–"
    return {
        "method": name,
        "o": _cell(balance.over),
        "change of o": _cell(changed.over, "+") if changed else nothing,
        "u": _cell(balance.under),
        "change of u": _cell(changed.under, "+") if changed else nothing,
        "o / u": _cell(balance.ratio),
        "change of o / u": _cell(changed.ratio, "×") if changed else nothing,
        "odds of the accuracy": _cell(balance.odds),
        "o / u over odds": _cell(balance.lean),
        "gap, points": _points_cell(balance.gap),
        "change of the gap": _points_cell(changed.gap) if changed else nothing,
    }


def _cell(interval: Interval, mark: str = "") -> str:
    value, low, high = interval
    before = "×" if mark == "×" else "+" if mark == "+" and value > 0 else ""
    return f"{before}{number(value)}  [{number(low)}, {number(high)}]" if value == value else "–"


def _points_cell(interval: Interval) -> str:
    return "{}  [{}, {}]".format(*map(points, interval)) if interval.value == interval.value else "–"


def densities(chosen: list[ShownFit]) -> None:
    """Confidence of right and wrong predictions, one picture per method on the same scale."""
    crowded = (chosen[0].evaluation.confidence > 0.9).mean() > 0.5
    scale = st.segmented_control(
        "Scale", ["linear", "logit"], default="logit" if crowded else "linear", required=True,
        key=f"confidence/scale/{crowded}", persist_state="session",
    )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        for fit in chosen:
            with st.container(width=THIRD):
                figures.show(
                    keep(("densities", fit.key, scale), partial(_densities, fit, scale or "linear")),
                    f"densities-{fit.title}",
                    "Upwards the confidence of right predictions, downwards that of wrong ones, each on a height "
                    "of its own. Wrong predictions at the right end are the dangerous ones.",
                )


def _densities(fit: ShownFit, scale: str) -> go.Figure:
    histogram = confidence_histogram(*fit.evaluation.pair, scale=scale)
    return confidence_densities(histogram, fit.style, title=fit.title)
