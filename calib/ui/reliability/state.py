"""State of the Reliability page: its controls, and the curves, each computed once."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from calib.diagnostics.reliability import (
    ConfidenceHistogram,
    CorpCurve,
    ReliabilityCurve,
    confidence_histogram,
    corp_curve,
    default_bins,
    ece_interval,
    reliability_curve,
)
from calib.diagnostics.smooth_reliability import (
    ConsistencyBand,
    SmoothCurve,
    binned_consistency,
    corp_consistency,
    smooth_consistency,
    smooth_curve,
)
from calib.formatting import listed
from calib.metrics import BINNINGS
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools
from calib.numerics import Floats
from calib.plots.axes import Scale
from calib.ui.fits import ShownFit
from calib.ui.session import OpenSession, current_session, keep
from calib.ui.text import binning_name

VIEWS = ("Classic", "Logit-scaled", "Gap")
SHAPES = ("Bins", "Smooth", "CORP")


@dataclass(frozen=True)
class Options:
    """What the visitor chose to look at.

    Attributes
    ----------
    view : one of ``VIEWS``.
    binning, n_bins : the bins of the dots, of the gap view and of the rows to list.
    target : a class, or None for the predicted one.
    shape : one of ``SHAPES``; the gap view has bins whatever it is.
    band : whether to show the consistency band.
    """

    view: str
    binning: str
    n_bins: int
    target: int | None
    shape: str
    band: bool

    @property
    def scale(self) -> Scale:
        """Scale of the axes."""
        return "logit" if self.view == "Logit-scaled" else "linear"


def controls(raw: ShownFit, session: OpenSession) -> Options:
    """The controls most people leave alone; the scale begins where the raw model's confidences are readable."""
    said, _ = raw.evaluation.pair
    n, class_names = len(said), session.data.class_names
    begin = "Logit-scaled" if (said > 0.9).mean() > 0.5 else "Classic"
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
        target = None
        if session.view.column is None:  # in the other views there is but one probability
            target = last.selectbox(
                "Reliability of",
                [None, *range(len(class_names))],
                format_func=lambda k: class_names[k] if k is not None else "the predicted class",
                key="rel/target",
                persist_state="session",
            )
        shape, band = _curve(gap=view == "Gap")
    return Options(view or begin, binning, int(n_bins), target, shape, band)


def _curve(gap: bool) -> tuple[str, bool]:
    """What is drawn through the rows, and whether the band of chance goes with it; the gap view has bins."""
    left, right = st.columns(2, vertical_alignment="bottom")
    shape = left.segmented_control(
        "Curve", SHAPES, default="Bins", required=True, key="rel/shape", persist_state="session", disabled=gap,
        help="Bins average groups of rows; Smooth lets each row count for its neighbourhood; CORP pools rows until the "
        "curve rises, by isotonic regression. The gap view has bins.",
    ) or "Bins"  # fmt: skip
    band = right.toggle(
        "Consistency band (95 %)", value=shape == "CORP", key=f"rel/band/{shape}",
        persist_state="session", disabled=gap,
        help="A grey band: 95 % of the curves that a calibrated model with the same confidences would show.",
    )  # fmt: skip
    return ("Bins", False) if gap else (shape, band)


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


@dataclass(frozen=True)
class Binned:
    """A curve with the interval of its ECE."""

    curve: ReliabilityCurve
    interval: Interval


def curves_of(chosen: list[ShownFit], options: Options) -> list[ReliabilityCurve]:
    """One curve in bins per method, of the confidence in the prediction or of one class's probability."""
    return [binned(fit, options).curve for fit in chosen]


def binned(fit: ShownFit, options: Options) -> Binned:
    """The curve in the chosen bins; every shape has its rows and its limits from it."""

    def compute() -> Binned:
        confidence, outcome = _pair(fit, options.target)
        clusters = fit.evaluation.clusters
        curve = reliability_curve(
            confidence, outcome, n_bins=options.n_bins, binning=options.binning, clusters=clusters
        )
        return Binned(curve, ece_interval(curve, confidence, outcome, clusters=clusters))

    return keep(("curve", fit.key, options.binning, options.n_bins, options.target), compute)


def smooth(fit: ShownFit, options: Options) -> SmoothCurve:
    """The curve under a kernel."""
    return keep(
        ("smooth", fit.key, options.target),
        lambda: smooth_curve(*_pair(fit, options.target), clusters=fit.evaluation.clusters),
    )


def corp(fit: ShownFit, options: Options) -> CorpCurve:
    """The curve of isotonic regression."""
    return keep(("corp", fit.key, options.target), lambda: corp_curve(*_pair(fit, options.target)))


def band(fit: ShownFit, options: Options) -> ConsistencyBand | None:
    """Consistency band of the chosen curve: where it lies for a calibrated model; None where it is not asked for."""
    if not options.band:
        return None

    def compute() -> ConsistencyBand:
        confidence, _ = _pair(fit, options.target)
        if options.shape == "Smooth":
            return smooth_consistency(smooth(fit, options), confidence)
        if options.shape == "CORP":
            return corp_consistency(confidence)
        return binned_consistency(binned(fit, options).curve, confidence)

    bins = (options.binning, options.n_bins) if options.shape == "Bins" else ()
    return keep(("band", fit.key, options.shape, options.target, *bins), compute)


def histogram(fit: ShownFit, options: Options) -> ConfidenceHistogram | None:
    """What is said by outcome; of one class there is no such thing, and bins' counts are drawn."""
    limits = fit.evaluation.view.logit_limits
    if options.target is not None:
        return None
    return confidence_histogram(*fit.evaluation.pair, scale=options.scale, logit_limits=limits)


def _pair(fit: ShownFit, target: int | None) -> tuple[Floats, Bools]:
    """What is said and what it should match: the top label's, or one class's probability and occurrence."""
    if target is None:
        return fit.evaluation.pair
    test = current_session().test
    return fit.calibrator.predict_proba(test.logits)[:, target].copy(), test.labels == target
