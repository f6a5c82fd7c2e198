"""The objective of variational fits over their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import label_line_ends
from calib.plots.data import carry
from calib.plots.layout import set_x, set_y
from calib.plots.overlay import label_margin
from calib.plots.style import FRAME, Style, plain, quiet

_MOST_POINTS = 500


@dataclass(frozen=True, eq=False)
class ObjectiveTrace:
    """The objective of one fit, in nats: (n_iter + 1,) values, and whether the optimiser came to its end."""

    name: str
    values: Floats
    converged: bool
    style: Style


def objective_traces(traces: Sequence[ObjectiveTrace], title: str = "", height: int = 240) -> go.Figure:
    """Objectives over the iterations; the steep start may leave the picture below.

    A dot at the end means that the fit converged, a cross that it did not.
    """
    fig = go.Figure()
    ends: list[tuple[str, float, str]] = []
    spans = []
    said = []
    for trace in traces:
        values = np.asarray(trace.values, dtype=float)
        keep = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST_POINTS)).astype(int))
        values = values[keep]
        color = trace.style.color
        fig.add_scatter(
            x=keep, y=values, name=trace.name, mode="lines",
            line={"color": color, "width": 2, "dash": trace.style.dash},
            **carry(iteration=keep, objective=values),
            hovertemplate=f"{plain(trace.name)}, iteration %{{customdata[0]:,d}}<br>%{{customdata[1]:,.1f}} nats"
            "<extra></extra>",
        )  # fmt: skip
        finite = np.flatnonzero(np.isfinite(values))
        if not len(finite):
            said.append(f"{trace.name} has no value")
            continue
        last = float(values[finite[-1]])
        fig.add_scatter(
            x=[int(keep[finite[-1]])], y=[last], mode="markers", hoverinfo="skip",
            marker={"color": color, "size": 9, "symbol": "circle" if trace.converged else "x"},
        )  # fmt: skip
        final = f"{last:,.1f} nats".replace("-", "−")
        ends.append((trace.name if len(traces) > 1 else final, last, color))
        state = "converged" if trace.converged else "stopped unconverged"
        said.append(f"{trace.name} {state} at {final} after {max(len(trace.values) - 1, 0):,} iterations")
        spans.append((float(np.quantile(values[finite], 0.1)), float(values[finite].max())))
    alt = f"Objective over the iterations: {'; '.join(said) or 'nothing to show'}."
    quiet(fig, height, alt=alt, title=title, right=label_margin([text for text, _, _ in ends]), left=64)
    set_x(fig, title_text="iteration")
    set_y(fig, title_text="objective (nats)")
    if spans:
        low, high = min(low for low, _ in spans), max(high for _, high in spans)
        pad = 0.1 * (high - low) + 0.1
        span = (low - pad, high + pad)
        set_y(fig, range=span, nticks=6)
        label_line_ends(fig, ends, span, height - FRAME)
    return fig
