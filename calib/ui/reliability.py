"""Parts of the Reliability page: the diagrams with their scores, the rows of a bin, and the panel of a risk model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from calib.diagnostics.corp import (
    ConsistencyBand,
    CorpCurve,
    binned_consistency,
    corp_consistency,
    corp_curve,
)
from calib.diagnostics.histograms import ConfidenceHistogram, confidence_histogram
from calib.diagnostics.reliability import Binned, ReliabilityCurve, binned_curve, default_bins
from calib.evaluation import SCORES
from calib.evaluation.score_registry import said_of_intervals
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import brief, escape_markdown, listed, number, percent, plural, with_interval
from calib.metrics import BINNINGS, CumulativeTest, cumulative_test
from calib.metrics.confidence import Bools
from calib.metrics.risk_measures import RiskMeasure
from calib.metrics.risk_panel import RiskModelPanel, risk_model
from calib.numerics import Floats
from calib.plots.axes import Scale
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import common_limits
from calib.plots.risk_model import prefers_logit, risk_limits, risk_model_diagram
from calib.plots.style import Limits
from calib.ui import widgets
from calib.ui.chosen_rows import choose_rows, chosen_rows, list_rows, show_clickable
from calib.ui.fits import ShownFit, beside_raw, pair_of_class, ready
from calib.ui.session import OpenSession
from calib.ui.text import binning_name, literal
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
    names = session.data.class_names
    binnings = list(BINNINGS)
    target = None
    with (
        st.expander("Bins, curve and class"),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        binning = st.selectbox(
            "Bins",
            binnings,
            binnings.index("equal_mass"),
            binning_name,
            key="rel/binning",
            persist_state="session",
            help="Equal mass gives every bin the same number of rows; equal width is the papers' convention.",
            width=160,
        )
        usual = default_bins(len(session.test)) if binning == "equal_mass" else 15
        most = max(100, usual)  # above 1,000,000 rows the default is larger
        n_bins = whole_number("Number of bins", 2, most, usual, f"rel/bins/{binning}", width=160)
        if session.view.column is None:  # in the other views there is but one probability
            target = st.selectbox(
                "Reliability of",
                [None, *range(len(names))],
                key="rel/target",
                persist_state="session",
                width=240,
                format_func=lambda k: "the predicted class" if k is None else names[k],
            )
        shape = segments(
            "Curve",
            ("Bins", "CORP"),
            "Bins",
            "rel/shape",
            help="Bins average groups of rows; CORP pools rows until the curve rises, by isotonic regression, so that "
            "there are no bins to choose.",
        )
        band = st.toggle(
            "Consistency band (95\u00a0%)",
            value=shape == "CORP",
            key=f"rel/band/{shape}",
            persist_state="session",
            help="A grey band: 95\u00a0% of the curves that a calibrated model with the same confidences would show.",
        )
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
        partial(
            binned_curve,
            n_bins=options.n_bins,
            binning=options.binning,
            clusters=fit.evaluation.clusters,
            weights=fit.evaluation.weights,
        ),
        *pair_of(fit, options.target),
    )


def cumulative(fit: ShownFit, options: Options) -> CumulativeTest:
    """The test without bins."""
    key = ("cumulative", fit.key, options.target)
    what = f"the cumulative test of {fit.title}"
    pair = pair_of(fit, options.target)
    return ready(key, what, cumulative_test, *pair, None, fit.evaluation.weights)


def corp(fit: ShownFit, options: Options) -> CorpCurve:
    """The curve of isotonic regression."""
    key = ("corp", fit.key, options.target)
    pair = pair_of(fit, options.target)
    what = f"the CORP curve of {fit.title}"
    return ready(key, what, corp_curve, *pair, None, fit.evaluation.weights)


def band(fit: ShownFit, options: Options) -> ConsistencyBand | None:
    """Where the chosen curve of a calibrated model lies; None where that is not asked for."""
    if not options.band:
        return None
    confidence, _ = pair_of(fit, options.target)
    key = ("band", fit.key, options.shape, options.target)
    what = f"the consistency band of {fit.title}"
    if options.shape == "CORP":
        return ready(key, what, corp_consistency, confidence)
    curve = binned(fit, options).curve
    return ready(
        (*key, options.binning, options.n_bins), what, binned_consistency, curve, confidence
    )


def histogram(fit: ShownFit, options: Options) -> ConfidenceHistogram | None:
    """What is said by outcome; of one class there is no such thing, and bins' counts are drawn."""
    if options.target is not None:
        return None
    compute = partial(
        confidence_histogram, scale=options.scale, logit_limits=fit.evaluation.view.logit_limits
    )
    key = ("histogram", fit.key, options.scale)
    return ready(key, f"the histogram of {fit.title}", compute, *fit.evaluation.pair)


def pair_of(fit: ShownFit, target: int | None) -> tuple[Floats, Bools]:
    """What is said and what it should match: the top label's, or one class's probability and occurrence."""
    return fit.evaluation.pair if target is None else pair_of_class(fit, target)


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
        beside = (
            f"discrimination {brief(parts.discrimination)}, uncertainty {brief(parts.uncertainty)}"
        )
        said = [f"Miscalibration **{brief(parts.miscalibration)}** ({beside})"]
    else:
        found = binned(fit, options)
        ends = f"95\u00a0%: {brief(found.interval.low)} to {brief(found.interval.high)}"
        said = [f"{_error_name(fit, options)} **{brief(found.curve.ece)}** ({ends})"]
    if options.target is None and fit.evaluation.row_nll is not None:
        nll = fit.evaluation.rows.mean(fit.evaluation.row_nll)
        said.append(f"NLL **{brief(nll)}**")
    p = cumulative(fit, options).kuiper_p
    said.append(f"Kuiper p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}".replace(" ", "\u00a0"))
    return "\u00a0· ".join(said)


def _error_name(fit: ShownFit, options: Options) -> str:
    return SCORES["ECE"].seen(fit.evaluation.view if options.target is None else TOP_LABEL).title


def after(raw: ShownFit, chosen: list[ShownFit], options: Options) -> str:
    """What becomes of the raw model's error with the calibrators among those chosen."""
    name = "miscalibration" if options.shape == "CORP" else _error_name(raw, options)

    def error(fit: ShownFit) -> float:
        return (
            corp(fit, options).parts.miscalibration
            if options.shape == "CORP"
            else binned(fit, options).curve.ece
        )

    others = sorted((error(fit), fit.title) for fit in chosen if fit.key != raw.key)
    if not others:
        return ""
    becomes = [f"{brief(value)} with {literal(title)}" for value, title in others]
    rest = [f"more with {len(becomes) - MOST_NAMED} others"] if len(becomes) > MOST_NAMED else []
    return f"Its {name} of {brief(error(raw))} becomes {listed(becomes[:MOST_NAMED] + rest)}."


DIAGRAM_PIXELS = 580
"""Height of a square diagram with its histogram; two stand side by side unless the window is narrow."""
BESIDE = "reliability/panel/beside"
"""Key of the choice of the method beside the raw model."""

_CURVE = (
    "The line is the observed rate at each predicted risk: a logistic regression on a restricted cubic spline of the "
    "log-odds, with its pointwise 95\u00a0% band. On the dotted diagonal the observed rate equals the predicted risk; "
    "below it risks are overestimated. Beneath: how many rows have which risk, above the line those with the event and "
    "below it those without."
)


def diagrams(chosen: list[ShownFit], options: Options) -> None:
    """Draw the diagrams, two in a row, with a ring where the rows lie that were chosen on any page."""
    view = chosen[0].evaluation.view
    curves = [curve_of(fit, options) for fit in chosen]
    lines = [corp(fit, options) for fit in chosen] if options.shape == "CORP" else []
    limits = common_limits(lines or curves, options.scale, view)
    rows = chosen_rows()
    for first in range(0, len(chosen), 2):
        places = st.columns(
            2, gap="medium", vertical_alignment="bottom"
        )  # scores take one line or two
        for place, k in zip(places, range(first, len(chosen)), strict=False):
            fit = chosen[k]
            with place:
                widgets.method_title(fit.title, fit.style)
                st.markdown(scores(fit, options))
                said, outcome = pair_of(fit, options.target)
                marked = (
                    None
                    if rows is None
                    else (float(said[rows.places].mean()), float(outcome[rows.places].mean()))
                )
                draw = partial(
                    reliability_diagram,
                    curves[k],
                    fit.style,
                    options.scale,
                    limits=limits,
                    histogram=histogram(fit, options),
                    height=DIAGRAM_PIXELS,
                    band=band(fit, options),
                    view=view,
                    line=lines[k] if lines else None,
                    marked=marked,
                )
                key = ("diagram", fit.key, fit.style, options, limits, marked)
                name = f"reliability-{fit.title}-{options.shape}"
                if options.shape == "Bins":
                    show_clickable(
                        key, draw, name, how_to_read(options, view), partial(_clicked, fit, options)
                    )
                else:
                    widgets.show_kept(key, draw, name, how_to_read(options, view))
    found = said_of_intervals(chosen[0].evaluation.n_clusters)
    ring = "Rings show where the chosen rows lie." if rows is not None else ""
    st.caption(" ".join(filter(None, (note(options, view), found, ring))))


def _clicked(fit: ShownFit, options: Options, trace: str, which: Any) -> None:
    if trace == "bins":
        _choose_bin(fit, options, int(which))


def _choose_bin(fit: ShownFit, options: Options, which: int) -> None:
    curve = curve_of(fit, options)
    pair = pair_of(fit, options.target)
    what = f"bin {which + 1} of {len(curve.count)}"
    choose_rows(fit, what, curve.bin_of_row == which, pair)


def bin_rows(chosen: list[ShownFit], options: Options) -> None:
    """List the rows that are chosen; a bin can be chosen here too, without a pointer."""
    list_rows()

    def choose_one() -> None:
        left, right = st.columns(2)
        titles = {fit.title: fit for fit in chosen}
        fit = titles[left.selectbox("Method", list(titles))]
        curve = curve_of(fit, options)
        said = fit.evaluation.view.said
        which = right.selectbox(
            "Bin",
            range(len(curve.count)),
            index=None,
            placeholder="Choose a bin",
            format_func=lambda b: (
                f"{said} about {number(float(curve.confidence[b]))}, {curve.count[b]:,} rows"
            ),
        )
        choose = partial(_choose_bin, fit, options, which or 0)
        st.button("List its rows", key="rows/list", disabled=which is None, on_click=choose)

    widgets.folded("Which rows are in a bin?", "reliability/rows", choose_one)


def panel_of(session: OpenSession, fit: ShownFit) -> RiskModelPanel:
    """The panel of one method on the test rows, computed by a worker."""
    seen = fit.evaluation
    kind = None if seen.weights is None else session.test.weight_kind
    what = f"the panel of {fit.title}"
    return ready(
        ("risk panel", fit.key), what, risk_model, *seen.pair, seen.weights, kind, seen.clusters
    )


def panel(session: OpenSession, fits: list[ShownFit], begin: ShownFit) -> None:
    """The panel of the raw model, and of one method beside it; ``begin`` is the one to begin with."""
    shown = fits[:1]
    if len(fits) > 1:
        shown = beside_raw(
            fits, widgets.one_fit(fits[1:], BESIDE, "Beside the raw model", begin, style="list")
        )
    panels = [(fit, panel_of(session, fit)) for fit in shown]
    widgets.show_table(_panel_table(panels), "measure", height="content")
    with st.popover("Definitions and intervals", icon=":material/help:", type="tertiary"):
        for measure in panels[0][1].measures:
            st.markdown(f"**{measure.title}:** {escape_markdown(measure.convention)}")
    st.caption(_about(panels[0][1]))
    curves = [panel.curve for _, panel in panels]
    limits = risk_limits(curves, "logit" if prefers_logit(curves[0]) else "linear")
    for place, (fit, panel) in zip(st.columns(2, gap="medium"), panels, strict=False):
        with place:
            _one_model(fit, panel, limits)


def _panel_table(panels: list[tuple[ShownFit, RiskModelPanel]]) -> pd.DataFrame:
    """One row per measure: each method's value with its interval, and what chance gives."""
    first = panels[0][1].measures
    table = pd.DataFrame({"measure": [measure.title for measure in first]})
    for fit, panel in panels:
        table[f"{fit.title}, 95\u00a0% interval"] = [
            with_interval((m.value, m.low, m.high)) for m in panel.measures
        ]
    for fit, panel in panels:
        table[f"{fit.title}, if calibrated"] = [
            _if_calibrated(measure) for measure in panel.measures
        ]
    return table


_PERFECT = {"oe": "1", "citl": "0", "slope": "1"}
"""What a calibrated model has on average, of measures that this is known of."""


def _if_calibrated(measure: RiskMeasure) -> str:
    if measure.calibrated is None:
        return _PERFECT.get(measure.key, "")
    median, most = measure.calibrated
    return f"{number(median)}, at most {number(most)}"


def _about(panel: RiskModelPanel) -> str:
    return (
        f"On {plural(panel.n, 'test row')}; the event happened in {percent(panel.event_rate)}. “If calibrated” is what "
        "a calibrated model with the same risks would have: of ICI, E50, E90 and Emax, which chance keeps above 0, the "
        "median and the value that 95\u00a0% of samples stay below."
    )


def _one_model(fit: ShownFit, panel: RiskModelPanel, limits: Limits) -> None:
    """The curve of one method on axes that both have, what restricts its numbers, and each number in a sentence."""
    view = fit.evaluation.view
    key = f"risk-panel-{fit.title}"
    widgets.method_title(fit.title, fit.style)
    if panel.notes:
        restricts = " ".join(panel.notes)
        if panel.too_few_events:
            st.warning(restricts, icon=":material/warning:")
        else:
            st.caption(restricts)
    stretched = (
        " Axes of log-odds, since most risks are below 0.1 or above 0.9."
        if prefers_logit(panel.curve)
        else ""
    )
    widgets.show_kept(
        (key, fit.key, fit.style, limits),
        partial(risk_model_diagram, panel.curve, fit.style, view=view, limits=limits),
        key,
        _CURVE + stretched,
    )
    if panel.clipping:
        st.caption(escape_markdown(panel.clipping))
    sentences = [measure.sentence for measure in panel.measures] + [panel.spiegelhalter.sentence]
    st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))
