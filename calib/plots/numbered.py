"""Figure of several models over a number: error, NLL and ECE."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib.plots.axes import log_axis, span
from calib.plots.lines import Curve, describe_ends, line_chart
from calib.plots.style import Style, color_at, label, plain
from calib.tasks.numbered import NumberedScores

STYLES = {
    "error": Style(color_at(1), "circle"),
    "NLL": Style(color_at(3), "square", "dash"),
    "ECE": Style(color_at(2), "diamond", "longdash"),
}
MOST_TICKS = 8
LOG_FROM = 20
"""Numbers that differ by this factor have a logarithmic axis."""
LEAST = 1e-3
"""Smallest error and ECE that have a place on the axis."""


def numbered_scores_chart(models: NumberedScores) -> go.Figure:
    """Draw the three scores on one logarithmic axis, with 95 % intervals as bands (Wenger et al. 2020, figure 1)."""
    numbers = models.numbers
    log_x = numbers[0] > 0 and numbers[-1] >= LOG_FROM * numbers[0]
    places = np.log10(numbers) if log_x else numbers
    drawn = [np.maximum(models.scores[score], LEAST) for score in STYLES]
    limits = span([np.log10(ends[:, 0]) for ends in drawn], pad=0.1)
    curves = []
    for (score, style), ends in zip(STYLES.items(), drawn, strict=True):
        value, low, high = ends.T
        names = {"model": [plain(name) for name in models.models]}
        curves.append(Curve(score, style, numbers, value, (low, high), names))
    ticks = np.unique(np.linspace(0, len(numbers) - 1, MOST_TICKS).round().astype(int))
    x_axis = {
        "type": "log" if log_x else "linear",
        "range": span(places, least=0.04),
        "tickvals": numbers[ticks],
        "ticktext": [models.labels[place] for place in ticks],
        "title_text": label(models.unit),
    }
    return line_chart(
        curves,
        ("number", "score"),
        x_axis,
        {**log_axis(*limits), "title_text": "error, ECE; NLL in nats"},
        f"Scores by {models.unit}",
        f"Error, NLL and ECE from {models.labels[0]} to {models.labels[-1]}: {describe_ends(curves)}.",
        hover="{model}",
    )
