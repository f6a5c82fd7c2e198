"""The tab Ranks of Calibration maps: how often the label has each rank, and how often a method says so."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.ranks import RankReliability, ranks_of_rows
from calib.formatting import escape_markdown, listed, percent
from calib.plots.ranks import rank_chart
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready, rows_of
from calib.ui.session import OpenSession

MOST = 3
"""Methods side by side: more would not be told apart at one rank."""
BEGIN = ("identity", "temperature", "order_preserving")

HOW_TO_READ = (
    "In each test row the classes are ranked by a method's probabilities. Marks are the share of rows whose label has "
    "a rank, divided by the mean probability that the method gives this rank, with 95\u00a0% Wilson intervals: 1 is "
    "calibrated, above 1 labels are found there more often than the method says. Ranks far down are grouped. Open "
    "marks lie beyond the axis. Methods that keep the ranking share the observed frequencies."
)


def show(session: OpenSession, fits: list[ShownFit]) -> None:
    """What is found at each rank of a few methods."""
    opening = st.container()
    with_probs = [fit for fit in fits if fit.calibrator.gives_probabilities]
    aside = {fit.key for fit in with_probs if fit.method not in BEGIN}
    chosen = widgets.choose(with_probs, "ranks/fits", "Methods", most=MOST, aside=aside)
    if len(chosen) > MOST:
        st.caption(f"The first {MOST} of them are drawn.")
        chosen = chosen[:MOST]
    found = [
        ready(
            ("ranks", fit.key), f"the ranks of {fit.title}", ranks_of_rows, fit.calibrator, data=rows_of(session.test)
        )
        for fit in chosen
    ]

    def build() -> go.Figure:
        return rank_chart([(fit.title, each, fit.style) for fit, each in zip(chosen, found, strict=True)])

    with opening:
        st.markdown(finding([fit.title for fit in chosen], found))
        widgets.show_kept(("rank figure", *(fit.key for fit in chosen)), build, "ranks", HOW_TO_READ)


def finding(titles: list[str], found: list[RankReliability]) -> str:
    """What the first and the second choice are worth, of the last method that is chosen, and who is off where."""
    last = found[-1]
    first = (
        f"**The label has rank 1 of {escape_markdown(titles[-1])} in {percent(last.observed[0])} of the test rows "
        f"(95\u00a0% interval {percent(last.low[0])} to {percent(last.high[0])}, predicted "
        f"{percent(last.predicted[0])}) and rank 2 in {percent(last.observed[1])} (predicted "
        f"{percent(last.predicted[1])}).**"
    )
    off = [f"{int(each.off.sum())} with {escape_markdown(name)}" for name, each in zip(titles, found, strict=True)]
    return (
        f"{first} Of {len(last.names)} ranks or groups of ranks the predicted frequency lies outside the interval for "
        f"{listed(off)}; of a calibrated model about one in twenty does."
    )
