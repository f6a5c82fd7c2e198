"""The parts of the Reliability page: its controls, the diagrams side by side, and the rows of a bin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.compare import NOTHING
from calib.metrics import BINNINGS
from calib.metrics.intervals import Interval
from calib.metrics.top_label import Bools
from calib.numerics import Floats
from calib.plots.reliability import Scale, common_limits, gap_diagram, reliability_diagram
from calib.reliability import (
    ConfidenceHistogram,
    ReliabilityCurve,
    confidence_histogram,
    default_bins,
    ece_interval,
    reliability_curve,
)
from calib.ui import figures, fits
from calib.ui.fits import ShownFit
from calib.ui.session import keep, session
from calib.ui.wording import binning_name, brief, listed, number, percent, signed

VIEWS = ("Classic", "Logit-scaled", "Gap")
HOW_TO_READ = (
    "Each dot is a bin of predictions: how sure the method is (across) against how often it is right (up), with its "
    "95 % Wilson interval. On the dotted diagonal confidence can be taken at its word; below it the method is "
    "overconfident, above it underconfident. Beneath: how many predictions have which confidence, their mean "
    "confidence (dashed) and the accuracy (solid)."
)
HOW_TO_READ_GAP = (
    "Predictions are ordered by confidence, each with the same room. Below zero the method claims more than it "
    "keeps; bands are 95 % Wilson intervals, so a band that covers zero shows no miscalibration there."
)
DIAGRAM_PIXELS = 245
"""Four diagrams and the menu fill a window of 1500 pixels; narrower windows take fewer in a row."""
BENEATH_PIXELS = 115
"""Height of the histogram beneath a square diagram."""


@dataclass(frozen=True)
class Options:
    """What the visitor chose to look at."""

    view: str
    binning: str
    n_bins: int
    target: int | None


def controls(raw: ShownFit) -> Options:
    """The controls most people leave alone; the scale begins where the raw model's confidences are readable."""
    now = session()
    assert now.data is not None
    n = len(raw.evaluation.confidence)
    begin = "Logit-scaled" if (raw.evaluation.confidence > 0.9).mean() > 0.5 else "Classic"
    with st.expander("View, bins and class"):
        left, middle, right, last = st.columns(4)
        view = left.segmented_control(
            "View", VIEWS, default=begin, required=True, key=f"rel/view/{begin}", persist_state="session"
        )
        binning = middle.selectbox(
            "Bins",
            list(BINNINGS),
            index=list(BINNINGS).index("equal_mass"),
            format_func=binning_name,
            key="rel/binning",
            persist_state="session",
            help="Equal mass gives every bin the same number of rows; equal width is the papers' convention.",
        )
        standard = default_bins(n) if binning == "equal_mass" else 15
        n_bins = right.number_input(
            "Number of bins", 2, 100, standard, key=f"rel/bins/{binning}", persist_state="session"
        )
        names = now.data.class_names
        target = last.selectbox(
            "Reliability of",
            [None, *range(len(names))],
            format_func=lambda k: "the predicted class" if k is None else names[k],
            key="rel/target",
            persist_state="session",
        )
    return Options(view or begin, binning, int(n_bins), target)


def with_class_view(chosen: list[ShownFit], options: Options) -> list[ShownFit]:
    """Those that can be shown so: of one class, the methods that give it a probability; says which are left out."""
    if options.target is None:
        return chosen
    left_out = [fit.title for fit in chosen if not fit.calibrator.gives_probabilities]
    if left_out:
        st.caption(
            f"{listed(left_out)} {'gives' if len(left_out) == 1 else 'give'} a confidence in the predicted class only, "
            'and no probability of one class: look at the reliability of "the predicted class" to see '
            f"{'it' if len(left_out) == 1 else 'them'}."
        )
    return [fit for fit in chosen if fit.title not in left_out]


def curves_of(chosen: list[ShownFit], options: Options) -> list[ReliabilityCurve]:
    """One curve per method, of the confidence in the prediction or of one class's probability."""
    return [_binned(fit, options).curve for fit in chosen]


@dataclass(frozen=True)
class Binned:
    """A curve with the interval of its ECE."""

    curve: ReliabilityCurve
    interval: Interval


def _binned(fit: ShownFit, options: Options) -> Binned:
    def compute() -> Binned:
        confidence, outcome = _pair(fit, options.target)
        curve = reliability_curve(confidence, outcome, n_bins=options.n_bins, binning=options.binning)
        return Binned(curve, ece_interval(curve, confidence, outcome))

    return keep(("curve", fit.key, options.binning, options.n_bins, options.target), compute)


def _pair(fit: ShownFit, target: int | None) -> tuple[Floats, Bools]:
    """What is binned and what it should match: the top label's, or one class's probability and occurrence."""
    if target is None:
        return fit.evaluation.pair
    test = session().test
    assert test is not None
    return fits.class_probability(fit, target), test.labels == target


def diagrams(
    chosen: list[ShownFit], curves: list[ReliabilityCurve], options: Options
) -> tuple[ShownFit, ReliabilityCurve, int] | None:
    """Draw the diagrams, as many in a row as the window has room for; return the bin that was clicked last, if any."""
    scale: Scale = "logit" if options.view == "Logit-scaled" else "linear"
    limits = common_limits(curves, scale)
    selected = None
    st.caption(
        f"ECE here is in the {options.n_bins} {binning_name(options.binning)} bins of the pictures; Compare gives it "
        "in the papers' 15 bins of equal width."
    )
    width = DIAGRAM_PIXELS if len(chosen) > 1 else 2 * DIAGRAM_PIXELS
    with st.container(horizontal=True, gap="small"):
        for fit, curve in zip(chosen, curves, strict=True):
            with st.container(width=width):
                _scores(fit, curve, chosen[0], curves[0], options)
                histogram = _histogram(fit, options, scale)
                fig = keep(
                    ("diagram", fit.key, fit.style, options, scale, limits, width),
                    partial(
                        reliability_diagram, curve, fit.style, scale=scale, limits=limits, histogram=histogram,
                        height=width + BENEATH_PIXELS,
                    ),
                )  # fmt: skip
                bins = figures.show_selectable(fig, f"reliability-{fit.title}", HOW_TO_READ)
                if bins:
                    selected = (fit, curve, bins[-1])
    return selected


def gaps(chosen: list[ShownFit], curves: list[ReliabilityCurve]) -> None:
    """Draw all methods in one gap diagram."""
    fig = gap_diagram([(fit.title, curve, fit.style) for fit, curve in zip(chosen, curves, strict=True)])
    figures.show(fig, "reliability-gap", HOW_TO_READ_GAP)


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
            st.caption("Click a dot in a diagram, or choose a bin here.")
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


def _scores(
    fit: ShownFit,
    curve: ReliabilityCurve,
    raw: ShownFit,
    raw_curve: ReliabilityCurve,
    options: Options,
) -> None:
    figures.method_title(fit.title, fit.style)
    left, right = st.columns(2)
    is_first = fit.key == raw.key
    _metric(
        left, "ECE", curve.ece, None if is_first else curve.ece - raw_curve.ece,
        f"Mean gap between confidence and accuracy over {options.n_bins} bins ({binning_name(options.binning)}).",
    )  # fmt: skip
    _, low, high = _binned(fit, options).interval
    st.caption(f"ECE 95 %: {brief(low)} to {brief(high)}")
    if options.target is None and fit.evaluation.row_nll is not None and raw.evaluation.row_nll is not None:
        nll, raw_nll = float(fit.evaluation.row_nll.mean()), float(raw.evaluation.row_nll.mean())
        _metric(
            right, "NLL", nll, None if is_first else nll - raw_nll,
            "Mean negative log-likelihood of the true class, in nats.",
        )  # fmt: skip


def _metric(place: DeltaGenerator, label: str, value: float, change: float | None, meaning: str) -> None:
    """A score with its change beneath; the one that others are compared with says so, so that rows align."""
    if change is not None and abs(change) < NOTHING:
        place.metric(label, brief(value), delta="no change", delta_color="off", delta_arrow="off", help=meaning)
    elif change is None:
        place.metric(label, brief(value), delta="reference", delta_color="off", delta_arrow="off", help=meaning)
    else:
        place.metric(label, brief(value), delta=signed(change), delta_color="inverse", help=meaning)


def _histogram(fit: ShownFit, options: Options, scale: Scale) -> ConfidenceHistogram | None:
    # Of one class there is no right or wrong; the curve's own counts are drawn instead.
    return confidence_histogram(*fit.evaluation.pair, scale=scale) if options.target is None else None
