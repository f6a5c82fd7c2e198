"""Sentences of the Reliability page: how to read each figure, and the number above it."""

from __future__ import annotations

from dataclasses import dataclass

from calib.evaluation.view import View
from calib.formatting import brief
from calib.ui.fits import ShownFit
from calib.ui.reliability import state as reliability_curves
from calib.ui.reliability.state import Options
from calib.ui.text import binning_name

_LEAN = "On the dotted diagonal {said} equals {outcome}; below it the method {is_}{over}, above it {is_}{under}."
_BINS = (
    "Each dot is a bin of predictions: {mean_said} (across) against {outcome} (up), with its 95 % Wilson interval. "
    + _LEAN
    + " Beneath: {beneath}, the {mean_said} (dashed) and the {outcome} (solid)."
)
_GAP = (
    "{Outcome} minus {said} over the rank of the {said}. Below zero the method {is_}{over}; bands are "
    "95 % Wilson intervals, so a band that covers zero shows no miscalibration there."
)
_SMOOTH = (
    "The line is the {outcome} among predictions of about the same {said}, each counting by its distance; the "
    "shaded band is its 95 % bootstrap interval. "
    + _LEAN
    + " The line stops where fewer than five predictions are near. Beneath: {beneath}."
)
_CORP = (
    "The line is the best rising curve through the outcomes (isotonic regression): level where predictions of "
    "different {said} come true equally often. Below the dotted diagonal the method {is_}{over}. The "
    "outermost steps rest on few predictions and often reach 0 or 1. Beneath: {beneath}."
)
_COARSE = (
    " The kernel is equally wide everywhere, so that on this scale it does not resolve what is near 1; "
    "where the smoothed curve would exceed 1 it is cut."
)
_BAND = (
    " The grey band is the consistency band: 95 % of the curves of a calibrated model that says the same lie "
    "in it, point by point."
    ""
)


def how_to_read(options: Options, view: View) -> str:
    """How to read the chosen picture."""
    if options.view == "Gap":
        return _in_words(_GAP, view)
    coarse = _COARSE if options.shape == "Smooth" and options.scale == "logit" else ""
    picture = {"Bins": _BINS, "Smooth": _SMOOTH, "CORP": _CORP}[options.shape]
    return _in_words(picture, view) + coarse + (_BAND if options.band else "")


def _in_words(text: str, view: View) -> str:
    return text.format(
        said=view.said, outcome=view.outcome, Outcome=view.outcome.capitalize(), mean_said=view.mean_said,
        is_=view.is_, over=view.over, under=view.under, beneath=view.histogram,
    )  # fmt: skip


def note(options: Options, view: View) -> str:
    """What the number over the pictures is, and where it is found again."""
    if options.shape == "Smooth":
        return "Smooth ECE needs no bins: its kernel is as wide as the error itself. Compare has it under More scores."
    if options.shape == "CORP":
        return (
            f"Brier score of the {view.said} = miscalibration − discrimination + uncertainty; miscalibration is what "
            "the best rising curve would save. Chance alone makes it more than 0."
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
            f"What the best rising curve would save of the Brier score of the {fit.evaluation.view.said}.",
            f"Discrimination {brief(parts.discrimination)}, uncertainty {brief(parts.uncertainty)}",
        )  # fmt: skip
    binned, view = reliability_curves.binned(fit, options), fit.evaluation.view
    return Headline(
        "ECE", binned.curve.ece,
        f"Mean gap between {view.said} and {view.outcome} over {options.n_bins} bins "
        f"({binning_name(options.binning)}).",
        f"ECE 95 %: {brief(binned.interval.low)} to {brief(binned.interval.high)}",
    )  # fmt: skip
