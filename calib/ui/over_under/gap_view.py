"""Where the gap of one method comes from: bands of confidence and classes, on the Over/underconfidence page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import streamlit as st

from calib.diagnostics.groups import BAND_EDGES, GroupGaps, by_band, by_class
from calib.formatting import plural
from calib.plots.confidence_bands import band_chart, band_name
from calib.plots.per_class import per_class_chart
from calib.plots.style import Style
from calib.ui import figures, widgets
from calib.ui.fits import ShownFit
from calib.ui.narrow import sideways
from calib.ui.over_under.text import points
from calib.ui.over_under.theorem_view import HALF, BinChoice, any_bins
from calib.ui.session import keep, session

MOST_CLASSES = 20
LEAST_ROWS = 10
BY = {"predicted": "predicted class", "label": "true class"}

Named = tuple[str, GroupGaps, Style]


def one_of(everything: list[ShownFit]) -> ShownFit:
    """Let the visitor choose the method to look at closely: to begin with, the first calibrator."""
    if len(everything) == 1:
        return everything[0]
    titles = {fit.key: fit.title for fit in everything}
    chosen = widgets.one(titles, "confidence/closer", "Method", begin=everything[1].key)
    return next(fit for fit in everything if fit.key == chosen)


def bands(everything: list[ShownFit], fit: ShownFit, bins: BinChoice) -> None:
    """What each band of confidence adds to the gap, raw model over method, beside the chain for any bins."""
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=HALF):
            methods = [_bands(one) for one in _beside_raw(everything, fit)]
            draw = partial(band_chart, BAND_EDGES, methods, title="What each band of confidence adds")
            figures.show(
                keep(("bands", fit.key), draw),
                "confidence-bands",
                "Each band's share of the rows times its mean confidence minus accuracy: the bars of one colour add up "
                "to that method's gap; whiskers are 95 % intervals. "
                + (
                    f"Grey is the raw model, beneath it {fit.title}, whose rows may lie in other bands. "
                    if len(methods) > 1
                    else ""
                )
                + "Hovering gives accuracy, mean confidence, o and u within the band.",
            )  # fmt: skip
        with st.container(width=HALF):
            any_bins(fit, bins)
    with st.expander("Bands of every method"):
        names = [band_name(low, high) for low, high in pairwise(BAND_EDGES)]
        table = pd.DataFrame([_band_cells(names, *_bands(one)[:2]) for one in everything])
        pinned = {"method": st.column_config.TextColumn(pinned=True)}
        st.dataframe(table, hide_index=True, column_config=pinned)
        sideways()
        st.caption(
            "What each band adds to the gap, in points, and in brackets its share of the rows; a line adds up to its "
            "last column."
        )


def classes(everything: list[ShownFit], fit: ShownFit) -> None:
    """The gap of each class, the worst first, from the raw model to the method."""
    now = session()
    assert now.data is not None
    names = now.data.class_names
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = st.segmented_control(
            "Rows grouped by", list(BY), default="predicted", required=True, format_func=BY.__getitem__,
            key="confidence/by", persist_state="session",
        )  # fmt: skip
        least = st.number_input(
            "Least rows of a class", 1, 10_000, LEAST_ROWS, key="confidence/least", persist_state="session", width=180
        )
    by, least = by or "predicted", int(least)
    methods = [
        (one.title, keep(("classes", one.key, by), partial(by_class, one.evaluation, by)), one.style)
        for one in _beside_raw(everything, fit)
    ]
    gaps = methods[-1][1]
    order = gaps.worst_first(least)
    st.caption(_class_words(gaps, len(order), by, least))
    if len(order):
        shown = order[:MOST_CLASSES]
        figures.show(
            keep(("class chart", fit.key, by, least), partial(per_class_chart, names, shown, methods)),
            "per-class",
            f"Mean confidence minus accuracy among the rows of each {BY[by]}, with 95 % intervals: right of zero is "
            "overconfident. First comes the class whose interval is farthest from zero, so that a few odd rows do not "
            "lead."
            + (" The dot above is the raw model." if len(methods) > 1 else "")
            + (
                " Given the true class, a gap is no fault of calibration: even a calibrated model is too sure of rows "
                "of classes that are hard to tell, and too unsure of easy ones."
                if by == "label"
                else ""
            ),
        )
    with st.expander(f"All {plural(len(names), 'class', 'classes')}"):
        table = keep(("class table", fit.key, by), partial(_class_table, names, methods))
        st.dataframe(table, hide_index=True)
        sideways()


def _beside_raw(everything: list[ShownFit], fit: ShownFit) -> list[ShownFit]:
    return [everything[0], *([fit] if fit.key != everything[0].key else [])]


def _bands(fit: ShownFit) -> Named:
    return fit.title, keep(("by band", fit.key), partial(by_band, fit.evaluation)), fit.style


def _band_cells(names: list[str], method: str, gaps: GroupGaps) -> dict[str, str]:
    cells = {
        name: f"{points(adds)}  [{100 * share:.0f} %]" if rows else "no rows"
        for name, adds, share, rows in zip(names, gaps.contribution, gaps.share, gaps.rows, strict=True)
    }
    return {"method": method, **cells, "gap": points(float(gaps.contribution.sum()))}


def _class_words(gaps: GroupGaps, n_kept: int, by: str, least: int) -> str:
    n_classes = len(gaps.rows)
    if not n_kept:
        return (
            f"No {BY[by]} has {plural(least, 'row')}; the largest has {int(gaps.rows.max()):,}. "
            "Lower the least number, or test on more rows."
        )
    kept = gaps.rows >= least
    over, under = int((kept & (gaps.gap_low > 0)).sum()), int((kept & (gaps.gap_high < 0)).sum())
    by_chance = max(1, round(0.05 * n_kept))
    said = [
        f"Of {plural(n_kept, BY[by], BY[by] + 'es')}, {over:,} are overconfident and {under:,} underconfident beyond "
        f"their 95 % intervals; chance alone would make it up to about {by_chance:,} in all."
    ]
    never = int((gaps.rows == 0).sum())
    small = n_classes - n_kept - never
    if small:
        said.append(f"{plural(small, 'class', 'classes')} with fewer than {plural(least, 'row')} left out.")
    if never:
        said.append(
            f"{plural(never, 'class', 'classes')} {'never predicted' if by == 'predicted' else 'without rows'}."
        )
    if n_kept > MOST_CLASSES:
        said.append(f"The first {MOST_CLASSES} are drawn.")
    return " ".join(said)


def _class_table(names: Sequence[str], methods: list[Named]) -> pd.DataFrame:
    _, gaps, _ = methods[-1]
    table = pd.DataFrame(
        {
            "class": [str(name) for name in names],
            "rows": gaps.rows,
            "wrong": gaps.wrong,
            "accuracy": gaps.accuracy,
            "confidence": gaps.confidence,
            "gap": gaps.gap,
            "gap, low": gaps.gap_low,
            "gap, high": gaps.gap_high,
            "o": gaps.over,
            "u": gaps.under,
            "adds to the gap": gaps.contribution,
        }
    )
    if len(methods) > 1:
        table["gap of the raw model"] = methods[0][1].gap
    first = gaps.worst_first()
    others = np.setdiff1d(np.arange(len(names)), first)
    return table.take(np.concatenate([first, others])).round(4)
