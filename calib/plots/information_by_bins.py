"""Figure of the label information that 2 to 64 bins keep."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.binning import InformationByBins
from calib.plots.annotations import carry, draw_line, label_line_ends
from calib.plots.axes import log10_ticks
from calib.plots.binning import SCHEME_NAMES, SCHEME_STYLES
from calib.plots.style import DOTTED, NEUTRAL, Style, one_each, quiet, set_x, set_y, three_digits

HEIGHT = 380
_TICKS = (2, 4, 8, 16, 32, 64)


def information_chart(found: InformationByBins) -> go.Figure:
    """Label information over the number of bins, a line for each scheme, beneath what the log-odds carry."""
    fig = go.Figure()
    limits = (0.0, 1.08 * found.information or 1.0)
    x = np.log10(found.n_bins)
    room = 0.03 * (x[-1] - x[0])
    across = float(x[0] - room), float(x[-1] + room)
    draw_line(fig, across, [found.information] * 2, DOTTED, "log-odds", width=1.5)
    ends = [("log-odds", found.information, NEUTRAL)]
    for scheme in reversed(SCHEME_NAMES):
        name = SCHEME_NAMES[scheme]
        style = SCHEME_STYLES[scheme]
        rate = found.rate[scheme]
        kept = found.label_information[scheme]
        look = style if scheme != "imax" else Style(style.color, style.symbol)
        told = carry(
            f"{name}, {{bins}} bins<br>keeps {{label_information:.3r}} nats<br>at a rate of {{rate:.3r}} nats",
            bins=found.n_bins,
            label_information=kept,
            rate=rate,
        )
        draw_line(fig, x, kept, look, name, told, width=1.8, markers=8)
        ends.append((name, float(kept[-1]), style.color))
    said = one_each(
        {SCHEME_NAMES[key]: three_digits(found.label_information[key][-1]) for key in SCHEME_NAMES}
    )
    alt = f"Label information of {found.n_bins[-1]} bins, of {three_digits(found.information)} nats: {said}."
    quiet(fig, HEIGHT, alt=alt, left=62)
    set_x(
        fig,
        range=across,
        **log10_ticks(_TICKS, found.n_bins[0], found.n_bins[-1]),
        title_text="number of bins",
    )
    set_y(fig, range=limits, title_text="label information I(bin; y), nats", nticks=6)
    label_line_ends(fig, ends, limits)
    return fig
