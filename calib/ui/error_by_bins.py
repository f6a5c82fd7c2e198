"""The fold of the Reliability page on bins and test rows: how far the ECE depends on both."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from calib.diagnostics.error_by_bins import BIN_COUNTS, ErrorByBins, error_by_bins
from calib.formatting import brief, listed
from calib.metrics.binning import BINNINGS
from calib.plots.error_by_bins import Line, error_by_bins_chart, error_by_rows_chart
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready
from calib.ui.reliability import Options, pair_of
from calib.ui.text import binning_name, literal

BY_BINS = (
    "Solid is the ECE in 5 to 100 bins of each kind; dashed is the debiased error, an L2 norm less the noise of the "
    "bins. Where the solid line rises with the number of bins and the dashed one does not, the rise is noise."
)
BY_ROWS = (
    "The mean ECE of 200 resamples of so many test rows, in 15 bins of equal width, with their central 95\u00a0% as "
    "a band. Noise adds to the ECE of few rows."
)


def error_figures(chosen: Sequence[ShownFit], options: Options) -> None:
    """Draw the ECE of the chosen methods by number of bins and by number of test rows."""
    lines = [(fit.title, _errors(fit, options), fit.style) for fit in chosen]
    st.markdown(ranges(lines))
    titles = {binning: binning_name(binning) for binning in BINNINGS}
    key = (options.target, *(fit.key for fit in chosen))
    by_bins = partial(error_by_bins_chart, lines, titles, "ECE")
    widgets.show_kept(("error by bins", *key), by_bins, "ece-by-bins", BY_BINS)
    by_rows = partial(error_by_rows_chart, lines, "ECE")
    widgets.show_kept(("error by rows", *key), by_rows, "ece-by-rows", BY_ROWS)


def _errors(fit: ShownFit, options: Options) -> ErrorByBins:
    pair = pair_of(fit, options.target)
    rows = fit.evaluation.weights, fit.evaluation.clusters
    key = ("error by bins", fit.key, options.target)
    return ready(key, f"the ECE of {fit.title} in other bins", error_by_bins, *pair, *rows)


def ranges(lines: Sequence[Line]) -> str:
    """Smallest and largest ECE of each method over all bins."""
    found = []
    for title, errors, _ in lines:
        values = [value for each in errors.errors.values() for value in each]
        found.append(f"{brief(min(values))} to {brief(max(values))} with {literal(title)}")
    return (
        f"In {BIN_COUNTS[0]} to {BIN_COUNTS[-1]} bins of {len(BINNINGS)} kinds the ECE is "
        f"{listed(found)}."
    )
