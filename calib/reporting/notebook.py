"""What notebooks show of results: HTML without scripts, in the ink of the notebook, with every text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from calib.base import Calibrator
from calib.canonical import KINDS
from calib.data import Predictions
from calib.data.findings import shortened
from calib.data.scales import in_words
from calib.diagnostics.reliability import ReliabilityCurve
from calib.evaluation import Evaluation
from calib.evaluation.compare import BASELINE, Comparison
from calib.evaluation.comparison_table import ScoreRow, verdict_paragraphs
from calib.evaluation.recommendation import Recommendation
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import number, percent, plural
from calib.plots.axes import Scale
from calib.plots.compare import score_dots
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import prefers_logit_scale
from calib.plots.style import Style, color_at, method_style
from calib.registry import METHODS, registry_name
from calib.reporting import sections
from calib.reporting.contents import Report
from calib.reporting.page import templates
from calib.reporting.svg import figure_svg

if TYPE_CHECKING:
    import pandas as pd

PLAIN = Style(color_at(1), "circle", "solid")
"""Of a curve that is not known to be of a method."""
_CURVE, _DOTS = (330, 420), 400
"""Pixels of a reliability diagram, across and down, and of the scores, across."""
_BINNINGS = {"equal_width": "bins of equal width", "equal_mass": "bins of equal counts"}


@dataclass(frozen=True, eq=False)
class Shown:
    """What the template shows: a title, and of the rest what there is.

    Attributes
    ----------
    title, about : the first line.
    said : paragraphs of the verdict.
    figures : as SVG.
    score_titles, scores : of a table of methods by scores.
    facts : a table of names and values.
    notes : sentences.
    """

    title: str
    about: str = ""
    said: Sequence[str] = ()
    figures: Sequence[Markup] = ()
    score_titles: Sequence[str] = ()
    scores: Sequence[ScoreRow] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def html_of(result: Any) -> str:
    """A result as HTML for a notebook.

    Parameters
    ----------
    result : of a type for which :func:`shown` is registered; anything else has its plain text.
    """
    style = Markup(templates().get_template("notebook.css").render())
    return templates().get_template("notebook.html").render(shown=shown(result), style=style)


@singledispatch
def shown(result: Any) -> Shown:
    """What is shown of a result, by its type."""
    return Shown(repr(result))


@shown.register
def _(data: Predictions) -> Shown:
    facts: dict[str, Any] = {"outputs": KINDS[data.kind]}
    if data.scale is not None:
        facts["scale of the outputs"] = in_words(data.scale)
    if len(data):
        facts["accuracy"] = percent(data.accuracy)
    if data.event is not None and len(data):
        rate = float((data.labels == data.event.column).mean())
        facts["event"] = f"{data.event.name}, in {percent(rate)} of the rows"
    facts["classes"] = sections.Names.from_all([shortened(name) for name in data.class_names], 12)
    beside = {"groups": data.groups, "clusters": data.clusters, "weights": data.weights, "times": data.times,
              "features": data.features, "training set": data.train_features}  # fmt: skip
    if held := [name for name, array in beside.items() if array is not None]:
        facts["beside them"] = ", ".join(held)
    notes = [f"{each.message} {each.action}".strip() for each in data.findings if each.level != "info"]
    about = f"{plural(len(data), 'row')}, {plural(data.n_classes, 'class', 'classes')}"
    return Shown(data.name, about, facts=facts, notes=notes)


@shown.register
def _(ready: Shown) -> Shown:
    return ready


@shown.register
def _(curve: ReliabilityCurve) -> Shown:
    return Shown("Reliability curve", said_of_curve(curve), figures=[_diagram(curve, PLAIN)])


def said_of_curve(curve: ReliabilityCurve, view: View = TOP_LABEL) -> str:
    """The calibration error of a curve and the means that it compares, in one line."""
    bins = _BINNINGS.get(curve.binning, f"bins ({curve.binning})")
    means = [f"{view.mean_said} {percent(curve.mean_confidence)}", f"{view.outcome} {percent(curve.mean_accuracy)}"]
    if curve.target is not None:
        means = [
            f"mean probability of class {curve.target} {percent(curve.mean_confidence)}",
            f"its share {percent(curve.mean_accuracy)}",
        ]
    return (
        f"ECE {number(curve.ece)}; {', '.join(means)}, {plural(curve.n, 'row')}, drawn in {len(curve.edges) - 1} {bins}"
    )


def _diagram(curve: ReliabilityCurve, style: Style) -> Markup:
    across, down = _CURVE
    scale: Scale = "logit" if prefers_logit_scale(curve) else "linear"
    return figure_svg(reliability_diagram(curve, style, scale, height=down), across)


class Method(NamedTuple):
    """One method of a comparison."""

    title: str
    style: Style
    evaluation: Evaluation


@shown.register
def _(found: Comparison) -> Shown:
    titles = dict(zip(found.table["method"], found.table["title"], strict=True))
    methods = {key: Method(titles[key], method_style(key), each) for key, each in found.evaluations.items()}
    return _answer("Comparison", found.table, found.recommendation, methods)


@shown.register
def _(report: Report) -> Shown:
    methods = {method.key: method for method in report.methods}
    return _answer(f"Calibration of {shortened(report.data.name)}", report.table, report.recommendation, methods)


def _answer(
    title: str, table: pd.DataFrame, recommendation: Recommendation | None, methods: Mapping[str, sections.Drawn]
) -> Shown:
    """The verdict on methods, the reliability of the raw model and of the recommended one, and all by main scores."""
    raw = methods[BASELINE].evaluation
    chosen = BASELINE if recommendation is None else recommendation.method
    drawn = [methods[key] for key in dict.fromkeys([BASELINE, chosen])]
    figures = [figure for figure, _ in sections.reliability(drawn, sections.LARGE)[1]]
    if len(methods) > 1 and table.loc[table["score"] == "NLL", "value"].notna().any():
        styles = {key: method.style for key, method in methods.items()}
        figures.append(figure_svg(score_dots(table, "NLL", styles, title="NLL of each method"), _DOTS))
    score_titles, scores = sections.overview(table, raw.view)
    about = f"{plural(len(methods) - 1, 'calibrator')} and the raw model on {plural(len(raw), 'test row')}"
    return Shown(title, about, verdict_paragraphs(table, recommendation), figures, score_titles, scores)


@shown.register
def _(answer: Recommendation) -> Shown:
    title = METHODS[answer.method].title if answer.method in METHODS else answer.method
    said = answer.sentences(lambda name: METHODS[name].title if name in METHODS else name)
    return Shown("Recommendation", title, said)


@shown.register
def _(made: Calibrator) -> Shown:
    name = registry_name(made)
    method = METHODS.get(name or "")
    title = type(made).__name__ if method is None else method.title
    about = f"fitted to {plural(made.n_classes_, 'class', 'classes')}" if made.fitted else "not fitted yet"
    usual = {f.name: f.default for f in fields(made)}
    params = made.get_params()
    facts = {
        key: value if value == usual[key] else f"{value} (by default {usual[key]})" for key, value in params.items()
    }
    learned = made.get_state() if made.fitted else {}
    facts |= {key: number(value, 4) for key, value in learned.items() if isinstance(value, float)}
    said = [] if method is None else [method.summary]
    return Shown(title, about, said, facts=facts, notes=made.notes() if made.fitted else ())
