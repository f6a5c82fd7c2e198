"""The sections of a report: what to take and what it changes first, then the data, every score and every setting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from calib.calibrators.one_vs_rest import SHARING, OneVsRest
from calib.evaluation import SCORES
from calib.evaluation.comparison_table import verdict_paragraphs
from calib.formatting import plural, signed
from calib.plots.reliability import explain_diagram
from calib.reporting import answers, parts, risk_model
from calib.reporting.blocks import Block, Cell, Note, Section, Table
from calib.reporting.contents import Report
from calib.reporting.figures import figures_html

GAINED = ("NLL", "Brier", "ECE", "accuracy")
"""Scores whose change stands first."""


def sections(report: Report) -> Iterator[Section]:
    """The first page, and the sections that fold."""
    view = report.view
    more: Iterator[Section] = iter(())
    if view.is_event:
        models = risk_model.models_of(report)
        opening = risk_model.first(report, models)
        more = risk_model.more(models)
    elif view.name == "pairs":
        opening = answers.first(report)
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
    found = [parts.findings_table(report.audit)]
    yield Section("audit", "Audit", f"every check of the raw model on {rows}{tested}", found)
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
    said = f"{plural(rows, 'row')}, {plural(report.data.n_classes, 'class', 'classes')}."
    if len(report.methods) == 1:
        return said
    fitted = f"fitted on {report.n_calibration:,} rows" if report.n_calibration else "fitted before"
    return f"{said} {others}, {fitted}, and the raw model on {plural(report.n_test, 'test row')}."


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
    rows: list[list[str | Cell]] = [
        [method.title, *(_change(report.score(method, key)) for key in keys)]
        for method in report.methods[1:]
    ]
    titles = [SCORES[key].seen(report.view).title for key in keys]
    return Table("changes", ["against the raw model", *titles], rows)


def _change(row: Any) -> Cell:
    cell = parts.interval_cell(parts.joint_change(row), signed)
    return cell._replace(small=f"{cell.small} {row['verdict']}".strip())
