"""The tab Auto of Calibration maps: what the mean is made of, and what the folds said of its members."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.calibrators.auto import N_FOLDS, STACKED_FROM, AutoCalibration
from calib.formatting import escape_markdown
from calib.plots.forest import member_rows
from calib.ui import widgets
from calib.ui.fits import ShownFit
from calib.ui.progress import fit_here

HOW_TO_READ = (
    "A row per method that was tried: how much larger its NLL is than that of the best one, on rows that the method "
    "was not fitted on, with the 95\u00a0% interval of the difference by rows, or clusters. An interval with 0 "
    "in it means no significant difference. Open marks have no weight in the mean. The best single method "
    "need not have the largest weight: a method counts for what it adds to the others. "
    f"Each method was fitted {N_FOLDS} times, without a fold of the calibration rows, and judged on that fold. "
    f"From {STACKED_FROM:,} rows or clusters the weights maximise the likelihood of the mean (stacking); below, a "
    "weight is the softmax of the summed log-likelihoods, averaged over a Bayesian bootstrap of the rows "
    "(pseudo-BMA+)."
)


def show(fits: list[ShownFit]) -> None:
    """The finding in words and the figure, or the button that gets a fit."""
    means = [fit for fit in fits if isinstance(fit.calibrator, AutoCalibration)]
    if not means:
        fit_here("auto", "Auto chooses a mean of several methods, and no fit of it is finished yet.")
        return
    opening = st.container()
    fit = widgets.one_fit(means, "auto/fit", "Fit", means[0]) if len(means) > 1 else means[0]
    made = fit.calibrator
    assert isinstance(made, AutoCalibration)
    with opening:
        st.markdown("  \n".join(escape_markdown(note) for note in made.notes()))
        if made.judged:
            widgets.show_kept(("members", fit.key), partial(member_rows, made.judged), "members", HOW_TO_READ)
