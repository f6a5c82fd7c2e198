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

from calib.diagnostics.histograms import confidence_histogram
from calib.evaluation import SCORES
from calib.evaluation.claims import Claims
from calib.evaluation.comparison_table import CONFIDENCE_ONLY
from calib.evaluation.scores import EVENT_RATE, RANKING, RARE, Unit
from calib.formatting import number, percent
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.plots import alt_text, figure_data
from calib.plots.axes import Scale
from calib.plots.overview import (
    ACROSS_PANELS,
    Panel,
    StripRow,
    difference_strip,
    gap_reach,
    panel_height,
    reliability_panels,
)
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import common_limits, prefers_logit_scale
from calib.plots.style import Limits, text_color
from calib.ui import widgets
from calib.ui.compare.answer import CLOSER, answer_with_export, choose_one, claims_of, failed, taken
from calib.ui.fits import ShownFit, gap_and_extremes_of, ready, tells_nothing
from calib.ui.over_under.groups import in_groups
from calib.ui.reliability.state import show_only
from calib.ui.reliability.text import bins_in_words
from calib.ui.session import OpenSession, current_session, keep
from calib.ui.shell import need_fit
from calib.ui.text import confidence_sentence, literal
from calib.ui.widgets import segments

FIRST = ("NLL", "ECE", "Brier", "accuracy")
"""Scores of the tiles and of the strip."""
REFERENCE = "reference"
HEIGHT = 380
"""Pixels of a diagram with its histogram."""
SIGNS = {"better": "#009E73", "worse": "#D55E00"}
"""Colours of what is shown to change."""


def overview(session: OpenSession, fits: list[ShownFit]) -> None:
    """The answer, the tiles, the two diagrams and the strip; of the raw model alone its diagram."""
    raw = fits[0]
    if trouble := tells_nothing(raw):
        st.warning(trouble, icon=":material/warning:")
    if len(fits) == 1:
        st.markdown(confidence_sentence(raw.evaluation, "The raw model", *gap_and_extremes_of(raw.evaluation)))
        in_groups(session.test, raw)
        failed()
        need_fit(what="Only the raw model is here. Fit calibrators to compare them with it.")
        _diagrams([raw])
        return
    answer_with_export(session, fits)
    in_groups(session.test, taken(fits))
    failed()
    claims, tiles, diagrams = claims_of(fits), st.container(), st.container()
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    with right:
        closer = choose_one(fits, "compare", label="Beside the raw model", style="list")
    with left:
        view = raw.evaluation.view
        scores = [key for key in _first_scores(claims) if SCORES[key].claims]
        titles = {key: SCORES[key].seen(view).title for key in scores}
        score = segments("All methods, against the raw model", titles, scores[0], "compare/score")
    with tiles:
        _tiles(claims, raw, closer)
    with diagrams:
        _diagrams([raw, closer])
    _strip(session, claims, fits, score)


def _first_scores(claims: Claims) -> list[str]:
    """Those that the raw model has; AUROC and average precision in place of the accuracy of a rare event."""
    there = claims.scored[claims.baseline].value
    wanted = [key for key in FIRST if key != "accuracy" or there.get(EVENT_RATE, 1.0) >= RARE]
    return [key for key in [*wanted, *([] if "accuracy" in wanted else RANKING[:1])] if key in there]


def _tiles(claims: Claims, raw: ShownFit, fit: ShownFit) -> None:
    """Four scores before and after, with the change that holds for all comparisons together."""
    st.caption(f"From the raw model to {literal(fit.title)}")
    shown = [key for key in _first_scores(claims) if claims.has(fit.title, key)]
    with st.grid(len(shown), min_column_width=230, gap="small"):
        for key in shown:
            score, claim = SCORES[key].seen(raw.evaluation.view), claims.between(fit.title, raw.title, key)
            write = percent if key == "accuracy" else number
            before, after = (write(claims.scored[one.title].value[key]) for one in (raw, fit))
            unit = score.unit if key in ("NLL", "accuracy") else Unit("", 1.0)  # an ECE is .134 on every page
            change = f"{unit.number(claim.value)} ({unit.number(claim.low)} to {unit.amount(claim.high)})"
            change = "unchanged in each row" if claim.low == claim.high else change
            change += f": {claim.word}" if claim.word else ""
            color = f"color:{text_color(SIGNS[claim.word])}" if claim.word in SIGNS else "opacity:.7"
            with st.container(border=True, height="stretch", key=f"tile/{key}"):
                st.html(
                    f'<div style="font-size:.875rem;opacity:.7">{escape(score.title)}</div>'
                    f'<div style="font-size:1.4rem;white-space:nowrap">{before} '
                    f'<span style="opacity:.6">→</span> <strong>{after}</strong></div>'
                    f'<div style="font-size:.8rem;{color}">{change}</div>'
                )


def _diagrams(fits: Sequence[ShownFit]) -> None:
    """Reliability diagrams side by side on the same axes."""
    view = fits[0].evaluation.view
    scale: Scale = "logit" if prefers_logit_scale(fits[0].curve) else "linear"
    limits = common_limits([fit.curve for fit in fits], scale, view)
    for place, fit in zip(st.columns(2, gap="medium"), fits, strict=False):
        with place:
            said, outcome = (percent(float(part.mean())) for part in fit.evaluation.pair)
            widgets.method_title(fit.title, fit.style, f"{view.mean_said} {said}, {view.outcome} {outcome}")
            widgets.show_kept(
                ("compare diagram", fit.key, fit.style, scale, limits), partial(_diagram, fit, scale, limits),
                f"compare-reliability-{'raw' if fit is fits[0] else 'chosen'}", bins_in_words(view),
            )  # fmt: skip


def _diagram(fit: ShownFit, scale: Scale, limits: Limits) -> go.Figure:
    seen = fit.evaluation
    histogram = ready(
        ("histogram", fit.key, scale), f"the histogram of {fit.title}",
        partial(confidence_histogram, scale=scale, logit_limits=seen.view.logit_limits), *seen.pair,
    )  # fmt: skip
    return reliability_diagram(
        fit.curve, fit.style, scale, limits=limits, histogram=histogram, height=HEIGHT, view=seen.view, square=False
    )


def in_order(claims: Claims, fits: Sequence[ShownFit], score: str) -> list[ShownFit]:
    """From the best to the worst by a score; those that do not have it last, and the raw model first among equals."""
    sign = -1.0 if SCORES[score].better == "higher" else 1.0

    def place(fit: ShownFit) -> tuple[bool, float]:
        has = claims.has(fit.title, score)
        return not has, sign * claims.scored[fit.title].value[score] if has else 0.0

    return sorted(fits, key=place)


def _strip(session: OpenSession, claims: Claims, fits: Sequence[ShownFit], score: str) -> None:
    """All methods against the raw model by one score; a click on one shows it beside the raw model."""
    ordered, shown = in_order(claims, fits, score), SCORES[score].seen(fits[0].evaluation.view)
    rows = [_row(claims, fit, score) for fit in ordered]
    relevant = claims.relevant[score]
    fig = keep(
        ("strip", score, *((fit.key, fit.title, fit.style) for fit in ordered)),
        lambda: difference_strip(rows, shown.title, shown.unit, relevant, shown.better),
    )
    _clickable(fig, "compare-strip", fits, ordered)
    st.caption(_said_of_rows(claims, [fit.title for fit in ordered], score))


def _row(claims: Claims, fit: ShownFit, score: str) -> StripRow:
    value = claims.scored[fit.title].value.get(score, math.nan)
    if fit.title == claims.baseline:
        return StripRow(fit.title, fit.style, value, Interval(0.0, 0.0, 0.0), REFERENCE)
    if not claims.has(fit.title, score):
        return StripRow(fit.title, fit.style, value, UNKNOWN, CONFIDENCE_ONLY.removeprefix("gives a "))
    claim = claims.between(fit.title, claims.baseline, score)
    return StripRow(fit.title, fit.style, value, claim.interval, claim.word)


def _said_of_rows(claims: Claims, titles: Sequence[str], score: str) -> str:
    """What lines and the shaded part are, and how many rows would decide what is undecided."""
    unit = SCORES[score].unit
    smallest = f"{claims.relevant[score] * unit.scale:g} {unit.name}".strip()
    said = [
        "A click on a row shows that method above. Lines are 95\u00a0% intervals that hold for all comparisons "
        f"together; shaded differences, below {smallest}, do not matter."
    ]
    needed = [claims.between(name, claims.baseline, score).rows_needed for name in titles]
    known = [rows for rows in needed if math.isfinite(rows)]
    if known:
        fewest = f"{min(known):,.0f}"
        ends = fewest if len(set(known)) == 1 else f"{fewest} to {max(known):,.0f}"
        said.append(f"About {ends} test rows would decide what is undecided.")
    return " ".join(said)


def small_multiples(fits: list[ShownFit]) -> None:
    """The gaps of all methods in two figures, side by side where there is room; the best are in the first row."""
    claims, view = claims_of(fits), fits[0].evaluation.view
    ordered = in_order(claims, fits, "NLL")
    panels = [Panel(f.title, f.style, f.gaps, claims.scored[f.title].value.get("ECE", math.nan)) for f in ordered]
    st.caption(
        f"{view.said.capitalize()} minus {view.outcome} in points, above 0 {view.too_high}. Rows in groups of equally "
        f"many, from the least to the most {view.said}; 95\u00a0% of calibrated models lie in the grey band."
    )
    reach, pixels, figures = gap_reach(panels), panel_height(len(panels)), []
    halves = [[k for k in range(len(panels)) if k % (2 * ACROSS_PANELS) // ACROSS_PANELS == half] for half in (0, 1)]
    with st.grid(2, min_column_width=200, gap=8):
        for half, places in enumerate(filter(None, halves)):
            shown = [panels[k] for k in places]
            fig = keep(
                ("panels", half, pixels, reach, *((ordered[k].key, panels[k].title, panels[k].style) for k in places)),
                partial(reliability_panels, shown, reach, pixels, view),
            )
            _clickable(fig, f"compare-panels-{half}", fits, [ordered[k] for k in places])
            figures.append(fig)
    widgets.csv(
        "Reliability as CSV", "compare/panels/csv", "reliability.csv",
        lambda: pd.concat([figure_data(fig) for fig in figures]), of=tuple(figures),
    )  # fmt: skip


def _clickable(fig: go.Figure, key: str, fits: Sequence[ShownFit], of_row: Sequence[ShownFit]) -> None:
    """Draw a figure whose points carry numbers of fits; the one clicked is looked at on all pages."""

    def remember() -> None:
        chosen = widgets.selected_bins(st.session_state[key])
        if chosen and of_row[chosen[0]] is not fits[0]:
            look_at(current_session(), fits, of_row[chosen[0]])

    st.plotly_chart(
        fig, key=key, width="stretch", alt=alt_text(fig), on_select=remember, selection_mode="points",
        config={"displaylogo": False, "modeBarButtons": [["toImage"]], "toImageButtonOptions": {"filename": key}},
    )  # fmt: skip


def look_at(session: OpenSession, fits: Sequence[ShownFit], fit: ShownFit) -> None:
    """Have all pages open with this method beside the raw model."""
    session.picked[CLOSER] = fit.key
    show_only(session, fits, fit.key)
