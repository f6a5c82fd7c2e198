"""The rows of a bin on the Reliability page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from calib.diagnostics.reliability import ReliabilityCurve
from calib.formatting import number, percent
from calib.ui.fits import ShownFit
from calib.ui.reliability.reliability_options import Options
from calib.ui.session import session


def bin_rows(
    chosen: list[ShownFit],
    curves: list[ReliabilityCurve],
    options: Options,
    selected: tuple[ShownFit, ReliabilityCurve, int] | None,
) -> None:
    """List the rows of the bin that was clicked, or of one chosen by hand."""
    now = session()
    assert now.test is not None
    assert now.data is not None
    with st.expander("Rows of a bin", expanded=selected is not None):
        if selected is None:
            dots = options.shape == "Bins" and options.view != "Gap"
            st.caption("Click a dot in a diagram, or choose a bin here." if dots else "Choose a bin.")
            titles = [fit.title for fit in chosen]
            left, right = st.columns(2)
            index = titles.index(left.selectbox("Method", titles))
            fit, curve = chosen[index], curves[index]
            bins = list(range(len(curve.count)))
            which = right.selectbox(
                "Bin", bins, format_func=lambda b: f"confidence about {number(float(curve.confidence[b]))}, "
                f"{curve.count[b]:,} rows", index=None, placeholder="Choose a bin",
            )  # fmt: skip
            if which is None:
                return
        else:
            fit, curve, which = selected
        rows = np.flatnonzero(curve.bin_of_row == which)
        names = np.array(now.data.class_names)
        st.caption(
            f"{fit.title}: {len(rows):,} rows, says {percent(curve.confidence[which])}, right "
            f"{percent(curve.accuracy[which])} (95 %: {percent(curve.low[which])} to {percent(curve.high[which])}). "
            + ("The first 1,000 are shown." if len(rows) > 1000 else "")
        )
        rows = rows[:1000]
        st.dataframe(
            pd.DataFrame(
                {
                    "test row": rows,
                    "label": names[now.test.labels[rows]],
                    "predicted": names[fit.evaluation.predicted[rows]],
                    "confidence": fit.evaluation.confidence[rows],
                    "right": fit.evaluation.correct[rows],
                }
            ),
            hide_index=True,
            height=300,
        )
