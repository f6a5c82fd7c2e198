"""Sections of a report: the recommendation and its effect first, then the data, all scores and all settings.

Confidences in answers have a first section of their own: how far they can be trusted, and which to answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from calib.auditing.checks import describe_level
from calib.calibrators.one_vs_rest import SHARING, OneVsRest
from calib.decisions.judgement import certify_and_judge
from calib.diagnostics.risk_coverage import (
    ROUND_ERRORS,
    Certified,
    RiskCoverage,
    answerable,
    risk_coverage,
    usual_error,
)
from calib.evaluation import SCORES
from calib.evaluation.comparison_table import Difference, differences, verdict_paragraphs
from calib.evaluation.score_registry import describe_intervals
from calib.formatting import brackets, number, percent, plural, round_percent, signed
from calib.metrics.bootstrap import Interval
from calib.plots.decisions import risk_diagram
from calib.plots.reliability import explain_diagram
from calib.reporting import parts, risk_model
from calib.reporting.contents import Report, ReportedMethod
from calib.reporting.parts import Block, Cell, Note, Section, Table, figures_html

GAINED = ("NLL", "Brier", "ECE", "accuracy")
"""Scores whose change stands first."""
DELTA = 0.05
"""One minus the confidence of a guarantee."""
ANSWER_SCORES = ("signed gap", "ECE", "Brier", "NLL")
"""Scores of confidences in answers that stand first, before and after calibration."""


def sections(report: Report) -> Iterator[Section]:
    """The first page, and the sections that fold."""
    view = report.view
    more: Iterator[Section] = iter(())
    if view.is_event:
        models = risk_model.models_of(report)
        opening = risk_model.first(report, models)
        more = risk_model.more(models)
    elif view.name == "pairs":
        opening = _confidence_in_answers(report)
    else:
        about = f"{_about(report)} {parts.of_weights(report)}".strip()
        opening = Section("answer", "Calibration of", about, list(_first(report)))
    assert report.audit is not None
    rows, tested = "all rows", ""
    verdict = report.audit.verdict
    if report.n_calibration:
        rows = f"all {plural(report.n_calibration + report.n_test, 'row')}"
        tested = f"; all other numbers are of {plural(report.n_test, 'test row')}"
        verdict = f"On {rows}: {verdict}"
    yield replace(opening, blocks=[verdict, *opening.blocks])
    blocks = [parts.findings_table(report.audit)]
    yield Section("audit", "Audit", f"every check of the raw model on {rows}{tested}", blocks)
    of_checklist = ", TRIPOD+AI 5, 7, 8 and 11" if view.is_event else ""
    yield Section(
        "data-section",
        "Data",
        f"content, split, hash, and what was noticed while reading{of_checklist}",
        parts.facts(report),
    )
    yield from more
    if report.groups is not None:
        yield Section(
            "groups-section",
            "Groups",
            "how far confidence is off in each",
            list(parts.groups(report)),
        )
    yield Section(
        "scores", "Methods and scores", "every score with its differences", list(_scores(report))
    )
    yield Section(
        "methods",
        "Methods",
        "what each does, its parameters, its notes and what it took",
        parts.about_methods(report),
    )
    yield Section(
        "again",
        "Make it again",
        "the command that gives the same numbers, and the versions",
        parts.again(report),
    )


def _about(report: Report) -> str:
    rows = report.n_calibration + report.n_test
    others = plural(len(report.methods) - 1, "calibrator")
    sentence = f"{plural(rows, 'row')}, {plural(report.data.n_classes, 'class', 'classes')}."
    if len(report.methods) == 1:
        return sentence
    fitted = f"fitted on {report.n_calibration:,} rows" if report.n_calibration else "fitted before"
    return (
        f"{sentence} {others}, {fitted}, and the raw model on {plural(report.n_test, 'test row')}."
    )


def _first(report: Report) -> Iterator[Block]:
    if report.recommended is not report.methods[0]:
        yield parts.tiles(report, report.recommended, GAINED)
    yield from verdict_paragraphs(report.table, report.recommendation)
    methods = list(
        {method.key: method for method in (report.methods[0], report.recommended)}.values()
    )
    yield figures_html(parts.reliability(methods))
    yield Note(explain_diagram(report.view))
    yield from parts.methods(report)
    yield from parts.scores(report)
    if report.data.n_classes > 2 and any(
        isinstance(m.calibrator, OneVsRest) for m in report.methods
    ):
        yield Note(SHARING)


def _scores(report: Report) -> Iterator[Block]:
    if report.rows is not None:  # whose first page has other numbers
        yield from verdict_paragraphs(report.table, report.recommendation)
        yield from parts.scores(report)
    yield Note(
        "Differences are paired by row, so that methods may differ although their own intervals overlap. Intervals of "
        "differences to the raw model hold for all methods and all scores that claim, together. A calibration error is "
        "biased upwards by noise."
    )
    there = [key for key in SCORES if key in set(report.table["score"])]
    others = [key for key in there if key not in parts.MAIN]
    if len(report.methods) > 1:
        yield _changes(report, [key for key in there if key in parts.MAIN])
    for first in range(0, len(others), len(parts.MAIN)):
        yield parts.score_table(
            report.table, report.view, others[first : first + len(parts.MAIN)], f"others-{first}"
        )
    seen = [SCORES[key].seen(report.view) for key in there]
    yield Table("meanings", [], [(score.title, score.meaning) for score in seen])


def _changes(report: Report, keys: list[str]) -> Table:
    """Differences of all methods from the raw model, with joint intervals and what they show."""
    by_score = [
        {change.method: change for change in differences(report.table, key)} for key in keys
    ]
    rows: list[list[str | Cell]] = [
        [method.title, *(_change(by_method[method.key]) for by_method in by_score)]
        for method in report.methods[1:]
    ]
    titles = [SCORES[key].seen(report.view).title for key in keys]
    return Table("changes", ["against the raw model", *titles], rows)


def _change(change: Difference) -> Cell:
    cell = parts.interval_cell(change.difference, signed)
    if change.value != change.value:
        return cell
    return cell._replace(small=f"{cell.small} {change.verdict}".strip())


def _confidence_in_answers(report: Report) -> Section:
    """First section for confidences in answers."""
    about = f"{report.n_test:,} answers of {report.n_test + report.n_calibration:,}, on which no calibrator was fitted."
    about = f"{about} {parts.of_weights(report)}".strip()
    return Section("answer", "Confidence in answers:", about, list(_level_and_guarantees(report)))


def _curve(method: ReportedMethod) -> RiskCoverage:
    evaluation = method.evaluation
    return risk_coverage(
        evaluation.confidence,
        evaluation.correct,
        clusters=evaluation.clusters,
        weights=evaluation.weights,
    )


def _level_and_guarantees(report: Report) -> Iterator[Block]:
    assert report.rows is not None
    calibration, test = report.rows
    models = report.before_and_after
    curves = [_curve(model) for model in models]
    usual = usual_error(_curve(models[0]))
    if len(models) > 1:
        yield parts.tiles(report, models[-1], ANSWER_SCORES)
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
    yield _answered(models, curves, promised, describe_intervals(models[0].evaluation.n_clusters))


def accepted_errors(usual: float, error: float) -> list[float]:
    """The usual error and round ones that are below the error on all rows, down to a twentieth of the usual one."""
    return [rate for rate in ROUND_ERRORS if rate == usual or usual / 20 <= rate < error]


def _share(share: Interval) -> Cell:
    return Cell(percent(share.value), brackets(share.low, share.high, percent))


def _answered(
    models: list[ReportedMethod],
    curves: list[RiskCoverage],
    promised: dict[float, Certified],
    clusters: str,
) -> Table:
    """Share of answers at each accepted error, found on all test rows, and guaranteed."""
    rows: list[list[str | Cell]] = []
    for error, certified in promised.items():
        shares = [_share(answerable(curve, error).coverage) for curve in curves]
        judged, rule = certified.found, certified.made.rule
        sure: list[str | Cell] = ["none", "–", "–"]
        if judged is not None and rule is not None:
            sure = [number(rule.threshold, 4), _share(judged.coverage), _share(judged.error)]
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
        f"judged on the other half (fixed-sequence testing). With {round_percent(1 - DELTA)} confidence its error is "
        "at most the accepted one on new rows that come as the test rows do. Each guarantee holds by itself; choose "
        f"the error before looking. Brackets are 95 % intervals. {clusters}",
    )
