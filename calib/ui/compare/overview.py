"""First sight of Compare: what to take, what it changes, raw and calibrated side by side, and all methods in one strip.

A click on a method shows it beside the raw model, here and on the other pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from html import escape

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.evaluation import SCORES
from calib.evaluation.comparison_table import (
    Difference,
    changes,
    differences,
    first_scores,
    frequencies_difference,
)
from calib.evaluation.score_registry import Score, Unit
from calib.formatting import number, percent
from calib.plots import alt_text
from calib.plots.overview import difference_strip
from calib.plots.reliability import common_limits, explain_diagram, reliability_diagram, usual_scale
from calib.plots.style import text_color
from calib.ui import widgets
from calib.ui.audit import is_usable, lead
from calib.ui.compare.answer import (
    CLOSER,
    answer_with_export,
    choose_one,
    comparison_table,
    failed,
    taken,
)
from calib.ui.fits import ShownFit
from calib.ui.groups import in_groups
from calib.ui.reliability import show_only
from calib.ui.session import OpenSession, current_session, keep
from calib.ui.shell import need_fit
from calib.ui.text import literal
from calib.ui.widgets import HALF, segments

FIRST = ("NLL", "ECE", "Brier", "accuracy")
"""Scores of the tiles and of the strip."""
SIGNS = {"better": "#009E73", "worse": "#D55E00"}
"""Colours of what is shown to change."""


def overview(session: OpenSession, fits: list[ShownFit]) -> None:
    """The answer, the tiles, the two diagrams and the strip; of the raw model alone its diagram."""
    raw = fits[0]
    if len(fits) == 1 or not is_usable(session):
        lead(session, "Compare")
    if len(fits) == 1:
        in_groups(session, raw)
        failed()
        need_fit(what="Only the raw model is here. Fit calibrators to compare them with it.")
        _diagrams([raw])
        return
    answer_with_export(session, fits)
    in_groups(session, taken(fits))
    failed()
    table = comparison_table(fits)
    tiles = st.container()
    diagrams = st.container()
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    with right:
        closer = choose_one(fits, "compare", label="Beside the raw model", style="list")
    with left:
        view = raw.evaluation.view
        scores = [key for key in _first_scores(table) if SCORES[key].claims]
        titles = {key: SCORES[key].seen(view).title for key in scores}
        score = segments("All methods, against the raw model", titles, scores[0], "compare/score")
    with tiles:
        _tiles(table, closer)
    with diagrams:
        _diagrams([raw, closer])
    _strip(table, fits, score)


def _tiles(table: pd.DataFrame, fit: ShownFit) -> None:
    """Four scores before and after, with the change that holds for all comparisons together."""
    st.caption(f"From the raw model to {literal(fit.title)}")
    changed = changes(table, fit.title, _first_scores(table))
    with st.grid(len(changed), min_column_width=230, gap="small"):
        for key, (before, after) in changed.items():
            score, (value, low, high), word = (
                SCORES[key].seen(fit.evaluation.view),
                after.difference,
                after.verdict,
            )
            write = percent if key == "accuracy" else number
            unit = (
                score.unit if key in ("NLL", "accuracy") else Unit("", 1.0)
            )  # an ECE is .134 on every page
            change = f"{unit.number(value)} ({unit.number(low)} to {unit.amount(high)})"
            change = "unchanged in each row" if low == high else change
            change += f": {word}" if word else ""
            color = f"color:{text_color(SIGNS[word])}" if word in SIGNS else "opacity:.7"
            with st.container(border=True, height="stretch", key=f"tile/{key}"):
                st.html(
                    f'<div style="font-size:.875rem;opacity:.7">{escape(score.title)}</div>'
                    f'<div style="font-size:1.4rem;white-space:nowrap">{write(before)} '
                    f'<span style="opacity:.6">→</span> <strong>{write(after.value)}</strong></div>'
                    f'<div style="font-size:.8rem;{color}">{change}</div>'
                )


def _first_scores(table: pd.DataFrame) -> list[str]:
    """Four scores; the AUROC in place of the accuracy of a rare event."""
    return first_scores(table, FIRST)[: len(FIRST)]


def _diagrams(fits: Sequence[ShownFit]) -> None:
    """Reliability diagrams side by side on the same axes."""
    view = fits[0].evaluation.view
    raw = fits[0].diagram
    scale = usual_scale(raw.curve, view)
    limits = common_limits([fit.diagram for fit in fits], scale)
    with st.container(horizontal=True, gap="medium"):
        for fit in fits:
            with st.container(width=HALF):
                widgets.method_title(fit.title, fit.style)
                draw = partial(
                    reliability_diagram,
                    fit.diagram,
                    fit.style,
                    view=view,
                    behind=None if fit is fits[0] else raw,
                    scale=scale,
                    limits=limits,
                    side=HALF,
                )
                widgets.show_kept(
                    ("compare diagram", fit.key, fit.style, limits),
                    draw,
                    f"compare-reliability-{'raw' if fit is fits[0] else 'chosen'}",
                    explain_diagram(view, fit.diagram),
                )


def _strip(table: pd.DataFrame, fits: Sequence[ShownFit], score: str) -> None:
    """All methods against the raw model by one score; a click on one shows it beside the raw model."""
    rows = differences(table, score)
    by_title = {fit.title: fit for fit in fits}
    ordered = [by_title[row.title] for row in rows]
    styles = {fit.title: fit.style for fit in fits}
    seen = SCORES[score].seen(fits[0].evaluation.view)
    key = ("strip", score, *((fit.key, fit.title, fit.style) for fit in ordered))
    constant = frequencies_difference(table, score)
    figure = keep(key, partial(difference_strip, rows, styles, seen, constant))
    _clickable(figure, "compare-strip", fits, ordered)
    st.caption(_describe_rows(rows, seen, constant))


def _describe_rows(rows: Sequence[Difference], score: Score, frequencies: float) -> str:
    """Meaning of the lines and the shaded part, and how many rows would decide what is undecided."""
    unit = score.unit
    smallest = f"{rows[0].relevant * unit.scale:g} {unit.name}".strip()
    sentence = (
        "A click on a row shows that method above. Lines are 95\u00a0% intervals that hold for all comparisons "
        f"together; shaded differences, below {smallest}, do not matter."
    )
    if math.isfinite(frequencies):
        sentence += f" Class frequencies alone are at {unit.amount(frequencies)} (dotted)."
    needed = [row.rows_needed for row in rows if math.isfinite(row.rows_needed)]
    if not needed:
        return sentence
    fewest = f"{min(needed):,.0f}"
    ends = fewest if len(set(needed)) == 1 else f"{fewest} to {max(needed):,.0f}"
    return f"{sentence} About {ends} test rows would decide what is undecided."


def _clickable(
    fig: go.Figure, key: str, fits: Sequence[ShownFit], of_row: Sequence[ShownFit]
) -> None:
    """Draw a figure whose points carry numbers of fits; the one clicked is looked at on all pages."""

    def remember() -> None:
        chosen = widgets.selected_bins(st.session_state[key])
        if chosen and of_row[chosen[0]] is not fits[0]:
            look_at(current_session(), fits, of_row[chosen[0]])

    st.plotly_chart(
        fig,
        key=key,
        width="stretch",
        alt=alt_text(fig),
        on_select=remember,
        selection_mode="points",
        config={
            "displaylogo": False,
            "modeBarButtons": [["toImage"]],
            "toImageButtonOptions": {"filename": key},
        },
    )


def look_at(session: OpenSession, fits: Sequence[ShownFit], fit: ShownFit) -> None:
    """Have all pages open with this method beside the raw model."""
    session.picked[CLOSER] = fit.key
    show_only(session, fits, fit.key)
