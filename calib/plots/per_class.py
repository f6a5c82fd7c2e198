"""The confidence gap of each class, the worst at either end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.data import carry
from calib.plots.rows import frame_rows
from calib.plots.style import GUIDE, Style, fade, plain, three_digits

if TYPE_CHECKING:
    from calib.over_under import ClassConfidence


def per_class_chart(
    class_names: Sequence[str], classes: ClassConfidence, style: Style, n: int = 10, title: str = ""
) -> go.Figure:
    """Mean confidence minus accuracy among the predictions of each class, the most overconfident on top.

    Parameters
    ----------
    class_names : (n_classes,)
    classes : over- and underconfidence by class; classes that were never predicted are left out.
    style : of the method.
    n : how many to show at either end; with at most 2 n classes all are shown.
    """
    gaps = classes.signed_gap
    order = np.argsort(-gaps, kind="stable")
    order = order[np.isfinite(gaps[order])]
    hidden = max(0, len(order) - 2 * n)
    shown = np.r_[order[:n], order[len(order) - n :]] if hidden else order
    # The omission takes a row of its own, so that nobody reads the two ends as neighbours.
    places = np.arange(len(shown)) + (np.arange(len(shown)) >= n if hidden else 0)
    names = [str(class_names[k]) for k in shown]
    labels = [*names[:n], f"… {hidden} between", *names[n:]] if hidden else names

    fig = go.Figure()
    fig.add_vline(x=0, line={"color": GUIDE, "width": 1})
    fig.add_bar(
        x=gaps[shown], y=places, orientation="h", width=0.62, name="classes",
        marker={"color": [fade(style.color, 0.85 if gaps[k] > 0 else 0.4) for k in shown], "line_width": 0},
        **carry(
            **{"class": np.array(names, dtype=object)}, gap=gaps[shown], rows=(classes.wrong + classes.right)[shown],
            wrong=classes.wrong[shown], overconfidence=classes.over[shown], underconfidence=classes.under[shown],
        ),
        hovertemplate="%{text}<br>gap %{customdata[1]:.3r}<br>%{customdata[2]:,d} predictions, %{customdata[3]:,d}"
        " wrong<extra></extra>", text=[plain(name) for name in names], textposition="none",
    )  # fmt: skip
    alt = "No class was predicted."
    if len(order):
        first, last = order[0], order[-1]
        alt = (
            f"Confidence minus accuracy by predicted class: from {class_names[first]} {three_digits(gaps[first])}"
            f" to {class_names[last]} {three_digits(gaps[last])}, {len(order)} classes."
        )
    frame_rows(fig, labels, alt=alt, title=title, pixels=22)
    fig.update_xaxes(title_text="← underconfident     confidence − accuracy     overconfident →")
    return fig
