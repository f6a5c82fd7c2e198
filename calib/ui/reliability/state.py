"""The curves of the Reliability page, computed once for each fit and choice."""

from __future__ import annotations

from dataclasses import dataclass

from calib.diagnostics.consistency import ConsistencyBand, binned_consistency, corp_consistency, smooth_consistency
from calib.diagnostics.corp import CorpCurve, corp_curve
from calib.diagnostics.histogram import ConfidenceHistogram, confidence_histogram
from calib.diagnostics.reliability import ReliabilityCurve, ece_interval, reliability_curve
from calib.diagnostics.smooth_reliability import SmoothCurve, smooth_curve
from calib.metrics.bootstrap import Interval
from calib.metrics.top_label import Bools
from calib.numerics import Floats
from calib.ui import fits
from calib.ui.fits import ShownFit
from calib.ui.reliability.reliability_options import Options
from calib.ui.session import keep, session


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
        curve = reliability_curve(confidence, outcome, n_bins=options.n_bins, binning=options.binning)
        return Binned(curve, ece_interval(curve, confidence, outcome))

    return keep(("curve", fit.key, options.binning, options.n_bins, options.target), compute)


def smooth(fit: ShownFit, options: Options) -> SmoothCurve:
    """The curve under a kernel."""
    return keep(("smooth", fit.key, options.target), lambda: smooth_curve(*_pair(fit, options.target)))


def corp(fit: ShownFit, options: Options) -> CorpCurve:
    """The curve of isotonic regression."""
    return keep(("corp", fit.key, options.target), lambda: corp_curve(*_pair(fit, options.target)))


def band(fit: ShownFit, options: Options) -> ConsistencyBand | None:
    """Where chance would put the chosen curve of a calibrated model; None where it is not asked for."""
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
    """Confidences of right and wrong predictions; of one class there is no such thing, and bins' counts are drawn."""
    return confidence_histogram(*fit.evaluation.pair, scale=options.scale) if options.target is None else None


def _pair(fit: ShownFit, target: int | None) -> tuple[Floats, Bools]:
    """What is said and what it should match: the top label's, or one class's probability and occurrence."""
    if target is None:
        return fit.evaluation.pair
    test = session().test
    assert test is not None
    return fits.class_probability(fit, target), test.labels == target
