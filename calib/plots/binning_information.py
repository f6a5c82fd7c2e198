"""What bins keep of the label: beside what the log-odds carry, and against what it costs to name a bin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.imax.information import NATS_PER_BIT
from calib.diagnostics.information_plane import InformationPlane
from calib.plots.binning_rails import SCHEME_NAMES, SCHEME_STYLES, Rail, key_of, write_key
from calib.plots.data import carry
from calib.plots.labelled_rows import DROP, RowLabel, frame_labelled_rows, line_through_rows
from calib.plots.layout import set_layout, set_x, set_y
from calib.plots.style import GRID, GUIDE, fade, plain, quiet, three_digits

_NAMED = (2, 4, 8, 16, 64)
_HOVER = "%{customdata[0]:.3r} nats (%{customdata[1]:.3r} bits)"


def information_rows(rails: Sequence[Rail], information: float, label_entropy: float, title: str = "") -> go.Figure:
    """Label information of each scheme with its lower bound, beside the upper limits; in nats.

    Parameters
    ----------
    rails : name, bins and style of each scheme.
    information : I(log-odds; y), which no bins exceed, drawn as a line.
    label_entropy : H(y), which that cannot exceed; its line may lie beyond the picture, and is then said.
    """
    fig = go.Figure()
    n = len(rails)
    line_through_rows(fig, information, n, GUIDE)
    highest = max([information, *(max(bins.label_information, bins.bound) for _, bins, _ in rails)])
    end = 1.1 * (label_entropy if label_entropy < 1.6 * highest else highest)
    if label_entropy < end:
        line_through_rows(fig, label_entropy, n, GRID)
    for row, (name, bins, style) in enumerate(rails):
        fig.add_bar(
            x=[bins.label_information], y=[row + DROP], width=0.16, orientation="h",
            marker={"color": fade(style.color, 0.45), "line_width": 0}, hoverinfo="skip",
        )  # fmt: skip
        for what, value, symbol, size in (
            ("keeps", bins.label_information, style.symbol, 11),
            ("bound by the model's own belief", bins.bound, "line-ns-open", 16),
        ):
            fig.add_scatter(
                x=[value], y=[row + DROP], name=f"{name}, {what}", mode="markers",
                marker={"color": style.color, "symbol": symbol, "size": size,
                        "line": {"width": 2, "color": style.color}},
                **carry(nats=[value], bits=[value / NATS_PER_BIT]),
                hovertemplate=f"{plain(name)}: {what} {_HOVER}<extra></extra>",
            )  # fmt: skip
    labels = [
        RowLabel(name, f"{three_digits(bins.label_information)} nats, {_share(bins.label_information, information)}",
                 style.color)
        for name, bins, style in rails
    ]  # fmt: skip
    said = "; ".join(f"{name} {label.note}" for (name, _, _), label in zip(rails, labels, strict=True))
    alt = f"Label information: the log-odds carry {three_digits(information)} nats; {said}."
    frame_labelled_rows(fig, labels, alt=alt, title=title, pixels=46)
    ends = f"line: the log-odds carry {three_digits(information)}" + (
        f", the label has {three_digits(label_entropy)}" + ("" if label_entropy < end else " (beyond the picture)")
    )
    set_x(fig, range=[0, end], title_text=f"information about the label (nats)<br>{ends}", nticks=6)
    set_layout(fig, height=fig.layout.height + 16, margin_b=fig.layout.margin.b + 16)
    return fig


def information_plane_chart(plane: InformationPlane, title: str = "", height: int = 420) -> go.Figure:
    """Label information against the rate for 2 to 64 bins, beneath the bottleneck (Patel et al. 2020, figure 4b)."""
    fig = go.Figure()
    top = 1.12 * plane.information
    last = max(float(rate[-1]) for rate in plane.rate.values())
    x = np.linspace(0, 1.04 * last, 120)
    limit = np.interp(x, plane.limit_rate, plane.limit_information)
    fig.add_scatter(
        x=np.r_[x, x[::-1]], y=np.r_[limit, np.full(len(x), top)], fill="toself", mode="lines", line_width=0,
        fillcolor=fade("#808496", 0.12), hoverinfo="skip",
    )  # fmt: skip
    fig.add_scatter(
        x=x, y=limit, name="limit", mode="lines", line={"color": GUIDE, "width": 2},
        **carry(rate=x, label_information=limit),
        hovertemplate="at most %{customdata[1]:.3r} nats<br>at rate %{customdata[0]:.3r}<extra></extra>",
    )  # fmt: skip
    for scheme in reversed(SCHEME_NAMES):
        name, style = SCHEME_NAMES[scheme], SCHEME_STYLES[scheme]
        rate, kept = plane.rate[scheme], plane.label_information[scheme]
        fig.add_scatter(
            x=rate, y=kept, name=name, mode="lines+markers+text",
            line={"color": style.color, "width": 1.6, "dash": style.dash if scheme != "imax" else "solid"},
            marker={"color": style.color, "symbol": style.symbol, "size": 8},
            text=[str(m) if scheme == "imax" and m in _NAMED else "" for m in plane.n_bins],
            textposition="bottom right", textfont={"size": 11, "color": style.color},
            **carry(bins=plane.n_bins, rate=rate, label_information=kept),
            hovertemplate=f"{name}, %{{customdata[0]}} bins<br>keeps %{{customdata[2]:.3r}} nats at rate"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
    said = "; ".join(
        f"{SCHEME_NAMES[scheme]} {three_digits(plane.label_information[scheme][-1])}" for scheme in SCHEME_NAMES
    )
    alt = f"Label information of {plane.n_bins[-1]} bins, of {three_digits(plane.information)} nats: {said}."
    quiet(fig, height, alt=alt, title=title, left=62, right=14)
    set_x(fig, range=[0, 1.04 * last], title_text="compression rate I(bin; log-odds), nats")
    set_y(fig, range=[0, top], title_text="label information I(bin; y), nats", nticks=6)
    names = [(SCHEME_NAMES[scheme], SCHEME_STYLES[scheme].color) for scheme in SCHEME_NAMES]
    write_key(fig, key_of(names, "●") + key_of([("limit", GUIDE)], "━"))
    return fig


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole > 0 else "–"
