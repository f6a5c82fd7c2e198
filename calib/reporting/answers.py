"""The report of a language model's answers: how far its confidence can be trusted, and what it may answer by itself."""

from __future__ import annotations

from collections.abc import Iterator

from calib.auditing.checks import describe_level
from calib.decisions.judgement import certify_and_judge
from calib.diagnostics.judged_decisions import Certified
from calib.diagnostics.risk_coverage import (
    ROUND_ERRORS,
    RiskCoverage,
    answerable,
    risk_coverage,
    usual_error,
)
from calib.evaluation.score_registry import said_of_intervals
from calib.formatting import brackets, number, percent, round_percent
from calib.metrics.bootstrap import Interval
from calib.plots.decisions import risk_diagram
from calib.plots.reliability import explain_diagram
from calib.reporting import parts
from calib.reporting.blocks import Block, Cell, Note, Section, Table
from calib.reporting.contents import Report, ReportedMethod
from calib.reporting.figures import figures_html

DELTA = 0.05
"""One minus the confidence of a guarantee."""
FIRST = ("signed gap", "ECE", "Brier", "NLL")
"""Scores that stand first, before and after calibration."""


def first(report: Report) -> Section:
    """The first page."""
    about = f"{report.n_test:,} answers of {report.n_test + report.n_calibration:,}, on which no calibrator was fitted."
    about = f"{about} {parts.of_weights(report)}".strip()
    return Section("answer", "Confidence in answers:", about, list(_first(report)))


def _curve(method: ReportedMethod) -> RiskCoverage:
    one = method.evaluation
    return risk_coverage(one.confidence, one.correct, clusters=one.clusters)


def _first(report: Report) -> Iterator[Block]:
    assert report.rows is not None
    calibration, test = report.rows
    models = report.before_and_after
    curves = [_curve(model) for model in models]
    usual = usual_error(_curve(models[0]))
    if len(models) > 1:
        yield parts.tiles(report, models[-1], FIRST)
    for model in models:
        subject = "The raw model" if model is models[0] else model.title
        yield describe_level(model.evaluation, subject)
    errors = accepted_errors(usual, float(curves[0].risk[-1]))
    promised = {
        error: certify_and_judge(models[-1].calibrator, test, calibration, error, DELTA)
        for error in errors
    }
    yield f"With {models[-1].title}: {promised[usual].made.said()}"
    lines = [(model.title, curve, model.style) for model, curve in zip(models, curves, strict=True)]
    drawn = risk_diagram(lines, usual, title="Error among the answered", height=parts.HEIGHT)
    yield figures_html([*parts.reliability(models), drawn])
    yield Note(explain_diagram(report.view))
    yield _answered(models, curves, promised, said_of_intervals(models[0].evaluation.n_clusters))


def accepted_errors(usual: float, error: float) -> list[float]:
    """The usual error and round ones that are below the error on all rows, down to a twentieth of the usual one."""
    return [each for each in ROUND_ERRORS if each == usual or usual / 20 <= each < error]


def _share(share: Interval) -> Cell:
    return Cell(percent(share.value), brackets(share.low, share.high, percent))


def _answered(
    models: list[ReportedMethod],
    curves: list[RiskCoverage],
    promised: dict[float, Certified],
    clusters: str,
) -> Table:
    """What can be answered at each accepted error, found on all test rows, and guaranteed."""
    rows: list[list[str | Cell]] = []
    for error, one in promised.items():
        shares = [_share(answerable(curve, error).coverage) for curve in curves]
        found, rule = one.found, one.made.rule
        sure: list[str | Cell] = ["none", "–", "–"]
        if found is not None and rule is not None:
            sure = [number(rule.threshold, 4), _share(found.coverage), _share(found.error)]
        rows.append([round_percent(error), *shares, *sure])
    head = [
        "accepted error",
        *(f"answered, {model.title}" for model in models),
        "guaranteed from a confidence of",
        "then answered",
        "error there",
    ]
    return Table(
        "answers",
        head,
        rows,
        "The shares answered are the largest with no more error on all test rows; looking for them makes them look "
        f"safer than they are. A guaranteed threshold, of {models[-1].title}, is certified on half of these rows and "
        f"judged on the other half: with {round_percent(1 - DELTA)} confidence its error on new rows is at most the "
        "accepted one, if these come as the test rows do (fixed-sequence testing). Each guarantee holds by itself; "
        f"choose the error before looking. Brackets are 95 % intervals. {clusters}",
    )
