"""Sentences of the Reliability page: how to read each figure, and the number above it."""

from __future__ import annotations

from dataclasses import dataclass

from calib.evaluation.comparison_table import NEGLIGIBLE
from calib.evaluation.view import View
from calib.formatting import brief, escape_markdown, listed, percent
from calib.ui.fits import ShownFit
from calib.ui.reliability import state as reliability_curves
from calib.ui.reliability.state import CROWDED, Options
from calib.ui.text import binning_name, literal

MOST_NAMED = 3

_LEAN = "On the dotted diagonal {said} equals {outcome}; below it the method {is_}{over}, above it {is_}{under}."
_BINS = (
    "Each dot is a bin of predictions: {mean_said} (across) against {outcome} (up), with its 95\u00a0% Wilson "
    "interval. " + _LEAN + " Beneath: {beneath}, the {mean_said} (dashed) and the {outcome} (solid)."
)
_CORP = (
    "The line is the isotonic regression of outcomes on predictions: level where predictions of "
    "different {said} come true equally often. Below the dotted diagonal the method {is_}{over}. The "
    "outermost steps rest on few predictions and often reach 0 or 1. Beneath: {beneath}."
)
_BAND = (
    " The grey band is the consistency band: at each point, 95\u00a0% of the curves of a calibrated model with the "
    "same predictions lie in it."
)


def how_to_read(options: Options, view: View) -> str:
    """How to read the chosen picture."""
    picture = {"Bins": _BINS, "CORP": _CORP}[options.shape]
    return _in_words(picture, view) + (_BAND if options.band else "")


def bins_in_words(view: View) -> str:
    """How to read a diagram in bins."""
    return _in_words(_BINS, view)


def _in_words(text: str, view: View) -> str:
    return text.format(
        said=view.said, outcome=view.outcome, Said=view.said.capitalize(), mean_said=view.mean_said,
        is_=view.is_, over=view.over, under=view.under, beneath=view.histogram,
    )  # fmt: skip


def axes_note(options: Options, crowded: float, view: View) -> str:
    """Why the axes are stretched and what lies at their ends; nothing where they are linear."""
    if options.scale == "linear":
        return ""
    why = ""
    if crowded > 0.5:
        ends = f"exceed {CROWDED:g} or are below {1 - CROWDED:.1g}"
        why = f", since {percent(crowded, 0)} of the raw model's values {ends}"
    opened = " Bins of which none or all rows came true are open, at the end." if options.shape == "Bins" else ""
    return f"Axes of log-odds: .9, .99 and .999 stand equally far apart{why}.{opened}"


def note(options: Options, view: View) -> str:
    """What the number over the pictures is, and where it is found again."""
    if options.shape == "CORP":
        return (
            f"Brier score of the {view.said} = miscalibration − discrimination + uncertainty; miscalibration is what "
            "isotonic recalibration would save. Chance alone makes it more than 0."
        )
    of = f"P({escape_markdown(view.event_name or 'event')})" if view.is_event else "the predicted class's confidence"
    of = of if options.target is None else "this class's probability"
    return (
        f"The ECE is that of {of} in 15 bins of equal width, on every page; the figures have {options.n_bins} "
        f"{binning_name(options.binning)} bins. Kuiper's test has none: p is how often the cumulated differences "
        "of a calibrated model spread as far."
    )


@dataclass(frozen=True)
class Headline:
    """The number over a picture, its name, and what goes with it."""

    label: str
    value: float
    more: str


def headline(fit: ShownFit, options: Options) -> Headline:
    """The error that belongs to the chosen picture."""
    if options.shape == "CORP":
        parts = reliability_curves.corp(fit, options).parts
        return Headline(
            "Miscalibration", parts.miscalibration,
            f"discrimination {brief(parts.discrimination)}, uncertainty {brief(parts.uncertainty)}",
        )  # fmt: skip
    binned = reliability_curves.binned(fit, options)
    return Headline(
        "ECE", binned.curve.ece, f"95\u00a0%: {brief(binned.interval.low)} to {brief(binned.interval.high)}"
    )


def scores(fit: ShownFit, first: ShownFit, options: Options) -> str:
    """Two lines above a diagram: its error with the NLL, and how much lower or higher than those of the first one."""
    here, there = headline(fit, options), headline(first, options)
    said = [f"{here.label} **{brief(here.value)}** ({here.more})"]
    changes = [_change(here.label, here.value - there.value)]
    if options.target is None and fit.evaluation.row_nll is not None and first.evaluation.row_nll is not None:
        nll, first_nll = float(fit.evaluation.row_nll.mean()), float(first.evaluation.row_nll.mean())
        said.append(f"NLL **{brief(nll)}**")
        changes.append(_change("NLL", nll - first_nll))
    p = reliability_curves.cumulative(fit, options).kuiper_p
    said.append(f"Kuiper's test p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}")
    beneath = "Changes are against this one." if fit.key == first.key else f"{', '.join(changes)}."
    return f"{' · '.join(said)}  \n{beneath}"


def _change(label: str, change: float) -> str:
    if abs(change) < NEGLIGIBLE:
        return f"{label} the same"
    return f"{label} {brief(abs(change))} {'lower' if change < 0 else 'higher'}"


def after(raw: ShownFit, chosen: list[ShownFit], options: Options) -> str:
    """What becomes of the raw model's error with the calibrators among those chosen."""
    others = [(headline(fit, options).value, fit.title) for fit in chosen if fit.key != raw.key]
    if not others:
        return ""
    before = headline(raw, options)
    becomes = [f"{brief(value)} with {literal(title)}" for value, title in sorted(others)]
    rest = [f"more with {len(becomes) - MOST_NAMED} others"] if len(becomes) > MOST_NAMED else []
    return f"Its {before.label} of {brief(before.value)} becomes {listed(becomes[:MOST_NAMED] + rest)}."
