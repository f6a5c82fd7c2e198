"""What notebooks show of results: tables and sentences in the ink of the notebook, with every text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import singledispatch
from typing import Any

from calib.base import Calibrator
from calib.canonical import KINDS
from calib.data import Predictions
from calib.data.findings import shortened
from calib.data.scales import in_words
from calib.diagnostics.reliability import ReliabilityCurve
from calib.evaluation.compare import BASELINE, Comparison
from calib.evaluation.comparison_table import verdict_paragraphs
from calib.evaluation.recommendation import Recommendation
from calib.evaluation.view import View
from calib.formatting import number, percent, plural
from calib.registry import METHODS, registry_name
from calib.reporting.blocks import Cell, Table, environment
from calib.reporting.contents import Report, names_in_words
from calib.reporting.parts import interval_cell, score_table

BINNINGS = {"equal_width": "bins of equal width", "equal_mass": "bins of equal counts"}


@dataclass(frozen=True, eq=False)
class Shown:
    """What is shown of a result: a title with a line behind it, and of the rest what there is.

    Attributes
    ----------
    said : paragraphs of the verdict.
    table : of methods by scores, or of bins.
    facts : names and values.
    notes : sentences.
    """

    title: str
    about: str = ""
    said: Sequence[str] = ()
    table: Table | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def html_of(result: Any) -> str:
    """A result as HTML for a notebook; one of no type that :func:`shown` knows has its plain text."""
    return environment().get_template("notebook.html").render(shown=shown(result))


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
    facts["classes"] = names_in_words([shortened(name) for name in data.class_names], 12)
    beside = {"groups": data.groups, "clusters": data.clusters, "weights": data.weights, "times": data.times,
              "features": data.features, "training set": data.train_features}  # fmt: skip
    if held := [name for name, array in beside.items() if array is not None]:
        facts["beside them"] = ", ".join(held)
    notes = [f"{each.message} {each.action}".strip() for each in data.findings if each.level != "info"]
    about = f"{plural(len(data), 'row')}, {plural(data.n_classes, 'class', 'classes')}"
    return Shown(data.name, about, facts=facts, notes=notes)


@shown.register
def _(curve: ReliabilityCurve) -> Shown:
    said, outcome = ("confidence", "accuracy") if curve.target is None else ("probability", "frequency")
    rows: list[list[str | Cell]] = [
        [f"{count:,}", number(float(mean)), interval_cell(interval)]
        for count, mean, *interval in zip(
            curve.count, curve.confidence, curve.accuracy, curve.low, curve.high, strict=True
        )
    ]
    means = f"{said} {percent(curve.mean_confidence)}, {outcome} {percent(curve.mean_accuracy)}"
    of_class = "" if curve.target is None else f" of class {curve.target}"
    bins = BINNINGS.get(curve.binning, f"bins ({curve.binning})")
    about = f"ECE {number(curve.ece)}; mean {means}{of_class}, {plural(curve.n, 'row')}"
    return Shown("Reliability curve", about, table=Table("", ["rows", said, outcome], rows),
                 notes=[f"In {len(curve.edges) - 1} {bins}; brackets hold 95 % intervals."])  # fmt: skip


@shown.register
def _(found: Comparison) -> Shown:
    return _compared("Comparison", found.table, found.recommendation, found.evaluations[BASELINE].view)


@shown.register
def _(report: Report) -> Shown:
    title = f"Calibration of {shortened(report.data.name)}"
    return _compared(title, report.table, report.recommendation, report.view)


def _compared(title: str, table: Any, recommendation: Recommendation | None, view: View) -> Shown:
    """The verdict on methods, and all by main scores."""
    about = f"{plural(table['method'].nunique() - 1, 'calibrator')} and the raw model"
    return Shown(title, about, verdict_paragraphs(table, recommendation), score_table(table, view, id=""))


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
    facts = {
        key: value if value == usual[key] else f"{value} (by default {usual[key]})"
        for key, value in made.get_params().items()
    }
    learned = made.get_state() if made.fitted else {}
    facts |= {key: number(value, 4) for key, value in learned.items() if isinstance(value, float)}
    said = [] if method is None else [method.summary]
    return Shown(title, about, said, facts=facts, notes=made.notes() if made.fitted else ())
