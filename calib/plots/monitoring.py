"""Figures of the test that is looked at after every batch of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import plural
from calib.plots.annotations import (
    Counted,
    carry,
    draw_counts,
    draw_line,
    draw_marks,
    fill_between,
    write,
)
from calib.plots.axes import from_scale, log_axis, logit_ticks, span
from calib.plots.style import GUIDE, NEUTRAL, Style, fade, label, quiet, set_x, set_y, three_digits

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
    fig = go.Figure()
    at = np.arange(1, len(tests) + 1)
    limit = -np.log10(tests.alpha)
    line = np.clip(tests.log_e / np.log(10), -_FAR, _FAR)
    low, high = span(line, [-1.0, 2.0], pad=0.04)
    fig.add_hline(y=limit, line={"color": GUIDE, "width": 1.5, "dash": "dash"})
    with np.errstate(over="ignore"):
        e_value = np.exp(tests.log_e)
    hover = carry("{batch}<br>e-value {e_value:.3g}", batch=_names(tests), e_value=e_value)
    draw_line(fig, at, line, Style(style.color), "O:E", hover)
    raised = ""
    if tests.alarm is not None:
        draw_marks(fig, [at[tests.alarm]], [line[tests.alarm]], style, size=10, cliponaxis=False)
        raised = f", alarm at batch {tests.alarm + 1}"
    last = f"{three_digits(float(e_value[-1]))}{raised}"
    alt = f"E-values after {_counted(tests)}: {last}. The limit is {1 / tests.alpha:g}."
    quiet(fig, _HEIGHT, alt=alt, title="Evidence against calibration", right=24)
    third = 1 + len(line) // 3
    clear = (
        "left"
        if np.abs(line[:third] - limit).min() >= np.abs(line[-third:] - limit).min()
        else "right"
    )
    place = {"xref": "paper", "xanchor": clear, "yanchor": "bottom"}
    write(fig, f"alarm from {1 / tests.alpha:g}", 0 if clear == "left" else 1, limit, **place)
    _batch_axis(fig, tests)
    set_y(fig, title_text="e-value", **log_axis(low, high, typed=False))
    return fig


def o_e_chart(tests: SequentialTests, style: Style) -> go.Figure:
    """Observed over expected of all rows so far, with an interval that holds at all looks together."""
    fig = go.Figure()
    at = np.arange(1, len(tests) + 1).astype(float)
    late = slice(int(_EARLY * len(tests)), None)
    limits = span(
        tests.o_e, tests.low[late], np.minimum(tests.high[late], 3.0), [0.9, 1.1], pad=0.04
    )
    limits = max(0.0, limits[0]), limits[1]
    fig.add_hline(y=1.0, line={"color": GUIDE, "width": 1.5})
    fill_between(fig, at, tests.low, tests.high, fade(style.color, 0.16), limits)
    hover = carry(
        "up to {batch}<br>O:E %{y:.3r} ({low:.3r} to {high:.3r})<br>{rows:,d} rows",
        batch=_names(tests),
        **{"O:E": tests.o_e},
        low=tests.low,
        high=tests.high,
        rows=np.cumsum(tests.rows),
    )
    draw_line(fig, at, tests.o_e, Style(style.color), "O:E", hover)
    end = f"{three_digits(tests.o_e[-1])} ({three_digits(tests.low[-1])} to {three_digits(tests.high[-1])})"
    alt = f"Cumulative O:E after {_counted(tests)}: {end}."
    quiet(fig, _HEIGHT, alt=alt, title="Observed over expected, cumulated", right=24)
    _batch_axis(fig, tests)
    set_y(fig, range=limits, title_text="O:E of all rows so far", nticks=6)
    return fig


def _counted(tests: SequentialTests) -> str:
    return plural(len(tests), "batch", "batches")


def _names(tests: SequentialTests) -> Any:
    return np.array(tests.batches, dtype=object)


def _batch_axis(fig: go.Figure, tests: SequentialTests) -> None:
    n = len(tests)
    ticks = np.unique(np.linspace(1, n, min(_TICKS, n)).round().astype(int))
    names = [label(tests.batches[tick - 1].split(" to ")[-1], 14) for tick in ticks]
    set_x(
        fig, range=[1 - 0.02 * n, n + 0.02 * n], tickvals=ticks, ticktext=names, title_text="batch"
    )


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
