"""Figure of the label information of 2 to 64 bins against their compression rate."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.information_plane import InformationPlane
from calib.plots.annotations import carry, draw_line, fill_between, key_of, write_key
from calib.plots.binning import SCHEME_NAMES, SCHEME_STYLES
from calib.plots.style import GUIDE, THIN, Style, colored, fade, one_each, quiet, set_x, set_y, three_digits

HEIGHT = 420
_NAMED = (2, 4, 8, 16, 64)


def information_plane_chart(plane: InformationPlane) -> go.Figure:
    """Label information against the rate for 2 to 64 bins (Patel et al. 2020, figure 4b).

    No bins keep more than the log-odds carry, nor more than their rate: what lies above both is shaded.
    """
    fig = go.Figure()
    top = 1.12 * plane.information
    last = 1.04 * max(float(rate[-1]) for rate in plane.rate.values())
    x = np.unique(np.r_[np.linspace(0, last, 120), min(plane.information, last)])
    limit = np.minimum(x, plane.information)
    fill_between(fig, x, limit, np.full(len(x), top), fade(GUIDE, 0.12))
    told = carry("at most {label_information:.3r} nats<br>at rate {rate:.3r}", rate=x, label_information=limit)
    draw_line(fig, x, limit, THIN, "limit", told)
    for scheme in reversed(SCHEME_NAMES):
        name, style = SCHEME_NAMES[scheme], SCHEME_STYLES[scheme]
        rate, kept = plane.rate[scheme], plane.label_information[scheme]
        look = style if scheme != "imax" else Style(style.color, style.symbol)
        told = carry(
            f"{name}, {{bins}} bins<br>keeps {{label_information:.3r}} nats at rate {{rate:.3r}}",
            bins=plane.n_bins, rate=rate, label_information=kept,
        )  # fmt: skip
        draw_line(fig, rate, kept, look, name, told, width=1.6, markers=8)
        if scheme == "imax":
            named = [k for k, m in enumerate(plane.n_bins) if m in _NAMED]
            fig.add_scatter(
                x=rate[named], y=kept[named], mode="text", hoverinfo="skip", textposition="bottom right",
                textfont={"size": 11}, text=[colored(str(plane.n_bins[k]), style.color) for k in named],
            )  # fmt: skip
    said = one_each({SCHEME_NAMES[key]: three_digits(plane.label_information[key][-1]) for key in SCHEME_NAMES})
    alt = f"Label information of {plane.n_bins[-1]} bins, of {three_digits(plane.information)} nats: {said}."
    quiet(fig, HEIGHT, alt=alt, left=62, right=14)
    set_x(fig, range=[0, last], title_text="compression rate I(bin; log-odds), nats")
    set_y(fig, range=[0, top], title_text="label information I(bin; y), nats", nticks=6)
    names = [(SCHEME_NAMES[scheme], SCHEME_STYLES[scheme].color) for scheme in SCHEME_NAMES]
    write_key(fig, key_of(names, "●") + key_of([("limit", GUIDE)], "━"))
    return fig
