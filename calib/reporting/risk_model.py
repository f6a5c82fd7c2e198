"""The report of a risk model: its panel first, then the items of TRIPOD+AI that can be filled here, in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from calib.data.predictions import Predictions
from calib.decisions.sample_size import WIDTHS, rows_needed
from calib.diagnostics.group_panels import MEASURES, GroupPanel, group_panels
from calib.errors import CalibrationError
from calib.evaluation.compare import BASELINE
from calib.formatting import listed, number, percent, round_percent, with_interval
from calib.metrics.bootstrap import Interval
from calib.metrics.net_benefit import NetBenefit, NetBenefitDifference, net_benefit, net_benefit_difference
from calib.metrics.risk_model import RiskModelPanel, risk_model
from calib.numerics import Floats
from calib.plots.axes import Scale
from calib.plots.decisions import decision_curves
from calib.plots.risk_model import prefers_logit, risk_limits, risk_model_diagram
from calib.reporting.contents import Report, ReportedMethod, Rows, with_calibrated
from calib.reporting.svg import figure_svg
from calib.reporting.tripod import CHECKLIST, TO_ADD, by_authors, filled_items

LEVEL = round_percent(0.95)
THRESHOLDS = 60
"""Of a decision curve."""
ROUND = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Thresholds whose net benefit is told in numbers, as far as the curve goes."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_GROUPS = 30
OF_GROUP = ("oe", "slope", "auroc")
"""Measures of the panel that are told of each group."""
_CURVE, _BENEFIT = (300, 360), (400, 360)
"""Pixels of figures, across and down."""
_LEFT_OUT = ("rows_left_out", "unpaired_rows")
"""Codes of findings about rows that were left out."""


@dataclass(frozen=True, eq=False)
class ShownModel:
    """One model on the test rows, with its risks and what follows from them.

    Attributes
    ----------
    risks : (n,) of the test rows; of the raw model as the file has them, zeros and ones included.
    panel : all measures.
    curve : net benefit over many thresholds.
    benefit : net benefit at a few round ones.
    quantiles : of the risks of rows with the event, and of those without it.
    """

    method: ReportedMethod
    risks: Floats
    panel: RiskModelPanel
    curve: NetBenefit
    benefit: NetBenefit
    quantiles: tuple[Floats, Floats]

    @property
    def title(self) -> str:
        """How it is called."""
        return self.method.title


def risk_values(report: Report, rows: Rows, done: Callable[[], None]) -> dict[str, Any]:
    """What the template of the report is filled with.

    Parameters
    ----------
    rows : of the report.
    done : called after each model.
    """
    kind = rows.test.weight_kind if report.methods[0].evaluation.weights is not None else None
    models = []
    for method in with_calibrated(report):
        models.append(_shown(method, kind, rows.test))
        done()
    last = models[-1]
    figures = _curves(models, report)
    drawn = [(model.title, model.curve, model.method.style) for model in models]
    figures.append(figure_svg(decision_curves(drawn, height=_BENEFIT[1]), _BENEFIT[0]))
    groups = _groups(last, kind, rows.test)
    times = _times(rows)
    filled = filled_items(report, bool(times), bool(groups))
    return {
        "models": models,
        "measures": _measures(models),
        "conventions": _conventions(models[0].panel),
        "finding": finding(models, report.view.event_name),
        "useful": useful(last),
        "distribution": distribution(models),
        "quantiles": [round_percent(share) for share in QUANTILES],
        "figures": figures,
        "benefits": benefits(models),
        "groups": groups[:MOST_GROUPS],
        "n_groups": len(groups),
        "of_group": {key: MEASURES[key] for key in OF_GROUP},
        "needed": _needed(last),
        "said_of_widths": said_of_widths,
        "times": times,
        "left_out": [each.message for each in report.data.findings if each.code in _LEFT_OUT],
        "noticed": [each for each in report.data.findings if each.code not in _LEFT_OUT],
        "used": _used(rows, report),
        "topics": CHECKLIST,
        "to_add": TO_ADD,
        "filled": filled,
        "by_authors": by_authors(filled),
    }


def _shown(method: ReportedMethod, kind: Any, test: Predictions) -> ShownModel:
    one = method.evaluation
    said, came = one.pair
    if method.name == BASELINE:
        said = test.as_written(said)
    grid, few = thresholds_of(float(came.mean()))
    about = one.weights, one.clusters
    return ShownModel(
        method,
        said,
        risk_model(said, came, one.weights, kind, one.clusters),
        net_benefit(said, came, grid, *about),
        net_benefit(said, came, few, *about),
        (_quantiles(said[came]), _quantiles(said[~came])),
    )


def _quantiles(risks: Floats) -> Floats:
    return np.quantile(risks, QUANTILES) if len(risks) else np.full(len(QUANTILES), np.nan)


def thresholds_of(rate: float) -> tuple[Floats, Floats]:
    """Thresholds of a decision curve, up to three times the event rate, and round ones among them."""
    top = min(0.8, max(0.1, 3.0 * rate))
    few = np.array([t for t in ROUND if top / 20 <= t <= top])
    return np.linspace(top / THRESHOLDS, top, THRESHOLDS), few


def _measures(models: list[ShownModel]) -> list[tuple[str, list[tuple[Interval, str]]]]:
    """Title of each measure, and of each model its value with interval and what that says."""
    order = ("auroc", "oe", "citl", "slope", "brier", "scaled_brier", "log_loss", "ici", "e50", "e90", "emax")
    rows = []
    for key in order:
        each = [model.panel[key] for model in models]
        cells = [(one.interval, one.meaning or "does not exist for these rows") for one in each]
        rows.append((each[0].title, cells))
    tests = [model.panel.spiegelhalter for model in models]
    rows.append(("Spiegelhalter's z", [(Interval(test.z, np.nan, np.nan), test.meaning) for test in tests]))
    return rows


def _conventions(panel: RiskModelPanel) -> list[tuple[str, str]]:
    """Titles of measures, and which of the definitions that share their name they are; kin stand together."""
    titles: dict[str, list[str]] = {}
    for measure in panel.measures:
        titles.setdefault(measure.convention, []).append(measure.title)
    return [(", ".join(names), convention) for convention, names in titles.items()]


def finding(models: list[ShownModel], event: str) -> list[str]:
    """What the report opens with: whether the risks can be taken as they are, and what a calibrator makes of them."""
    first = models[0].panel
    said = [f"The model's risks{f' of “{event}”' if event else ''} {_off(first)}: {_numbers(first)}."]
    if len(models) > 1:
        last = models[1].panel
        said.append(f"After {models[1].title} they {_off(last)}: {_numbers(last)}.")
    return said


def _off(panel: RiskModelPanel) -> str:
    ratio, slope = panel["oe"], panel["slope"]
    if panel.too_few_events or not np.isfinite([ratio.low, slope.low]).all():
        return "cannot be judged on so few events"
    faults = []
    if ratio.low > 1 or ratio.high < 1:
        faults.append(f"are too {'low' if ratio.value > 1 else 'high'} on the whole")
    if slope.low > 1 or slope.high < 1:
        faults.append(f"{'' if faults else 'are '}too {'extreme' if slope.value < 1 else 'close to each other'}")
    return listed(faults) if faults else "show no miscalibration"


def _numbers(panel: RiskModelPanel) -> str:
    names = (("oe", "observed over expected events"), ("slope", "calibration slope"), ("auroc", "AUROC"))
    return listed([f"{name} {with_interval(panel[key].interval)}" for key, name in names])


def useful(model: ShownModel) -> str:
    """At which thresholds acting by the model is better than acting on all rows and on none."""
    curve = model.curve
    better = (curve.model.low > 0) & (curve.avoided.low > 0)
    top = percent(float(curve.thresholds[-1]))
    if not better.any():
        return (
            f"At no threshold up to {top} is acting by {model.title} shown to be better than acting on all rows and on "
            f"none: the {LEVEL} intervals of its net benefit reach one of the two."
        )
    ends = np.flatnonzero(np.diff(np.r_[False, better, False].astype(int))).reshape(-1, 2)
    first, last = max(ends.tolist(), key=lambda run: run[1] - run[0])
    low, high = (percent(float(curve.thresholds[place])) for place in (first, last - 1))
    return (
        f"Acting by {model.title} has a higher net benefit than acting on all rows and on none at thresholds from "
        f"{low} to {high} ({LEVEL} interval at each threshold)."
    )


def _gain(models: list[ShownModel]) -> NetBenefitDifference | None:
    """Net benefit of the calibrated model less that of the raw one at the round thresholds; None where there is one."""
    if len(models) < 2:
        return None
    last = models[1].method.evaluation
    rows = models[1].risks, models[0].risks, last.pair[1], models[1].benefit.thresholds
    return net_benefit_difference(*rows, last.weights, last.clusters)


def _groups(model: ShownModel, kind: Any, test: Predictions) -> list[GroupPanel]:
    """The panel of each group of test rows, the worst first, those that are too small last."""
    one = model.method.evaluation
    if test.groups is None:
        return []
    return list(group_panels(model.risks, one.pair[1], test.groups, one.weights, kind, one.clusters).groups)


def _curves(models: list[ShownModel], report: Report) -> list[Markup]:
    """Calibration curves on axes that all models share."""
    curves = [model.panel.curve for model in models]
    scale: Scale = "logit" if prefers_logit(curves[0]) else "linear"
    across, down = _CURVE
    limits = risk_limits(curves, scale)
    return [
        figure_svg(risk_model_diagram(m.panel.curve, m.method.style, scale, m.title, down, report.view, limits), across)
        for m in models
    ]


@dataclass(frozen=True)
class NeededRows:
    """Rows and events that an interval of a wanted width needs, and how wide it is with the rows that there are."""

    target: str
    wanted: float
    rows: int
    events: int
    width: float

    @property
    def narrow(self) -> bool:
        """Whether the interval is as narrow as wanted."""
        return self.width <= self.wanted


def _needed(model: ShownModel) -> tuple[float, list[NeededRows], str]:
    """The threshold that is asked about, what each target needs, and that in words."""
    one, panel = model.method.evaluation, model.panel
    said, came = model.risks, one.pair[1]
    threshold = float(np.clip(np.round(came.mean(), 2), 0.01, 0.99))
    try:
        needed = rows_needed(said, came, threshold, clusters=one.clusters)
    except CalibrationError as error:
        return threshold, [], str(error)
    benefit = net_benefit(said, came, [threshold], one.weights, one.clusters).model.at(0)
    now = {
        "O:E": panel["oe"].interval, "slope": panel["slope"].interval, "AUROC": panel["auroc"].interval,
        "net benefit": Interval(*(end / panel.event_rate for end in benefit)),
    }  # fmt: skip
    found = [
        NeededRows(each.target, each.width, each.rows, each.events, now[each.target].high - now[each.target].low)
        for each in needed
    ]
    parts = [(listed([each.target for each in found if each.narrow is right]), right) for right in (True, False)]
    words = " and ".join(f"{'enough' if right else 'too few'} for {names}" for names, right in parts if names)
    return threshold, found, f"{len(one):,} rows, {int(came.sum()):,} with the event: {words}."


@dataclass(frozen=True)
class UsedRows:
    """What one part of the rows was used for, its rows, those with the event, and its clusters if it has any."""

    use: str
    rows: int
    events: int
    clusters: int | None


USES = ("fitting the calibrators", "evaluation")


def _used(rows: Rows, report: Report) -> list[UsedRows]:
    return [
        UsedRows(use, len(part), int((part.labels == report.view.column).sum()),
                 None if part.clusters is None else len(np.unique(part.clusters)))
        for use, part in zip(USES, (rows.calibration, rows.test), strict=True)
    ]  # fmt: skip


def _times(rows: Rows) -> list[tuple[str, str, str]]:
    """First and last time of each part, where the rows have times."""
    found = []
    for use, part in zip(USES, (rows.calibration, rows.test), strict=True):
        if part.times is not None and len(part.times):
            times = sorted(map(str, np.unique(part.times)), key=_in_time)
            found.append((use, times[0], times[-1]))
    return found


def _in_time(time: str) -> tuple[float, str]:
    try:
        return float(time), ""
    except ValueError:
        return 0.0, time


def said_of_widths(threshold: float) -> str:
    """Which widths of intervals are asked for."""
    widths = listed([f"{width:g} of {target}" for target, width in WIDTHS.items()])
    return f"Widths as in the paper's examples: {widths} (standardised, at a threshold of {round_percent(threshold)})."


def distribution(models: list[ShownModel]) -> list[tuple[str, str, list[str]]]:
    """Model, outcome, and the quantiles of the risks of these rows."""
    outcomes = ("with the event", "without the event")
    return [
        (model.title, outcome, [number(value) for value in values])
        for model in models
        for outcome, values in zip(outcomes, model.quantiles, strict=True)
    ]


def benefits(models: list[ShownModel]) -> list[list[str]]:
    """Rows of the table of net benefit: threshold, each model, acting on all, the difference, interventions avoided."""
    last, gain = models[-1].benefit, _gain(models)
    rows = []
    for place, threshold in enumerate(last.thresholds.tolist()):
        cells = [round_percent(threshold)]
        cells += [with_interval(model.benefit.model.at(place)) for model in models]
        cells.append(number(float(last.treat_all.value[place])))
        cells += [] if gain is None else [with_interval(gain.difference.at(place))]
        avoided = Interval(*(100.0 * end for end in last.avoided.at(place)))
        rows.append([*cells, with_interval(avoided)])
    return rows
