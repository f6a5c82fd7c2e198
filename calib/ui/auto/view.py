"""Parts of the page Auto: what the mean is made of, and what the folds said of its members."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from calib.calibrators.auto import N_FOLDS, STACKED_FROM, AutoCalibration, Judged
from calib.formatting import escape_markdown, fixed, percent
from calib.plots.forest import member_rows
from calib.ui import widgets
from calib.ui.fits import ShownFit

HOW_TO_READ = (
    "A row per method that was tried: how much larger its NLL is than that of the best one, on rows that the method "
    "was not fitted on, with the 95\u00a0% interval of the difference by rows, or clusters. An interval with 0 "
    "in it means no significant difference. Open marks have no weight in the mean. The best single method "
    "need not have the largest weight: a method counts for what it adds to the others."
)


def auto_fits(fits: list[ShownFit]) -> list[ShownFit]:
    """Those of the fits that are an automatic mean."""
    return [fit for fit in fits if isinstance(fit.calibrator, AutoCalibration)]


def show(fit: ShownFit) -> None:
    """The finding in words, the figure, and the numbers."""
    made = fit.calibrator
    assert isinstance(made, AutoCalibration)
    st.markdown("  \n".join(escape_markdown(note) for note in made.notes()))
    judged = made.judged
    if not judged:
        return
    widgets.show_kept(("members", fit.key), partial(member_rows, judged), "members", HOW_TO_READ)
    st.caption(
        f"Each method was fitted {N_FOLDS} times, without a fold of the calibration rows, and judged on that fold. "
        f"From {STACKED_FROM:,} rows or clusters the weights maximise the likelihood of the mean (stacking); below, a "
        "weight is the softmax of the summed log-likelihoods, averaged over a Bayesian bootstrap of the rows "
        "(pseudo-BMA+)."
    )
    widgets.folded("What are the numbers?", "auto/numbers", partial(_numbers, judged))


def _numbers(judged: Sequence[Judged]) -> None:
    """The table of what the figure shows."""
    rows = [
        {
            "method": each.title,
            "weight": percent(each.weight),
            "NLL": fixed(each.nll),
            "standard error": fixed(each.error),
            "above the best": fixed(each.behind),
            "its standard error": fixed(each.behind_error),
        }
        for each in judged
    ]
    widgets.show_table(pd.DataFrame(rows), "method")
