"""All methods in one screen: the answer, the differences from the raw model, and the reliability of each.

A click on a method, or its name in the list, leads to its diagnosis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.evaluation import SCORES
from calib.evaluation.claims import Claims
from calib.evaluation.comparison_table import CONFIDENCE_ONLY
from calib.evaluation.view import View
from calib.formatting import number
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.plots import alt_text, figure_data
from calib.plots.overview import (
    ACROSS_PANELS,
    Panel,
    StripRow,
    difference_strip,
    gap_reach,
    panel_height,
    reliability_panels,
)
from calib.top_k import said_of_labels
from calib.ui import link, widgets
from calib.ui.compare.answer import answer_with_export, claims_of, relevant_differences, taken, unfinished
from calib.ui.fits import ShownFit, extremes_of
from calib.ui.over_under.groups import in_groups
from calib.ui.reliability.state import show_only
from calib.ui.session import OpenSession, keep
from calib.ui.shell import need_fit
from calib.ui.text import confidence_sentence, literal

DIAGNOSIS = "pages/3_Reliability.py"
WANTED = "compare/diagnose"
"""Key of the fit that was clicked, in Streamlit's session state until its diagnosis is shown."""
REFERENCE = "reference"


def go_to_diagnosis(session: OpenSession, fits: Sequence[ShownFit]) -> None:
    """Where a method was clicked, leave for the page that shows it; called before anything is drawn."""
    wanted = st.session_state.pop(WANTED, None)
    if wanted is not None:
        show_only(session, fits, wanted)
        link.go_to(DIAGNOSIS)


def overview(session: OpenSession, fits: list[ShownFit]) -> None:
    """The answer and both pictures; of the raw model alone its reliability."""
    view = fits[0].evaluation.view
    if len(fits) == 1:
        st.markdown(confidence_sentence(fits[0].evaluation, "The raw model", extremes_of(fits[0].evaluation)))
        in_groups(session.test, fits[0])
        unfinished()
        need_fit(what="Only the raw model is here. Fit calibrators to compare them with it.")
        _panels([_panel(fits[0], claims_of(fits))], [fits[0].key], view)
        return
    answer_with_export(session, fits)
    in_groups(session.test, taken(fits))
    unfinished()
    grid = st.grid(10, min_column_width=70)
    with grid.cell(column_span=4):
        score = _differences(session, fits, view)
    with grid.cell(column_span=6):
        claims = claims_of(fits)
        ordered = in_order(claims, fits, score)
        keys = [fit.key for fit in ordered]
        st.markdown(
            f"**Reliability** :small[{view.said} minus {view.outcome} in points; above 0 {view.too_high}. "
            f"Grey: 95\u00a0% of calibrated models]"
        )
        _diagnose(ordered)
        panels = _panels([_panel(fit, claims) for fit in ordered], keys, view)
    _explain(score, view, panels)


def in_order(claims: Claims, fits: Sequence[ShownFit], score: str) -> list[ShownFit]:
    """From the best to the worst by a score; those that do not have it last, and the raw model first among equals."""
    sign = -1.0 if SCORES[score].better == "higher" else 1.0

    def place(fit: ShownFit) -> tuple[bool, float]:
        has = claims.has(fit.title, score)
        return not has, sign * claims.scored[fit.title].value[score] if has else 0.0

    return sorted(fits, key=place)


def _differences(session: OpenSession, fits: list[ShownFit], view: View) -> str:
    """The strip with its controls; returns the score that it shows."""
    claims = claims_of(fits)
    keys = [key for key in SCORES if SCORES[key].better != "neither" and any(claims.has(f.title, key) for f in fits)]
    left, right = st.columns([3, 2])
    score = left.selectbox(
        "Score, against the raw model", keys, format_func=lambda key: SCORES[key].seen(view).title,
        key="compare/score", persist_state="session",
    )  # fmt: skip
    with right:
        _smallest_relevant(session, score)
    claims, ordered = claims_of(fits), in_order(claims, fits, score)
    relevant = claims.relevant[score]
    rows = [_row(claims, fit, score) for fit in ordered]
    shown = SCORES[score].seen(view)
    fig = keep(
        ("strip", score, relevant, *((fit.key, fit.title, fit.style) for fit in ordered)),
        lambda: difference_strip(rows, shown.title, SCORES[score].unit, relevant, shown.better),
    )
    _clickable(fig, "compare-strip", [fit.key for fit in ordered])
    st.caption(_said_of_rows(claims, [fit.title for fit in ordered], score))
    if said := said_of_labels(session.test):
        st.caption(said)
    return score


def _smallest_relevant(session: OpenSession, score: str) -> None:
    unit, changed = SCORES[score].unit, relevant_differences(session)
    key = f"compare/relevant/{score}"
    begin = SCORES[score].relevant * unit.scale

    def remember() -> None:
        changed[score] = float(st.session_state[key]) / unit.scale

    st.number_input(
        f"Matters from, {unit.name}" if unit.name else "Matters from", 0.0, None,
        changed.get(score, SCORES[score].relevant) * unit.scale, step=begin, format="%g", key=key, on_change=remember,
        help="The smallest difference that matters. Methods whose interval lies within it are called equivalent.",
    )  # fmt: skip


def _row(claims: Claims, fit: ShownFit, score: str) -> StripRow:
    value = claims.scored[fit.title].value.get(score, math.nan)
    if fit.title == claims.baseline:
        return StripRow(fit.title, fit.style, value, Interval(0.0, 0.0, 0.0), REFERENCE)
    if not claims.has(fit.title, score):
        return StripRow(fit.title, fit.style, value, UNKNOWN, CONFIDENCE_ONLY.removeprefix("gives a "))
    claim = claims.between(fit.title, claims.baseline, score)
    return StripRow(fit.title, fit.style, value, claim.interval, claim.word)


def _said_of_rows(claims: Claims, titles: Sequence[str], score: str) -> str:
    """What is shaded, and how many rows would decide what is undecided; or what noise alone would give."""
    unit = SCORES[score].unit
    smallest = " ".join(filter(None, [f"{claims.relevant[score] * unit.scale:g}", unit.name]))
    said = [f"Shaded: differences below {smallest} do not matter."]
    needed = {name: claims.between(name, claims.baseline, score).rows_needed for name in titles}
    known = sorted((rows, name) for name, rows in needed.items() if math.isfinite(rows))
    if known:
        ends = [f"{rows:,.0f} for {literal(name)}" for rows, name in dict.fromkeys((known[0], known[-1]))]
        said.append(f"*Undecided*: about so many test rows would decide: {', '.join(ends)}.")
    if not SCORES[score].claims:
        said.append("This score is too noisy to claim a difference by.")
        if chance := [one.chance[score] for one in claims.scored.values() if score in one.chance]:
            low, high = (number(value * unit.scale) for value in (min(chance), max(chance)))
            said.append(f"Calibrated models of the same confidences would have {low} to {high} {unit.name} of it.")
    return " ".join(said)


def _panel(fit: ShownFit, claims: Claims) -> Panel:
    return Panel(fit.title, fit.style, fit.gaps, claims.scored[fit.title].value.get("ECE", math.nan))


def _panels(panels: list[Panel], keys: list[str], view: View) -> list[go.Figure]:
    """Two figures side by side, or one beneath the other in a narrow window; the best stand in the first row."""
    reach, pixels, figures = gap_reach(panels), panel_height(len(panels)), []
    across = 2 * ACROSS_PANELS
    halves = [[k for k in range(len(panels)) if k % across // ACROSS_PANELS == half] for half in (0, 1)]
    with st.grid(2, min_column_width=200, gap=8):
        for half, places in enumerate(filter(None, halves)):
            shown = [panels[k] for k in places]
            fig = keep(
                ("panels", half, pixels, reach, *((keys[k], panels[k].title, panels[k].style) for k in places)),
                partial(reliability_panels, shown, reach, pixels, view),
            )
            _clickable(fig, f"compare-panels-{half}", [keys[k] for k in places])
            figures.append(fig)
    return figures


def _clickable(fig: go.Figure, key: str, keys: list[str]) -> None:
    """Draw a figure whose points carry numbers of fits; a click on one asks for its diagnosis."""

    def remember() -> None:
        if chosen := widgets.selected_bins(st.session_state[key]):
            st.session_state[WANTED] = keys[chosen[0]]

    st.plotly_chart(
        fig, key=key, width="stretch", alt=alt_text(fig), on_select=remember, selection_mode="points",
        config={"displaylogo": False, "modeBarButtons": [["toImage"]], "toImageButtonOptions": {"filename": key}},
    )  # fmt: skip


def _diagnose(fits: Sequence[ShownFit]) -> None:
    """The way to a diagnosis by keyboard."""
    titles, key = {fit.key: fit.title for fit in fits}, "compare/diagnose/list"

    def remember() -> None:
        st.session_state[WANTED] = st.session_state[key]

    st.selectbox(
        "Diagnose a method", list(titles), index=None, format_func=titles.__getitem__, key=key, on_change=remember,
        placeholder="Diagnose a method: click it below, or choose", label_visibility="collapsed",
    )  # fmt: skip


def _explain(score: str, view: View, panels: list[go.Figure]) -> None:
    with st.popover("How to read this", icon=":material/help:", type="tertiary"):
        st.write(
            f"**Left**: {SCORES[score].seen(view).meaning} Each line is the difference from the raw model on the same "
            "test rows with its 95\u00a0% interval; intervals hold for all comparisons of all methods together. A "
            "method is *better* or *worse* where its interval excludes 0, *equivalent* where it lies within the shaded "
            "region, and else *undecided*. An open marker lies beyond the end of the axis."
        )
        st.write(
            f"**Right**: test rows in groups of equally many, from the least to the most {view.said}. Points within "
            "the grey band are what chance gives a calibrated model. ECE is in 15 bins of equal width."
        )
        widgets.csv(
            "Reliability as CSV", "compare/panels/csv", "reliability.csv",
            lambda: pd.concat([figure_data(fig) for fig in panels]), of=tuple(panels),
        )  # fmt: skip
