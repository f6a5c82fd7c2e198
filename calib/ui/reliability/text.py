"""Sentences of the Reliability page: how to read each figure, and the numbers above it."""

from __future__ import annotations

from calib.evaluation import SCORES
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import brief, escape_markdown, listed
from calib.ui.fits import ShownFit
from calib.ui.reliability.state import Options, binned, corp, cumulative
from calib.ui.text import binning_name, literal

MOST_NAMED = 3


def how_to_read(options: Options, view: View) -> str:
    """How to read the chosen picture."""
    if options.shape == "Bins":
        said = bins_in_words(view)
    else:
        said = (
            "The line is the isotonic regression of outcomes on predictions: level where predictions of different "
            f"{view.said} come true equally often. Below the dotted diagonal the method {view.is_}{view.over}. The "
            "outermost steps rest on few predictions and often reach 0 or 1. Beneath: "
            f"{view.histogram}."
        )
    if options.scale == "logit":
        said += " On log-odds .9, .99 and .999 stand equally far apart; bins of 0 or 1 are open, at the end."
    if options.band:
        said += (
            " The grey band is the consistency band: at each point, 95\u00a0% of the curves of a calibrated model with "
            "the same predictions lie in it."
        )
    return said


def bins_in_words(view: View) -> str:
    """How to read a diagram in bins."""
    return (
        f"Each dot is a bin of predictions: {view.mean_said} (across) against {view.outcome} (up), with its 95\u00a0% "
        f"Wilson interval. On the dotted diagonal {view.said} equals {view.outcome}; below it the method "
        f"{view.is_}{view.over}, above it {view.is_}{view.under}. Beneath: {view.histogram}, the {view.mean_said} "
        f"(dashed) and the {view.outcome} (solid)."
    )


def note(options: Options, view: View) -> str:
    """What the number over the pictures is, and where it is found again."""
    if options.shape == "CORP":
        return (
            f"Brier score of the {view.said} = miscalibration − discrimination + uncertainty; miscalibration is what "
            "isotonic recalibration would save. Chance alone makes it more than 0."
        )
    of = f"P({escape_markdown(view.event_name or 'event')})" if view.is_event else "the confidence"
    of = of if options.target is None else "this class's probability"
    return (
        f"The ECE is that of {of} in 15 bins of equal width, on every page; the figures have {options.n_bins} "
        f"{binning_name(options.binning)} bins. Kuiper's test needs no bins: p is the share of calibrated models that "
        "would look at least as far off."
    )


def scores(fit: ShownFit, options: Options) -> str:
    """The line above a diagram: its error with the NLL, and the test without bins."""
    if options.shape == "CORP":
        parts = corp(fit, options).parts
        beside = f"discrimination {brief(parts.discrimination)}, uncertainty {brief(parts.uncertainty)}"
        said = [f"Miscalibration **{brief(parts.miscalibration)}** ({beside})"]
    else:
        found = binned(fit, options)
        ends = f"95\u00a0%: {brief(found.interval.low)} to {brief(found.interval.high)}"
        said = [f"{_error_name(fit, options)} **{brief(found.curve.ece)}** ({ends})"]
    if options.target is None and fit.evaluation.row_nll is not None:
        said.append(f"NLL **{brief(float(fit.evaluation.row_nll.mean()))}**")
    p = cumulative(fit, options).kuiper_p
    said.append(f"Kuiper p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}".replace(" ", "\u00a0"))
    return "\u00a0· ".join(said)


def _error_name(fit: ShownFit, options: Options) -> str:
    return SCORES["ECE"].seen(fit.evaluation.view if options.target is None else TOP_LABEL).title


def after(raw: ShownFit, chosen: list[ShownFit], options: Options) -> str:
    """What becomes of the raw model's error with the calibrators among those chosen."""
    name = "miscalibration" if options.shape == "CORP" else _error_name(raw, options)

    def error(fit: ShownFit) -> float:
        return corp(fit, options).parts.miscalibration if options.shape == "CORP" else binned(fit, options).curve.ece

    others = sorted((error(fit), fit.title) for fit in chosen if fit.key != raw.key)
    if not others:
        return ""
    becomes = [f"{brief(value)} with {literal(title)}" for value, title in others]
    rest = [f"more with {len(becomes) - MOST_NAMED} others"] if len(becomes) > MOST_NAMED else []
    return f"Its {name} of {brief(error(raw))} becomes {listed(becomes[:MOST_NAMED] + rest)}."
