"""Sentences of the Reliability page: how to read each figure, and the number above it."""

from __future__ import annotations

from dataclasses import dataclass

from calib.formatting import brief
from calib.ui.fits import ShownFit
from calib.ui.reliability import state as reliability_curves
from calib.ui.reliability.state import Options
from calib.ui.text import binning_name

_BINS = (
    "Each dot is a bin of predictions: mean confidence (across) against accuracy (up), with its 95 % Wilson interval. "
    "On the dotted diagonal confidence equals accuracy; below it the method is "
    "overconfident, above it underconfident. Beneath: how many predictions have which confidence, their mean "
    "confidence (dashed) and the accuracy (solid)."
)
_GAP = (
    "Accuracy minus confidence over the rank of the confidence. Below zero the method is overconfident; bands are "
    "95 % Wilson intervals, so a band that covers zero shows no miscalibration there."
)
_SMOOTH = (
    "The line is the accuracy among predictions of about the same confidence, each counting by its distance; the "
    "shaded band is its 95 % bootstrap interval. On the dotted diagonal confidence equals accuracy; below "
    "it the method is overconfident, above it underconfident. The line stops where fewer than five predictions are "
    "near. "
    "Beneath: how many predictions have which confidence."
)
_CORP = (
    "The line is the best rising curve through the outcomes (isotonic regression): level where predictions of "
    "different confidence are right equally often. Below the dotted diagonal the method is overconfident. The "
    "outermost steps rest on few predictions and often reach 0 or 1. Beneath: how many predictions have which "
    "confidence."
)
_COARSE = (
    " The kernel is equally wide for all confidences, so that on this scale it does not resolve confidences near 1; "
    "where the smoothed accuracy would exceed 1 it is cut."
)
_BAND = (
    " The grey band is the consistency band: 95 % of the curves of a calibrated model with the same confidences lie "
    "in it, point by point."
    ""
)


def how_to_read(options: Options) -> str:
    """How to read the chosen picture."""
    if options.view == "Gap":
        return _GAP
    coarse = _COARSE if options.shape == "Smooth" and options.scale == "logit" else ""
    return {"Bins": _BINS, "Smooth": _SMOOTH, "CORP": _CORP}[options.shape] + coarse + (_BAND if options.band else "")


def note(options: Options) -> str:
    """What the number over the pictures is, and where it is found again."""
    if options.shape == "Smooth":
        return "Smooth ECE needs no bins: its kernel is as wide as the error itself. Compare has it under More scores."
    if options.shape == "CORP":
        return (
            "Brier score of the confidence = miscalibration − discrimination + uncertainty; miscalibration is what the "
            "best rising curve would save. Chance alone makes it more than 0."
        )
    return (
        f"ECE here is in the {options.n_bins} {binning_name(options.binning)} bins of the pictures; Compare gives it "
        "in the papers' 15 bins of equal width."
    )


@dataclass(frozen=True)
class Headline:
    """The number over a picture, its name and meaning, and the line beneath it."""

    label: str
    value: float
    meaning: str
    beneath: str


def headline(fit: ShownFit, options: Options) -> Headline:
    """The error that belongs to the chosen picture."""
    if options.shape == "Smooth":
        value, low, high = reliability_curves.smooth(fit, options).error
        meaning = "Mean distance of the curve from the diagonal."
        return Headline("Smooth ECE", value, meaning, f"Smooth ECE 95 %: {brief(low)} to {brief(high)}")
    if options.shape == "CORP":
        parts = reliability_curves.corp(fit, options).parts
        return Headline(
            "Miscalibration", parts.miscalibration,
            "What the best rising curve would save of the Brier score of the confidence.",
            f"Discrimination {brief(parts.discrimination)}, uncertainty {brief(parts.uncertainty)}",
        )  # fmt: skip
    binned = reliability_curves.binned(fit, options)
    return Headline(
        "ECE", binned.curve.ece,
        f"Mean gap between confidence and accuracy over {options.n_bins} bins ({binning_name(options.binning)}).",
        f"ECE 95 %: {brief(binned.interval.low)} to {brief(binned.interval.high)}",
    )  # fmt: skip
