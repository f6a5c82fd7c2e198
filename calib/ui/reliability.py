"""Parts of the Reliability page: the diagrams with their scores, the rows of a bin, and the panel of a risk model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from calib.diagnostics.bins import BIN_COUNTS, error_by_bins
from calib.diagnostics.reliability import DiagramParts, default_bins, diagram_parts
from calib.evaluation import SCORES
from calib.evaluation.score_registry import describe_intervals
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import brief, escape_markdown, listed, number, percent, plural, with_interval
from calib.metrics import cumulative_test, ece
from calib.metrics.binning import BINNINGS
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools
from calib.metrics.distances import CumulativeTest
from calib.metrics.risk_measures import RiskMeasure
from calib.metrics.risk_panel import RiskModelPanel, risk_model
from calib.numerics import Floats
from calib.plots.axes import Scale
from calib.plots.bins import Line, error_by_bins_chart, error_by_rows_chart
from calib.plots.reliability import SIDE, common_limits, explain_diagram, reliability_diagram
from calib.plots.risk_model import risk_limits, risk_model_diagram, risk_scale
from calib.plots.style import Limits
from calib.ui import widgets
from calib.ui.chosen_rows import choose_rows, chosen_rows, list_rows, show_clickable
from calib.ui.fits import ShownFit, pair_of_class, ready_of, with_raw
from calib.ui.session import OpenSession
from calib.ui.text import binning_name, literal
from calib.ui.widgets import HALF, whole_number

CHOSEN = "reliability/methods"
"""Key of the choice of methods."""
SIDES = {1: SIDE, 2: HALF, 3: 336}
"""Pixels of a diagram, by how many stand side by side; four and more have ``SMALL``."""
SMALL = 252


@dataclass(frozen=True)
class Options:
    """Options of the diagrams.

    Attributes
    ----------
    scale : of both axes.
    binning, n_bins : the bins of the dots; None for levels, or the usual number of bins.
    target : a class, or None for the predicted one.
    band : draw the consistency band.
    """

    scale: Scale
    binning: str
    n_bins: int | None
    target: int | None
    band: bool


def controls(usual: Scale, session: OpenSession) -> Options:
    """The controls most people leave alone; ``usual`` is the scale to begin with."""
    names = session.data.class_names
    binnings = list(BINNINGS)
    target = None
    with (
        st.expander("Bins, scale, band and class"),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        scale = widgets.scale_of_probabilities(usual, f"rel/scale/{usual}")
        binning = st.selectbox(
            "Bins",
            binnings,
            binnings.index("equal_mass"),
            binning_name,
            key="rel/binning",
            persist_state="session",
            help="Equal mass gives every bin the same number of rows; equal width is the papers' convention. Scores "
            "of at most 20 levels have a dot for each level.",
            width=160,
        )
        usual_bins = default_bins(len(session.test)) if binning == "equal_mass" else 15
        most = max(100, usual_bins)  # above 1,000,000 rows the default is larger
        key = f"rel/bins/{binning}"
        n_bins = whole_number("Number of bins", 2, most, usual_bins, key, width=160)
        if session.view.column is None:  # in the other views there is but one probability
            every = "the predicted class"
            target = widgets.choose_class("Reliability of", every, names, "rel/target", width=240)
        band = st.toggle(
            "Consistency band (95\u00a0%)",
            value=True,
            key="rel/band",
            persist_state="session",
            help="A grey band that holds 95\u00a0% of the dots of a calibrated model with the same confidences.",
        )
    default = binning == "equal_mass" and n_bins == usual_bins
    return Options(scale, binning, None if default else n_bins, target, band)


def with_class_view(chosen: list[ShownFit], options: Options) -> list[ShownFit]:
    """Fits that can be shown so: of one class, the methods that give it a probability; says which are left out."""
    excluded = [fit.title for fit in chosen if not fit.calibrator.gives_probabilities]
    if options.target is None or not excluded:
        return chosen
    st.caption(
        f"{listed(excluded)} {'gives' if len(excluded) == 1 else 'give'} a confidence in the predicted class only, "
        "and no probability of one class."
    )
    return [fit for fit in chosen if fit.title not in excluded]


def diagram_of(fit: ShownFit, options: Options) -> DiagramParts:
    """Contents of a diagram with the chosen bins, of the confidence in the prediction or of one class."""
    if (options.binning, options.n_bins, options.target) == ("equal_mass", None, None):
        return fit.diagram
    bins = options.n_bins, options.binning
    rows = fit.evaluation.clusters, fit.evaluation.weights
    pair = pair_of(fit, options.target)
    about = *bins, options.target
    return ready_of(
        fit, "the diagram", diagram_parts, *pair, *bins, *rows, options.target, about=about
    )


def error_of(fit: ShownFit, options: Options) -> Interval:
    """The ECE with its interval."""
    compute: Callable[..., Any] = partial(
        ece, clusters=fit.evaluation.clusters, weights=fit.evaluation.weights, ci=True
    )
    pair = pair_of(fit, options.target)
    return ready_of(fit, "the ECE", compute, *pair, about=options.target)


def cumulative(fit: ShownFit, options: Options) -> CumulativeTest:
    """The test without bins."""
    rows = *pair_of(fit, options.target), None, fit.evaluation.weights
    return ready_of(fit, "the cumulative test", cumulative_test, *rows, about=options.target)


def pair_of(fit: ShownFit, target: int | None) -> tuple[Floats, Bools]:
    """Probabilities and outcomes: of the predicted class or the event, or of one class."""
    return fit.evaluation.pair if target is None else pair_of_class(fit, target)


def note(options: Options, view: View) -> str:
    """Meaning of the numbers beneath the diagrams."""
    of = f"P({escape_markdown(view.event_name or 'event')})" if view.is_event else "the confidence"
    of = of if options.target is None else "this class's probability"
    return (
        f"The ECE is that of {of} in 15 bins of equal width. Kuiper's p needs no bins: the share of calibrated models "
        "at least as far off."
    )


def scores(fit: ShownFit, options: Options) -> str:
    """The line beneath a diagram: its ECE with the NLL, and the test without bins."""
    error = error_of(fit, options)
    ends = f"95\u00a0%: {brief(error.low)} to {brief(error.high)}"
    parts = [f"{_error_name(fit, options)} **{brief(error.value)}** ({ends})"]
    if options.target is None and fit.evaluation.row_nll is not None:
        nll = fit.evaluation.rows.mean(fit.evaluation.row_nll)
        parts.append(f"NLL **{brief(nll)}**")
    p = cumulative(fit, options).kuiper_p
    parts.append(f"Kuiper p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}".replace(" ", "\u00a0"))
    return "\u00a0· ".join(parts)


def _error_name(fit: ShownFit, options: Options) -> str:
    return SCORES["ECE"].seen(fit.evaluation.view if options.target is None else TOP_LABEL).title


BESIDE = "reliability/panel/beside"
"""Key of the choice of the method beside the raw model."""

_CURVE = (
    "The line is the observed rate at each predicted risk, with a pointwise 95\u00a0% band: logistic regression on a "
    "restricted cubic spline of the log-odds. On the dotted diagonal the observed rate equals the predicted risk; "
    "below it risks are overestimated. Beneath: how many rows have which risk, and in colour those with the event."
)


def diagrams(fits: list[ShownFit], chosen: list[ShownFit], options: Options) -> None:
    """Draw the diagrams, up to four in a row, each square and on the same axes.

    Parameters
    ----------
    fits : the raw model first, which stands in grey behind the others.
    chosen : in the order to draw.
    """
    view = chosen[0].evaluation.view
    raw = diagram_of(fits[0], options)
    drawn = [diagram_of(fit, options) for fit in chosen]
    limits = common_limits([raw, *drawn], options.scale)
    side = SIDES.get(len(chosen), SMALL)
    rows = chosen_rows()
    with st.container(horizontal=True, gap="small"):
        for fit, parts in zip(chosen, drawn, strict=True):
            marked = None
            if rows is not None:
                confidence, outcome = pair_of(fit, options.target)
                means = confidence[rows.places].mean(), outcome[rows.places].mean()
                marked = (float(means[0]), float(means[1]))
            with st.container(width=side, gap="xxsmall"):
                widgets.method_title(fit.title, fit.style)
                draw = partial(
                    reliability_diagram,
                    parts,
                    fit.style,
                    view=view,
                    behind=None if fit is fits[0] else raw,
                    scale=options.scale,
                    limits=limits,
                    side=side,
                    band=options.band,
                    marked=marked,
                )
                show_clickable(
                    ("diagram", fit.key, fit.style, options, limits, side, marked),
                    draw,
                    f"reliability-{fit.title}",
                    explain_diagram(view, parts),
                    partial(_choose_bin, fit, options),
                )
                st.markdown(scores(fit, options))  # beneath, since it wraps in some columns alone
    intervals = describe_intervals(chosen[0].evaluation.n_clusters)
    ring = "Rings show where the selected rows lie." if rows is not None else ""
    st.caption(" ".join(filter(None, (note(options, view), intervals, ring))))


def _choose_bin(fit: ShownFit, options: Options, trace: str, which: int) -> None:
    """Choose the rows of a bin; other traces have none."""
    if trace != "bins":
        return
    curve = diagram_of(fit, options).curve
    pair = pair_of(fit, options.target)
    what = f"bin {which + 1} of {len(curve.count)}"
    choose_rows(fit, what, curve.bin_of_row == which, pair)


def bin_rows(chosen: list[ShownFit], options: Options) -> None:
    """List the rows that are chosen; a bin can be chosen here too, without a pointer."""
    list_rows()

    def choose_row() -> None:
        left, right = st.columns(2)
        titles = {fit.title: fit for fit in chosen}
        fit = titles[left.selectbox("Method", list(titles))]
        curve = diagram_of(fit, options).curve
        label = fit.evaluation.view.wording.predicted_label
        which = right.selectbox(
            "Bin",
            range(len(curve.count)),
            index=None,
            placeholder="Choose a bin",
            format_func=lambda b: (
                f"{label} about {number(float(curve.confidence[b]))}, {curve.count[b]:,} rows"
            ),
        )
        choose = partial(_choose_bin, fit, options, "bins", which or 0)
        st.button("List its rows", key="rows/list", disabled=which is None, on_click=choose)

    widgets.folded("Which rows are in a bin?", "reliability/rows", choose_row)


def panel(session: OpenSession, fits: list[ShownFit], begin: ShownFit) -> None:
    """The panel of the raw model, and of one method beside it; ``begin`` is the one to begin with."""
    drawn = fits[:1]
    if len(fits) > 1:
        drawn = with_raw(
            fits, widgets.choose_fit(fits[1:], BESIDE, "Beside the raw model", begin, style="list")
        )
    kind = None if fits[0].evaluation.weights is None else session.test.weight_kind
    panels = []
    for fit in drawn:
        seen = fit.evaluation
        rows = *seen.pair, seen.weights, kind, seen.clusters
        panels.append((fit, ready_of(fit, "the panel", risk_model, *rows)))
    widgets.show_table(_panel_table(panels), "measure", height="content")
    with st.popover("Definitions and intervals", icon=":material/help:", type="tertiary"):
        for measure in panels[0][1].measures:
            st.markdown(f"**{measure.title}:** {escape_markdown(measure.convention)}")
    st.caption(_about(panels[0][1]))
    curves = [panel.curve for _, panel in panels]
    scale = risk_scale(curves[0])
    limits = risk_limits(curves, scale)
    for place, (fit, panel) in zip(st.columns(2, gap="medium"), panels, strict=False):
        with place:
            _show_model(fit, panel, scale, limits)


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
"""Expected values of a calibrated model, of measures for which they are known."""


def _if_calibrated(measure: RiskMeasure) -> str:
    if measure.calibrated is None:
        return _PERFECT.get(measure.key, "")
    median, most = measure.calibrated
    return f"{number(median)}, at most {number(most)}"


def _about(panel: RiskModelPanel) -> str:
    return (
        f"On {plural(panel.n, 'test row')}; the event happened in {percent(panel.event_rate)}. “If calibrated” is the "
        "value of a calibrated model with the same risks. Chance keeps ICI, E50, E90 and Emax above 0: theirs is the "
        "median, and the limit of 95\u00a0% of samples."
    )


def _show_model(fit: ShownFit, panel: RiskModelPanel, scale: Scale, limits: Limits) -> None:
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
    widgets.show_cached(
        (key, fit.key, fit.style, limits),
        partial(risk_model_diagram, panel.curve, fit.style, scale, view=view, limits=limits),
        key,
        _CURVE,
    )
    if panel.clipping:
        st.caption(escape_markdown(panel.clipping))
    sentences = [measure.sentence for measure in panel.measures] + [panel.spiegelhalter.sentence]
    st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))


BY_BINS = (
    "Solid is the ECE in 5 to 100 bins of each kind. Dashed is the debiased error, an L2 norm less the noise of the "
    "bins. Where the solid line rises with the number of bins and the dashed one does not, the rise is noise."
)
BY_ROWS = (
    "The mean ECE of 200 resamples by their number of rows, in 15 bins of equal width; the band is their central "
    "95\u00a0%. Noise adds to the ECE of few rows."
)


def error_figures(chosen: Sequence[ShownFit], options: Options) -> None:
    """Draw the ECE of the chosen methods by number of bins and by number of test rows."""
    lines: list[Line] = []
    for fit in chosen:
        rows = *pair_of(fit, options.target), fit.evaluation.weights, fit.evaluation.clusters
        what = "the ECE in other bins"
        errors = ready_of(fit, what, error_by_bins, *rows, about=options.target)
        lines.append((fit.title, errors, fit.style))
    st.markdown(ranges(lines))
    titles = {binning: binning_name(binning) for binning in BINNINGS}
    key = (options.target, *(fit.key for fit in chosen))
    by_bins = partial(error_by_bins_chart, lines, titles, "ECE")
    widgets.show_cached(("error by bins", *key), by_bins, "ece-by-bins", BY_BINS)
    by_rows = partial(error_by_rows_chart, lines, "ECE")
    widgets.show_cached(("error by rows", *key), by_rows, "ece-by-rows", BY_ROWS)


def ranges(lines: Sequence[Line]) -> str:
    """Smallest and largest ECE of each method over all bins."""
    texts = []
    for title, errors, _ in lines:
        values = [value for per_bins in errors.errors.values() for value in per_bins]
        texts.append(f"{brief(min(values))} to {brief(max(values))} with {literal(title)}")
    return (
        f"In {BIN_COUNTS[0]} to {BIN_COUNTS[-1]} bins of {len(BINNINGS)} kinds the ECE is "
        f"{listed(texts)}."
    )
