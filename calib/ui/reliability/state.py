"""State of the Reliability page: its controls, and the curves, each computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from calib.diagnostics.consistency import ConsistencyBand, binned_consistency, corp_consistency
from calib.diagnostics.corp import CorpCurve, corp_curve
from calib.diagnostics.histograms import ConfidenceHistogram, confidence_histogram
from calib.diagnostics.reliability import Binned, ReliabilityCurve, binned_curve, default_bins
from calib.formatting import listed
from calib.metrics import BINNINGS, CumulativeTest, cumulative_test
from calib.metrics.confidence import Bools
from calib.numerics import Floats
from calib.plots.axes import Scale
from calib.ui.fits import ShownFit, pair_of_class, ready
from calib.ui.session import OpenSession
from calib.ui.text import binning_name
from calib.ui.widgets import segments, whole_number

CHOSEN = "reliability/methods"
"""Key of the choice of methods."""


@dataclass(frozen=True)
class Options:
    """What the visitor chose to look at.

    Attributes
    ----------
    scale : of both axes.
    binning, n_bins : the bins of the dots and of the rows to list.
    target : a class, or None for the predicted one.
    shape : "Bins" or "CORP".
    band : whether to show the consistency band.
    """

    scale: Scale
    binning: str
    n_bins: int
    target: int | None
    shape: str
    band: bool


def controls(scale: Scale, session: OpenSession) -> Options:
    """The controls most people leave alone."""
    names, binnings, target = session.data.class_names, list(BINNINGS), None
    with st.expander("Bins, curve and class"), st.container(horizontal=True, vertical_alignment="bottom"):
        binning = st.selectbox(
            "Bins", binnings, binnings.index("equal_mass"), binning_name, key="rel/binning", persist_state="session",
            help="Equal mass gives every bin the same number of rows; equal width is the papers' convention.",
            width=160,
        )  # fmt: skip
        usual = default_bins(len(session.test)) if binning == "equal_mass" else 15
        n_bins = whole_number("Number of bins", 2, 100, usual, f"rel/bins/{binning}", width=160)
        if session.view.column is None:  # in the other views there is but one probability
            target = st.selectbox(
                "Reliability of", [None, *range(len(names))], key="rel/target", persist_state="session", width=240,
                format_func=lambda k: "the predicted class" if k is None else names[k],
            )  # fmt: skip
        shape = segments(
            "Curve", ("Bins", "CORP"), "Bins", "rel/shape",
            help="Bins average groups of rows; CORP pools rows until the curve rises, by isotonic regression, so that "
            "there are no bins to choose.",
        )  # fmt: skip
        band = st.toggle(
            "Consistency band (95\u00a0%)", value=shape == "CORP", key=f"rel/band/{shape}", persist_state="session",
            help="A grey band: 95\u00a0% of the curves that a calibrated model with the same confidences would show.",
        )  # fmt: skip
    return Options(scale, binning, n_bins, target, shape, band)


def with_class_view(chosen: list[ShownFit], options: Options) -> list[ShownFit]:
    """Those that can be shown so: of one class, the methods that give it a probability; says which are left out."""
    left_out = [fit.title for fit in chosen if not fit.calibrator.gives_probabilities]
    if options.target is None or not left_out:
        return chosen
    st.caption(
        f"{listed(left_out)} {'gives' if len(left_out) == 1 else 'give'} a confidence in the predicted class only, "
        "and no probability of one class."
    )
    return [fit for fit in chosen if fit.title not in left_out]


def show_only(session: OpenSession, fits: Sequence[ShownFit], key: str) -> None:
    """Have the page open with one fit beside the raw model, which is the first."""
    session.picked[CHOSEN] = {fit.key: fit.key in (fits[0].key, key) for fit in fits}


def curve_of(fit: ShownFit, options: Options) -> ReliabilityCurve:
    """The curve in bins, of the confidence in the prediction or of one class's probability."""
    return replace(binned(fit, options).curve, target=options.target)


def binned(fit: ShownFit, options: Options) -> Binned:
    """The curve in the chosen bins with the ECE; every shape has its rows from it."""
    return ready(
        ("curve", fit.key, options.binning, options.n_bins, options.target),
        f"the curve of {fit.title}",
        partial(binned_curve, n_bins=options.n_bins, binning=options.binning, clusters=fit.evaluation.clusters),
        *pair_of(fit, options.target),
    )


def cumulative(fit: ShownFit, options: Options) -> CumulativeTest:
    """The test without bins."""
    key, what = ("cumulative", fit.key, options.target), f"the cumulative test of {fit.title}"
    return ready(key, what, cumulative_test, *pair_of(fit, options.target))


def corp(fit: ShownFit, options: Options) -> CorpCurve:
    """The curve of isotonic regression."""
    key = ("corp", fit.key, options.target)
    return ready(key, f"the CORP curve of {fit.title}", corp_curve, *pair_of(fit, options.target))


def band(fit: ShownFit, options: Options) -> ConsistencyBand | None:
    """Where the chosen curve of a calibrated model lies; None where that is not asked for."""
    if not options.band:
        return None
    confidence, _ = pair_of(fit, options.target)
    key, what = ("band", fit.key, options.shape, options.target), f"the consistency band of {fit.title}"
    if options.shape == "CORP":
        return ready(key, what, corp_consistency, confidence)
    curve = binned(fit, options).curve
    return ready((*key, options.binning, options.n_bins), what, binned_consistency, curve, confidence)


def histogram(fit: ShownFit, options: Options) -> ConfidenceHistogram | None:
    """What is said by outcome; of one class there is no such thing, and bins' counts are drawn."""
    if options.target is not None:
        return None
    compute = partial(confidence_histogram, scale=options.scale, logit_limits=fit.evaluation.view.logit_limits)
    key = ("histogram", fit.key, options.scale)
    return ready(key, f"the histogram of {fit.title}", compute, *fit.evaluation.pair)


def pair_of(fit: ShownFit, target: int | None) -> tuple[Floats, Bools]:
    """What is said and what it should match: the top label's, or one class's probability and occurrence."""
    return fit.evaluation.pair if target is None else pair_of_class(fit, target)
