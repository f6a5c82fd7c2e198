"""Whether pooling the classes pays: distance from a class's truth against the number of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.divergence import SharingDivergence
from calib.numerics import Floats
from calib.plots.binning_rails import key_of, write_key
from calib.plots.data import carry
from calib.plots.layout import set_x, set_y
from calib.plots.style import COLORS, fade, plain, quiet, three_digits

KINDS = (("class-wise (CW)", COLORS[0], "dash"), ("pooled (sCW)", COLORS[10], "solid"))
_SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)


def sharing_chart(
    sharing: SharingDivergence, class_names: Sequence[str], chosen: int | None = None, title: str = "",
    height: int = 380,
) -> go.Figure:  # fmt: skip
    """Distance from the truth of a class, of its own rows and of all classes' (Patel et al. 2020, figure S1).

    Parameters
    ----------
    sharing : the distances.
    class_names : (n_classes,)
    chosen : the class drawn thick; None for the mean over the classes, with each class faint.
    """
    fig = go.Figure()
    x = np.log10(sharing.n_rows)
    places = list(sharing.classes)
    said = []
    for (kind, color, dash), distances in zip(KINDS, (sharing.classwise, sharing.shared), strict=True):
        for row, k in enumerate(places):
            if k != chosen:
                _draw(fig, x, sharing, distances[row], f"{class_names[k]}, {kind}", fade(color, 0.3), dash, 1)
        thick = distances[places.index(chosen)] if chosen in places else _mean(distances)
        whose = str(class_names[chosen]) if chosen in places and chosen is not None else "mean of the classes"
        _draw(fig, x, sharing, thick, f"{whose}, {kind}", color, dash, 3)
        said.append(f"{kind} from {three_digits(thick[0])} to {three_digits(thick[-1])}")
    alt = f"Distance from the truth over {sharing.n_rows[0]:,} to {sharing.n_rows[-1]:,} rows: {'; '.join(said)}."
    quiet(fig, height, alt=alt, title=title, left=52, right=14)
    ticks = [size for size in _SIZES if sharing.n_rows[0] <= size <= sharing.n_rows[-1]]
    set_x(
        fig,
        tickvals=np.log10(ticks),
        ticktext=[f"{tick:,}" for tick in ticks],
        title_text="calibration rows",
        tickangle=0,
    )
    set_y(fig, rangemode="tozero", title_text="√ Jensen-Shannon divergence", nticks=6)
    write_key(fig, key_of([(kind, color) for kind, color, _ in KINDS], "━"))
    return fig


def _draw(
    fig: go.Figure, x: Floats, sharing: SharingDivergence, y: Floats, name: str, color: str, dash: str, width: int
) -> None:
    fig.add_scatter(
        x=x, y=y, name=name, mode="lines", line={"color": color, "width": width, "dash": dash},
        **carry(rows=sharing.n_rows, distance=y),
        hovertemplate=f"{plain(name)}<br>%{{customdata[1]:.3r}} with %{{customdata[0]:,d}} rows<extra></extra>",
    )  # fmt: skip


def _mean(distances: Floats) -> Floats:
    """Mean over the classes; of a class without rows nothing is known."""
    known = np.isfinite(distances)
    count = known.sum(axis=0)
    return np.where(known, distances, 0.0).sum(axis=0) / np.where(count, count, np.nan)
