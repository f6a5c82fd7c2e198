"""State of the Reliability page: its controls, and the curves, each computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from calib.diagnostics.reliability import (
    Binned,
    ConfidenceHistogram,
    ConsistencyBand,
    CorpCurve,
    ReliabilityCurve,
    binned_consistency,
    binned_curve,
    confidence_histogram,
    corp_consistency,
    corp_curve,
    default_bins,
)
from calib.formatting import listed
from calib.metrics import BINNINGS, CumulativeTest, cumulative_test
from calib.metrics.confidence import Bools
from calib.numerics import Floats
from calib.plots.axes import Scale
from calib.ui.fits import ShownFit, pair_of_class, ready
from calib.ui.session import OpenSession
from calib.ui.text import binning_name
from calib.ui.widgets import segments

VIEWS = ("Linear", "Logit")
CROWDED = 0.9
"""Where more than half of what is said exceeds this, or is below 1 minus it, a linear axis shows nothing."""
SHAPES = ("Bins", "CORP")


@dataclass(frozen=True)
class Options:
    """What the visitor chose to look at.

    Attributes
    ----------
    view : one of ``VIEWS``.
    binning, n_bins : the bins of the dots and of the rows to list.
    target : a class, or None for the predicted one.
    shape : one of ``SHAPES``.
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
        return "logit" if self.view == "Logit" else "linear"


def crowded(raw: ShownFit) -> float:
    """Share of the rows in the corners next to 0 and 1."""
    said = raw.evaluation.pair[0]
    return float(((said > CROWDED) | (said < 1 - CROWDED)).mean())


def axes(raw: ShownFit) -> str:
    """Let the visitor pick one of ``VIEWS``; it begins where the raw model's confidences are readable."""
    begin = "Logit" if crowded(raw) > 0.5 else "Linear"
    return segments("Axes", VIEWS, begin, f"rel/view/{begin}")


def controls(view: str, session: OpenSession) -> Options:
    """The controls most people leave alone."""
    n, class_names = len(session.test), session.data.class_names
    with st.expander("Bins, curve and class"):
        left, middle, right = st.columns(3)
        binning = left.selectbox(
            "Bins",
            list(BINNINGS),
            index=list(BINNINGS).index("equal_mass"),
            format_func=binning_name,
            key="rel/binning",
            persist_state="session",
            help="Equal mass gives every bin the same number of rows; equal width is the papers' convention.",
        )
        standard = default_bins(n) if binning == "equal_mass" else 15
        n_bins = middle.number_input(
            "Number of bins", 2, 100, standard, key=f"rel/bins/{binning}", persist_state="session"
        )
        target = None
        if session.view.column is None:  # in the other views there is but one probability
            target = right.selectbox(
                "Reliability of",
                [None, *range(len(class_names))],
                format_func=lambda k: class_names[k] if k is not None else "the predicted class",
                key="rel/target",
                persist_state="session",
            )
        shape, band = _curve()
    return Options(view, binning, int(n_bins), target, shape, band)


def _curve() -> tuple[str, bool]:
    """What is drawn through the rows, and whether the consistency band goes with it."""
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        shape = segments(
            "Curve", SHAPES, "Bins", "rel/shape",
            help="Bins average groups of rows; CORP pools rows until the curve rises, by isotonic regression, so that "
            "there are no bins to choose.",
        )  # fmt: skip
    band = right.toggle(
        "Consistency band (95\u00a0%)", value=shape == "CORP", key=f"rel/band/{shape}",
        persist_state="session",
        help="A grey band: 95\u00a0% of the curves that a calibrated model with the same confidences would show.",
    )  # fmt: skip
    return shape, band


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


CHOSEN = "reliability/methods"
"""Key of the choice of methods."""


def show_only(session: OpenSession, fits: Sequence[ShownFit], key: str) -> None:
    """Have the page open with one fit beside the raw model, which is the first."""
    session.picked[CHOSEN] = {fit.key: fit.key in (fits[0].key, key) for fit in fits}


def curves_of(chosen: list[ShownFit], options: Options) -> list[ReliabilityCurve]:
    """One curve in bins per method, of the confidence in the prediction or of one class's probability."""
    return [replace(binned(fit, options).curve, target=options.target) for fit in chosen]


def binned(fit: ShownFit, options: Options) -> Binned:
    """The curve in the chosen bins; every shape has its rows from it."""
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


def line(fit: ShownFit, options: Options) -> CorpCurve | None:
    """What is drawn in place of the bins, if anything."""
    return None if options.shape == "Bins" else corp(fit, options)


def corp(fit: ShownFit, options: Options) -> CorpCurve:
    """The curve of isotonic regression."""
    key = ("corp", fit.key, options.target)
    return ready(key, f"the CORP curve of {fit.title}", corp_curve, *pair_of(fit, options.target))


def band(fit: ShownFit, options: Options) -> ConsistencyBand | None:
    """Consistency band of the chosen curve: where it lies for a calibrated model; None where it is not asked for."""
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
    if target is None:
        return fit.evaluation.pair
    return pair_of_class(fit, target)
