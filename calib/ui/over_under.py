"""Parts of the Over- and underconfidence page: o, u and their ratio, Theorem 1, and the gap by band and by class."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.data import Predictions
from calib.diagnostics.gaps import GroupGaps, by_band, gap_sentence, subgroups
from calib.diagnostics.over_under import (
    OverUnder,
    over_under_confidence,
    theorem_of_all,
)
from calib.evaluation import SCORES, Evaluation
from calib.evaluation.view import ConfidenceWording, View
from calib.formatting import class_phrase, plural, points, points_between
from calib.plots.over_under import (
    Row,
    band_chart,
    band_name,
    per_class_chart,
    ratio_to_odds,
    theorem_chain,
)
from calib.plots.style import Style, three_digits
from calib.ui import widgets
from calib.ui.chosen_rows import choose_rows, show_clickable
from calib.ui.fits import ShownFit, ready, ready_of, with_raw
from calib.ui.text import literal
from calib.ui.widgets import show_table

Named = tuple[str, GroupGaps, Style]


def rows_of(fits: list[ShownFit], chosen: list[ShownFit]) -> list[Row]:
    """Title, result and style of the chosen methods, the raw model first; their scores are computed once."""
    keys = [fit.key for fit in fits]
    what = f"the intervals of {plural(len(fits), 'method')}"
    evaluations = [fit.evaluation for fit in fits]
    results = ready(("over_under_confidence", *keys), what, over_under_confidence, evaluations)
    drawn = with_raw(fits, *chosen)
    return [(fit.title, results[keys.index(fit.key)], fit.style) for fit in drawn]


def finding(rows: list[Row], raw: Evaluation) -> None:
    """The ratio of the raw model, what calibration leaves, and where rows are few."""
    view, (first, *calibrated) = raw.view, [(name, result) for name, result, _ in rows]
    st.markdown(_ratio(first[1], view.wording))
    if calibrated:
        off = [
            f"{name} is off by **{points(result.gap.value)} points** "
            f"({points_between(result.gap.low, result.gap.high)})"
            for name, result in calibrated
            if result.gap.low > 0 or result.gap.high < 0
        ]
        n = len(calibrated)
        n_even = len(calibrated) - len(off)
        subject = f"{calibrated[0][0]} has" if n == 1 else f"{n_even} of {n} calibrators have"
        even = (
            f"None of {n} calibrators has a significant gap"
            if n_even == n > 1
            else f"{subject} no significant gap"
        )
        st.markdown("; ".join([even] * bool(n_even) + off) + ".")
    few = [
        f"{name} ({result.n_wrong:,} {view.wording.negative_label}, {result.n_right:,} {view.wording.positive_label})"
        for name, result, _ in rows
        if result.few
    ]
    if few:
        st.warning(
            f"Few predictions: {', '.join(few)}. Their intervals come from cautious formulas, which are rather too "
            "wide; more test rows narrow them.",
            icon=":material/warning:",
        )


def _ratio(result: OverUnder, wording: ConfidenceWording) -> str:
    """The ratio o / u against the odds, or why there is none."""
    if not result.n_wrong:
        return wording.explain_no_negatives(result.n_right)
    if not result.n_right:
        return wording.explain_no_positives(result.n_wrong)
    if math.isnan(result.ratio.value):
        return wording.explain_no_under()
    return wording.describe_ratio(result.ratio, result.odds.value)


def change(rows: list[Row], keys: tuple[str, ...], view: View) -> None:
    """The ratio o / u of every method against the odds, and o, u and the gap in a small table."""
    left, right = st.columns([1, 1], gap="large")
    with left:
        widgets.show_cached(
            ("ratio", *keys),
            partial(ratio_to_odds, rows, view=view),
            "ratio-of-over-to-under",
            f"{view.wording.explain_ratio()} Predictions are too high where the dot is to the right of its bar, too "
            "low to the left. The faint line between them is the error that remains.",
        )
    with right:
        cells = []
        for name, result, _ in rows:
            four = result.over, result.under, result.ratio, result.odds
            values = [three_digits(interval.value) for interval in four]
            cells.append((name, points(result.gap.value), *values))
        # A phone shows four columns; the odds stand in the figure too.
        columns = ["method", "gap, points", "o", "u", "o / u", "odds"]
        show_table(pd.DataFrame(cells, columns=columns), "method")
        over, under = (
            SCORES[key].seen(view).meaning for key in ("overconfidence", "underconfidence")
        )
        st.caption(
            f"o: {over} u: {under} Calibration fixes their ratio; at that ratio, smaller o and u mean better "
            "discrimination."
        )


def theorem(chosen: list[ShownFit], keys: tuple[str, ...]) -> None:
    """The chain of inequalities of every method."""
    # Inline, so that it wraps where the window is narrow.
    wording = chosen[0].evaluation.view.wording
    wrong = rf"P(\text{{{wording.negative_outcome}}})"
    right = rf"P(\text{{{wording.positive_outcome}}})"
    st.markdown(
        rf"For any bins: $|\,o\,{wrong} - u\,{right}\,| \le \mathrm{{ECE}}_1 \le \mathrm{{ECE}}_2 \le "
        r"\mathrm{ECE}_\infty$; the left side is the gap."
    )
    widgets.show_cached(
        ("theorem", *keys),
        partial(_chain, chosen),
        "theorem-1",
        "Each line begins at a method's gap, the difference of o and u, each weighted by its share of rows. It goes "
        "on to the calibration errors and cannot fall (Wenger et al. 2020, theorem 1), here with "
        "15 bins of equal width, or with any others. Values below 0.0001 are drawn at the foot.",
    )


def _chain(chosen: list[ShownFit]) -> go.Figure:
    pairs = [fit.evaluation.pair for fit in chosen]
    key = ("chains", *(fit.key for fit in chosen))
    what = "the calibration errors"
    errors = ready(key, what, theorem_of_all, pairs, chosen[0].evaluation.weights)
    chains = [(fit.title, chain, fit.style) for fit, chain in zip(chosen, errors, strict=True)]
    return theorem_chain(chains)


def bands(fits: list[ShownFit], fit: ShownFit) -> None:
    """Show each band's contribution to the gap, raw model over method."""
    view = fit.evaluation.view
    methods = [_bands(other) for other in with_raw(fits, fit)]
    names = [band_name(*ends) for ends in pairwise(view.bands)]

    def choose(title: str, name: str) -> None:
        clicked = next(other for other in fits if other.title == title)
        band = np.searchsorted(view.bands[1:-1], clicked.evaluation.pair[0], side="right")
        choose_rows(clicked, f"{view.wording.predicted_label} {name}", band == names.index(name))

    legend = f"Grey is the raw model, beneath it {fit.title}, whose rows may lie in other bands. "
    show_clickable(
        ("bands", fit.key),
        partial(band_chart, methods, view),
        "confidence-bands",
        f"{view.wording.explain_bands()} Whiskers are 95\u00a0% intervals. {legend if len(methods) > 1 else ''}"
        "Hovering gives both means, o and u within the band.",
        choose,
    )


def _bands(fit: ShownFit) -> Named:
    return fit.title, ready_of(fit, "the bands", by_band, fit.evaluation), fit.style


MOST_CLASSES = 20
"""Classes in the figure; the table has all."""


def by_class(test: Predictions, fits: list[ShownFit], fit: ShownFit) -> None:
    """The gap of each class, the worst first, from the raw model to the method."""
    view = fit.evaluation.view
    names = np.array([*map(class_phrase, test.class_names)])
    of_row = names[fits[0].evaluation.predicted]
    methods = [
        (other, ready_of(other, "the classes", subgroups, other.evaluation, of_row))
        for other in with_raw(fits, fit)
    ]
    last = methods[-1][1]
    st.markdown(
        f"With {fit.title}: {gap_sentence(last.average, last.off, int(last.enough.sum()), literal, '**')}"
    )
    order = last.worst_first[:MOST_CLASSES]
    if len(order):
        gaps = [(other.title, classes.gaps, other.style) for other, classes in methods]
        draw = partial(
            per_class_chart, last.names, order, gaps, "By the raw model's predicted class", view
        )

        def choose(title: str, name: str) -> None:
            clicked = next(other for other, _ in methods if other.title == title)
            choose_rows(clicked, literal(name), of_row == name)

        how_to_read = (
            f"{view.wording.explain_gaps()} The intervals hold for all classes together; the dot above is that of the "
            "raw model."
        )
        show_clickable(("classes chart", fit.key), draw, "classes", how_to_read, choose)
    cells = [
        (group.name, group.rows, group.observed, group.predicted, *group.gap)
        for group in last.in_order()
    ]
    wording = fit.evaluation.view.wording
    columns = ["class", "rows", wording.observed_label, wording.mean_label, "gap", "low", "high"]
    table = pd.DataFrame(cells, columns=columns).round(4)
    widgets.folded("Every class in numbers", "classes/numbers", partial(show_table, table, "class"))
