"""Figures of the test that is looked at after every batch of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import plural
from calib.plots.annotations import Counted, draw_counts, draw_marks, write
from calib.plots.axes import from_scale, log_axis, logit_ticks, span
from calib.plots.lines import Curve, line_chart
from calib.plots.style import GUIDE, NEUTRAL, Style, label, quiet, set_x, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.histograms import ConfidenceHistogram
    from calib.diagnostics.sequential_tests import SequentialTests


_HEIGHT, _TICKS = 290, 4
_FAR = 8.0
"""Decimal logarithm of the largest e-value that is drawn; larger ones lie there and are said on hover."""
_EARLY = 0.1
"""Share of the batches whose wide intervals do not decide the axis."""


def e_value_chart(tests: SequentialTests, style: Style) -> go.Figure:
    """Evidence against calibration after each batch, on a logarithmic axis, with the limit of an alarm.

    Parameters
    ----------
    style : of the calibrator.
    """
    drawn = 10.0 ** np.clip(tests.log_e / np.log(10), -_FAR, _FAR)
    with np.errstate(over="ignore"):
        e_value = np.exp(tests.log_e)
    at = np.arange(1, len(tests) + 1)
    more = {"batch": tests.batches}
    raised = "" if tests.alarm is None else f", alarm at batch {tests.alarm + 1}"
    fig = line_chart(
        [Curve("e-value", Style(style.color), at, e_value, more=more, at=(at, drawn))],
        ("number", "e_value"),
        _batch_axis(tests),
        {**log_axis(*span(np.log10(drawn), [-1.0, 2.0], pad=0.04)), "title_text": "e-value"},
        "Evidence against calibration",
        f"E-values after {plural(len(tests), 'batch', 'batches')}: {three_digits(float(e_value[-1]))}{raised}. "
        f"The limit is {1 / tests.alpha:g}.",
        hover="{batch}",
        markers=0,
        height=_HEIGHT,
    )
    if tests.alarm is not None:
        draw_marks(fig, [at[tests.alarm]], [drawn[tests.alarm]], style, size=10, cliponaxis=False)
    limit = 1 / tests.alpha
    third = 1 + len(drawn) // 3
    gap = np.abs(np.log10(drawn / limit))
    clear = "left" if gap[:third].min() >= gap[-third:].min() else "right"
    line = {"color": GUIDE, "width": 1.5, "dash": "dash"}
    fig.add_hline(limit, line=line)
    place = {"xref": "paper", "xanchor": clear, "yanchor": "bottom"}
    at_end = 0 if clear == "left" else 1
    write(fig, f"alarm from {limit:g}", at_end, float(np.log10(limit)), **place)
    return fig


def o_e_chart(tests: SequentialTests, style: Style) -> go.Figure:
    """Observed over expected of all rows so far, with an interval that holds at all looks together."""
    at = np.arange(1, len(tests) + 1)
    late = slice(int(_EARLY * len(tests)), None)
    low, high = span(
        tests.o_e, tests.low[late], np.minimum(tests.high[late], 3.0), [0.9, 1.1], pad=0.04
    )
    band = tests.low, tests.high
    more = {"batch": tests.batches, "rows": np.cumsum(tests.rows)}
    end = f"{three_digits(tests.o_e[-1])} ({three_digits(tests.low[-1])} to {three_digits(tests.high[-1])})"
    fig = line_chart(
        [Curve("O:E", Style(style.color), at, tests.o_e, band, more)],
        ("number", "observed_over_expected"),
        _batch_axis(tests),
        {"range": (max(0.0, low), high), "title_text": "O:E of all rows so far"},
        "Observed over expected, cumulated",
        f"Cumulative O:E after {plural(len(tests), 'batch', 'batches')}: {end}.",
        hover="up to {batch}<br>{rows:,d} rows",
        markers=0,
        height=_HEIGHT,
    )
    fig.add_hline(y=1.0, line={"color": GUIDE, "width": 1.5})
    return fig


def _batch_axis(tests: SequentialTests) -> dict[str, Any]:
    n = len(tests)
    ticks = np.unique(np.linspace(1, n, min(_TICKS, n)).round().astype(int))
    return {
        "range": [1 - 0.02 * n, n + 0.02 * n],
        "tickvals": ticks,
        "ticktext": [label(tests.batches[tick - 1].split(" to ")[-1], 14) for tick in ticks],
        "title_text": "batch",
    }


_DRIFT_HEIGHT = 260
_LEAST_LENGTH = 2.4
"""Of an axis of log-odds: tens of them are 2.3 apart."""


def confidence_drift(
    before: ConfidenceHistogram,
    now: ConfidenceHistogram,
    style: Style,
    height: int = _DRIFT_HEIGHT,
    view: View = TOP_LABEL,
) -> go.Figure:
    """Rows over confidence: now upwards, before downwards, so that a shift breaks the symmetry.

    Parameters
    ----------
    before, now : on the same grid in log-odds.
    style : of the method.
    view : for words.
    """
    edges = now.edges
    nonempty = np.flatnonzero(before.count + now.count)
    cells = slice(nonempty[0], nonempty[-1] + 1)
    visible = edges[nonempty[0] : nonempty[-1] + 2]
    middles = [
        float(h.count @ ((edges[:-1] + edges[1:]) / 2)) / max(1, h.count.sum())
        for h in (before, now)
    ]
    fig = go.Figure()
    predicted = view.wording.predicted_label
    alt = (
        f"{predicted.capitalize()}: its mean log-odds moved from {three_digits(middles[0])} before to"
        f" {three_digits(middles[1])} now."
    )
    quiet(fig, height, alt=alt)
    groups = [
        Counted("now", now.count[cells], style.color, "rows now"),
        Counted("before", before.count[cells], NEUTRAL, "rows before"),
    ]
    draw_counts(fig, visible, from_scale(visible, "logit"), groups, predicted)
    room = max(0.1, (_LEAST_LENGTH - (visible[-1] - visible[0])) / 2)
    ends = float(visible[0] - room), float(visible[-1] + room)
    set_x(fig, title_text=predicted, range=list(ends), **logit_ticks(*ends))
    return fig
