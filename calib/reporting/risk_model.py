"""The report of a risk model: its panel first, then what a paper tells of a validation.

Sections name the items of TRIPOD+AI (Collins, Moons, Dhiman et al., BMJ 2024;385:e078378) that they help to fill.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calib.evaluation.comparison_table import verdict_paragraphs
from calib.formatting import number, percent, plural, round_percent, with_interval
from calib.metrics.bootstrap import Interval
from calib.metrics.decision_curve import NetBenefit, net_benefit, net_benefit_difference
from calib.metrics.risk_panel import RiskModelPanel, risk_model
from calib.numerics import Floats
from calib.plots.decisions import decision_curves
from calib.plots.risk_model import risk_limits, risk_model_diagram, risk_scale
from calib.reporting import parts
from calib.reporting.contents import Report, ReportedMethod
from calib.reporting.parts import Block, Cell, Note, Section, Table, Tile, Tiles, figures_html

THRESHOLDS = 60
"""Of a decision curve."""
ROUND = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Thresholds whose net benefit is told in numbers, as far as the curve goes."""
FIRST = ("oe", "slope", "auroc", "brier")
"""Measures that stand first, before and after calibration."""


@dataclass(frozen=True, eq=False)
class Model:
    """One model on the test rows: its (n,) risks and its panel."""

    method: ReportedMethod
    risks: Floats
    panel: RiskModelPanel

    @property
    def title(self) -> str:
        """Title of the panel."""
        return self.method.title

    def net_benefit(self, thresholds: Floats) -> NetBenefit:
        """Net benefit at these thresholds."""
        evaluation = self.method.evaluation
        return net_benefit(
            self.risks, evaluation.pair[1], thresholds, evaluation.weights, evaluation.clusters
        )


def first(report: Report, models: list[Model]) -> Section:
    """The first page."""
    evaluation = report.methods[0].evaluation
    panel = models[0].panel
    events = int(evaluation.pair[1].sum())
    by_weight = ""
    if evaluation.weights is not None:
        by_weight = f", {percent(panel.event_rate)} by weight"
    about = (
        f"{plural(len(evaluation), 'row')} that no calibrator was fitted on; the event is {report.view.event_name}, in "
        f"{events:,} of them ({percent(events / len(evaluation))}){by_weight}. {parts.of_weights(report)}"
    ).strip()
    return Section("answer", "Risk model:", about, list(_first(report, models)))


def more(models: list[Model]) -> Iterator[Section]:
    """Further measures that a paper reports of a validation."""
    yield Section(
        "measures",
        "Measures",
        "TRIPOD+AI 12e: which definitions they are",
        [_conventions(models[0].panel)],
    )
    yield Section(
        "benefit", "Net benefit", "TRIPOD+AI 23a: at round thresholds", [_benefit(models)]
    )


def models_of(report: Report) -> list[Model]:
    """The raw model and, where there is one, a calibrator, on the test rows."""
    models = []
    for method in report.before_and_after:
        evaluation = method.evaluation
        risks, observed = evaluation.pair
        kind = None if evaluation.weights is None else report.data.weight_kind
        models.append(
            Model(
                method,
                risks,
                risk_model(risks, observed, evaluation.weights, kind, evaluation.clusters),
            )
        )
    return models


def _first(report: Report, models: list[Model]) -> Iterator[Block]:
    raw = models[0].panel
    last = models[-1].panel
    tested = f" on {plural(report.n_test, 'test row')}" if report.n_calibration else ""
    if len(models) > 1:
        entries = [
            Tile(
                raw[key].title,
                number(raw[key].value),
                number(last[key].value),
                parts.interval_cell(last[key].interval).small,
            )
            for key in FIRST
        ]
        weighted = ", weighted" if models[0].method.evaluation.weights is not None else ""
        caption = f"From the raw model to {models[-1].title}{weighted}{tested}, with the 95 % interval of the second."
        yield Tiles(entries, f"{caption} A calibrated model has an O:E and a slope of 1.")
    yield finding(models[0], f"The model's risks of “{report.view.event_name}”{tested}")
    if len(models) > 1:
        yield finding(models[-1], f"After {models[-1].title}{tested}")
    chosen = (
        ""
        if report.recommendation is None
        else verdict_paragraphs(report.table, report.recommendation)[0]
    )
    thresholds, _ = thresholds_of(raw.event_rate)
    curves = [model.net_benefit(thresholds) for model in models]
    yield f"{useful(models[-1].title, curves[-1])} {chosen}"
    scale = risk_scale(raw.curve)
    limits = risk_limits([model.panel.curve for model in models], scale)
    drawn = [
        risk_model_diagram(
            m.panel.curve, m.method.style, scale, m.title, parts.HEIGHT, report.view, limits
        )
        for m in models
    ]
    lines = [(m.title, curve, m.method.style) for m, curve in zip(models, curves, strict=True)]
    yield figures_html([*drawn, decision_curves(lines, height=parts.HEIGHT)])
    yield Note(
        "The line is the observed rate at each predicted risk with its 95\u00a0% band: logistic regression on a "
        "spline of the log-odds. Calibrated is the dotted diagonal. Beneath: risks of rows with the event (upwards) "
        "and without it (downwards). Net benefit counts events acted on, less false alarms at the odds of the "
        "threshold."
    )
    yield _panel(models)


def _panel(models: list[Model]) -> Table:
    """Each measure of each model: value, interval, and what that says."""
    rows: list[list[str | Cell]] = []
    for measure in models[0].panel.measures:
        measures = [model.panel[measure.key] for model in models]
        rows.append(
            [
                measure.title,
                *(_meaning_cell(result.interval, result.meaning) for result in measures),
            ]
        )
    tests = [model.panel.spiegelhalter for model in models]
    rows.append(["Spiegelhalter's z", *(Cell(number(test.z), test.meaning) for test in tests)])
    clipped = [
        f"{model.title}: {sentence}" for model in models if (sentence := model.panel.clipping)
    ]
    weighted = ["Weighted."] if models[0].method.evaluation.weights is not None else []
    note = " ".join([*weighted, "Brackets hold 95 % intervals.", *models[0].panel.notes, *clipped])
    return Table("panel", ["measure", *(model.title for model in models)], rows, note)


def _meaning_cell(interval: Interval, meaning: str) -> Cell:
    return Cell(with_interval(interval), meaning or "does not exist for these rows")


def finding(model: Model, of: str) -> str:
    """Judge the risks in the words of their panel; ``of`` says whose they are."""
    panel = model.panel
    if panel.too_few_events:
        return f"{of}: {panel.notes[0]}"
    return f"{of}: {panel['oe'].sentence} {panel['slope'].sentence}"


def thresholds_of(rate: float) -> tuple[Floats, Floats]:
    """Thresholds of a decision curve, up to three times the event rate, and round ones among them."""
    top = min(0.8, max(0.1, 3.0 * rate))
    few = np.array([t for t in ROUND if top / 20 <= t <= top])
    return np.linspace(top / THRESHOLDS, top, THRESHOLDS), few


def useful(title: str, curve: NetBenefit) -> str:
    """Describe the thresholds at which acting by the model is better than acting on all rows and on none."""
    if curve.useful_range is None:
        top = percent(float(curve.thresholds[-1]))
        return f"{title} is at no threshold up to {top} significantly better than acting on all rows and on none."
    low, high = map(percent, curve.useful_range)
    return (
        f"{title} has a higher net benefit than acting on all rows and on none at thresholds from {low} to {high} "
        "(95 % interval at each threshold)."
    )


def _conventions(panel: RiskModelPanel) -> Table:
    """Definition of each measure among those that share a name; kin stand together."""
    titles: dict[str, list[str]] = {}
    for measure in panel.measures:
        titles.setdefault(measure.convention, []).append(measure.title)
    rows = [(", ".join(names), convention) for convention, names in titles.items()]
    return Table("definitions", [], rows)


def _benefit(models: list[Model]) -> Table:
    """Net benefit of each model and of acting on all, the difference, and interventions avoided."""
    first = models[0]
    last = models[-1]
    evaluation, (_, few) = last.method.evaluation, thresholds_of(first.panel.event_rate)
    benefits = [model.net_benefit(few) for model in models]
    head = ["threshold", *(model.title for model in models), "acting on all"]
    note = f"Net benefit per row{'' if evaluation.weights is None else ', weighted'}; acting on none has 0."
    gain = None
    if len(models) > 1:
        gain = net_benefit_difference(
            last.risks,
            first.risks,
            evaluation.pair[1],
            few,
            evaluation.weights,
            evaluation.clusters,
        )
        head.append("difference")
        note += f" The difference is {last.title} less {first.title}, paired by row."
    rows = []
    for place, threshold in enumerate(few.tolist()):
        cells = [
            round_percent(threshold),
            *(with_interval(benefit.model.at(place)) for benefit in benefits),
        ]
        cells.append(number(float(benefits[-1].treat_all.value[place])))
        cells += [] if gain is None else [with_interval(gain.at(place))]
        rows.append(
            [*cells, with_interval([100.0 * end for end in benefits[-1].avoided.at(place)])]
        )
    return Table(
        "net-benefit",
        [*head, "interventions avoided of 100"],
        rows,
        f"{note} Interventions avoided: by {last.title} against acting on all rows, at no loss of events acted on. "
        "Brackets are 95 % intervals at each threshold by itself.",
    )
