"""The report of a language model's answers: how far its confidence can be trusted, and what it may answer by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from calib.decisions import AnswerAbove, judge_answers, judged_answers
from calib.decisions.judgement import AnswerScores
from calib.diagnostics.judged_decisions import Certified
from calib.diagnostics.risk_coverage import (
    Answerable,
    OrderQuality,
    RiskCoverage,
    answerable,
    order_qualities,
    risk_coverage,
)
from calib.diagnostics.subgroups import LEAST_ROWS, Subgroups, subgroups
from calib.evaluation import Evaluation
from calib.formatting import brackets, number, percent, points, round_percent, with_interval
from calib.metrics.bootstrap import Interval
from calib.plots.decisions import risk_diagram
from calib.reporting import sections
from calib.reporting.contents import Report, ReportedMethod, Rows, with_calibrated
from calib.reporting.svg import figure_svg

ERRORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
"""Errors among answers that may be acceptable; those above the error on all rows need no threshold."""
DELTA = 0.05
"""One minus the confidence of a guarantee."""
MOST_GROUPS = 30
_CURVES = (440, 405)
"""Pixels of the risk-coverage figure, across and down."""


@dataclass(frozen=True)
class Accepted:
    """What can be answered where an error is accepted.

    Attributes
    ----------
    error : accepted, among answers.
    raw, calibrated : the largest share of all test rows with no more error, by the two confidences.
    guarantee : a threshold certified on one half of the test rows, and what it does on the other half.
    """

    error: float
    raw: Answerable
    calibrated: Answerable
    guarantee: Certified


@dataclass(frozen=True, eq=False)
class GroupRow:
    """One group of answers: by the raw confidence, and by the calibrated one.

    Attributes
    ----------
    name, rows, accuracy : of the group.
    confidence, gap : of each confidence its mean, and that minus the accuracy with an interval that holds for all
        groups together; NaN where the rows are too few.
    aurc : of the calibrated confidence.
    share : what of the group can be answered at the accepted error; None where the rows are too few.
    """

    name: str
    rows: int
    accuracy: float
    confidence: tuple[float, ...]
    gap: tuple[Interval, ...]
    aurc: float
    share: Answerable | None


def answer_values(report: Report, rows: Rows, done: Callable[[], None]) -> dict[str, Any]:
    """What the template of the report is filled with.

    Parameters
    ----------
    rows : of the report.
    done : called after each part.
    """
    models = with_calibrated(report)
    evaluations = [model.evaluation for model in models]
    curves = [risk_coverage(one.confidence, one.correct) for one in evaluations]
    done()
    accepted = accepted_errors(float(curves[0].risk[-1]))
    usual = usual_error(accepted, float(curves[0].risk[-1]))
    answers = [_accepted(error, curves, models[-1], rows) for error in accepted]
    done()
    every = [risk_coverage(method.evaluation.confidence, method.evaluation.correct) for method in report.methods]
    orders = order_qualities([method.evaluation for method in report.methods])
    done()
    return {
        "models": models,
        "finding": finding(report, models),
        "promise": _promise(usual, answers, models[-1].title),
        "order": _order(orders, report, models),
        "answers": answers,
        "usual": usual,
        "figures": _figures(models, curves, usual),
        "orders": [
            (method.title, order, answerable(curve, usual))
            for method, order, curve in zip(report.methods, orders, every, strict=True)
        ],
        "groups": _groups(models, rows, usual),
        "n_groups": 0 if rows.test.groups is None else len(np.unique(rows.test.groups)),
        "least_rows": LEAST_ROWS,
        "costs": _costs(models[-1], rows),
        "delta": DELTA,
        "round_percent": round_percent,
        "points": points,
    }


def accepted_errors(error: float) -> list[float]:
    """Errors to be accepted that are below the error on all rows; the smallest where none is."""
    return [each for each in ERRORS if each < error] or [ERRORS[0]]


def usual_error(accepted: list[float], error: float) -> float:
    """The largest of them that at least halves the error on all rows; the smallest where none does."""
    return max([each for each in accepted if each <= error / 2] or accepted[:1])


def _accepted(error: float, curves: list[RiskCoverage], model: ReportedMethod, rows: Rows) -> Accepted:
    guarantee = judged_answers(rows.fitted[model.key], rows.test, rows.calibration, error, DELTA)
    return Accepted(error, answerable(curves[0], error), answerable(curves[-1], error), guarantee)


def finding(report: Report, models: list[ReportedMethod]) -> list[str]:
    """Whether confidence can be taken as it is, and what a calibrator makes of it."""
    said = []
    for place, model in enumerate(models):
        gap, one = _gap(report, model), model.evaluation
        mean, right = float(one.confidence.mean()), float(one.correct.mean())
        if gap.low > 0 or gap.high < 0:
            way = "overconfident" if gap.value > 0 else "underconfident"
            near, far = sorted((100 * abs(gap.low), 100 * abs(gap.high)))
            verdict = f"{way} by {100 * abs(gap.value):.1f} points ({near:.1f} to {far:.1f})"
        else:
            ends = f"{points(gap.low)} to {points(gap.high)}"
            verdict = f"neither over- nor underconfident on the whole, {points(gap.value)} points ({ends})"
        start = f"After {model.title}: {verdict}" if place else verdict.capitalize()
        said.append(f"{start}; mean confidence {percent(mean)}, {percent(right)} of answers correct.")
    return said


def _gap(report: Report, model: ReportedMethod) -> Interval:
    """Mean confidence minus accuracy, as the table has it."""
    table = report.table
    row = table[(table["method"] == model.key) & (table["score"] == "signed gap")].iloc[0]
    return Interval(float(row["value"]), float(row["low"]), float(row["high"]))


def _promise(usual: float, answers: list[Accepted], title: str) -> str:
    """What share can be answered at the usual error with a guarantee; and at the smallest one that has any."""
    one = next(each for each in answers if each.error == usual)
    if one.guarantee.found is not None:
        said = _guaranteed(one, title)
        return said[0].upper() + said[1:]
    other = next((each for each in answers if each.guarantee.found is not None), None)
    more = "" if other is None else f" The smallest error below that has a certified one: {_guaranteed(other, title)}"
    return one.guarantee.made.said() + more


def _guaranteed(one: Accepted, title: str) -> str:
    made, found = one.guarantee.made, one.guarantee.found
    assert found is not None and made.rule is not None
    return (
        f"where the confidence by {title} is at least {number(made.rule.threshold, 4)}, the error among answers is at "
        f"most {round_percent(one.error)}, with {round_percent(1 - DELTA)} confidence. On rows that did not choose it "
        f"{percent(found.coverage.value)} ({_ends(found.coverage)}) were answered, with {percent(found.error.value)} "
        f"({_ends(found.error)}) error."
    )


def _ends(share: Interval) -> str:
    return f"{100 * share.low:.1f} to {percent(share.high)}"


def _order(orders: list[OrderQuality], report: Report, models: list[ReportedMethod]) -> str:
    """How well confidence puts right answers before wrong ones."""
    by_key = {method.key: order for method, order in zip(report.methods, orders, strict=True)}
    raw, last = by_key[models[0].key], by_key[models[-1].key]
    best = raw.aurc.value - raw.excess_aurc
    said = (
        f"The area under the risk-coverage curve (AURC), the mean error over all shares answered, is "
        f"{with_interval(raw.aurc)}; the best order of these answers would have {number(best)}."
    )
    change = last.change
    if change is None:
        return said
    if change.low > 0 or change.high < 0:
        word = "lower" if change.value < 0 else "higher"
        return f"{said} By {models[-1].title} it is {word}, by {number(abs(change.value))} {_size(change)}."
    return f"{said} {models[-1].title} does not change it significantly: calibration moves thresholds, not the order."


def _size(change: Interval) -> str:
    low, high = sorted((abs(change.low), abs(change.high)))
    return brackets(low, high)


def _figures(models: list[ReportedMethod], curves: list[RiskCoverage], accepted: float) -> list[Markup]:
    """Reliability of both confidences on the same axes, and their risk-coverage curves."""
    figures = [figure for figure, _ in sections.reliability(models, sections.LARGE)[1]]
    across, down = _CURVES
    lines = [(model.title, curve, model.style) for model, curve in zip(models, curves, strict=True)]
    figures.append(figure_svg(risk_diagram(lines, accepted, title="Error among answers", height=down), across))
    return figures


def _groups(models: list[ReportedMethod], rows: Rows, accepted: float) -> list[GroupRow]:
    """Each group of test rows, such as one model's answers, the largest first."""
    groups = rows.test.groups
    if groups is None:
        return []
    found = [subgroups(model.evaluation, groups) for model in models]
    order = np.argsort(-found[0].gaps.rows, kind="stable")[:MOST_GROUPS]
    return [_group(place, found, models[-1].evaluation, groups == found[0].names[place], accepted) for place in order]


def _group(place: int, found: list[Subgroups], one: Evaluation, inside: Any, accepted: float) -> GroupRow:
    gaps = [each.gaps for each in found]
    enough = bool(found[0].enough[place])
    curve = risk_coverage(one.confidence[inside], one.correct[inside])
    unknown = Interval(float("nan"), float("nan"), float("nan"))
    ends = tuple(
        Interval(*(float(part[place]) for part in (gap.gap, gap.gap_low, gap.gap_high))) if enough else unknown
        for gap in gaps
    )
    return GroupRow(
        found[0].names[place],
        int(gaps[0].rows[place]),
        float(gaps[0].accuracy[place]),
        tuple(float(gap.confidence[place]) for gap in gaps),
        ends,
        curve.aurc if enough else float("nan"),
        answerable(curve, accepted) if enough else None,
    )


def _costs(model: ReportedMethod, rows: Rows) -> tuple[AnswerAbove, AnswerScores] | None:
    """The threshold that costs least, which no row chose, and what it costs on the test rows; None without costs."""
    if rows.answer_costs is None:
        return None
    rule = AnswerAbove.from_costs(*rows.answer_costs)
    return rule, judge_answers(rows.fitted[model.key], rule, rows.test, rows.answer_costs)
