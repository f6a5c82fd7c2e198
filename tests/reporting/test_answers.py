"""The report of a language model's answers: its numbers are the library's."""

from __future__ import annotations

import pytest

import calib
from calib.auditing.compare import compare
from calib.data.samples import load_sample
from calib.decisions.judgement import certify_and_judge
from calib.diagnostics.gaps import gap_sentence, subgroups
from calib.diagnostics.risk_coverage import answerable, risk_coverage, usual_error
from calib.formatting import brackets, number, percent, points, round_percent
from calib.reporting import Report, Source, html, report_from_comparison
from calib.reporting.sections import accepted_errors
from tests.reporting.conftest import Reading


def report_of(data, *names: str) -> tuple[Report, dict]:
    parts, methods = data.split(0.5), {name: calib.calibrator(name) for name in names}
    return report_from_comparison(
        compare(methods, *parts), data, parts, methods, source=Source(part=0.5)
    ), methods


@pytest.fixture(scope="module")
def made() -> tuple[Report, dict]:
    return report_of(load_sample("simulated-answers").take(range(0, 1500, 2)), "platt")


@pytest.fixture(scope="module")
def page(made) -> Reading:
    return Reading(html(made[0]))


def test_it_opens_with_how_far_confidence_can_be_trusted(made, page):
    report, _ = made
    table = report.table.set_index(["method", "score"])
    raw, platt = report.methods
    gap, after = table.loc[(raw.key, "signed gap")], table.loc[(platt.key, "signed gap")]
    verdict = page.text.split("accepted error")[0]
    confidence = percent(raw.evaluation.confidence.mean())
    assert f"The raw model: overconfident: mean confidence {confidence}, accuracy" in verdict
    assert f"{points(gap['value'])} points" in verdict
    assert after["low"] < 0 < after["high"]
    assert f"{platt.title}: right on average: mean confidence" in verdict
    tiles = verdict.split("The raw model:")[0]
    assert f"{points(gap['value'])} → {points(after['value'])}".replace("−", "-") in tiles
    assert "-" in tiles and "−" not in tiles, "all tiles have one minus sign"


def test_what_can_be_answered_is_what_the_library_says(made, page):
    report, methods = made
    one = report.methods[1].evaluation
    curve = risk_coverage(one.confidence, one.correct)
    raw = report.methods[0].evaluation
    usual = usual_error(risk_coverage(raw.confidence, raw.correct))
    errors = accepted_errors(usual, float((~raw.correct).mean()))
    assert usual in errors
    rows = page.tables["answers"][1:]
    assert [row[0] for row in rows] == [round_percent(error) for error in errors]
    certified = 0
    for error, row in zip(errors, rows, strict=True):
        assert row[2].startswith(percent(answerable(curve, error).coverage.value))
        found = certify_and_judge(methods["platt"], *reversed(report.rows), error)
        if found.found is None:
            assert row[3:] == ["none", "–", "–"]
            continue
        certified += 1
        assert row[3] == number(found.made.rule.threshold, 4)
        assert row[4].startswith(percent(found.found.coverage.value))
        assert row[5].startswith(percent(found.found.error.value))
    assert len(rows) > 3


def test_levels_are_below_the_error_on_all_answers():
    assert accepted_errors(0.2, 0.34) == [0.01, 0.02, 0.05, 0.1, 0.2, 0.3]
    assert accepted_errors(0.01, 0.03) == [0.001, 0.002, 0.005, 0.01, 0.02]
    assert accepted_errors(0.001, 0.001) == [0.001]


def test_each_group_is_judged_as_on_the_page_compare(made, page):
    report, _ = made
    found = [subgroups(method.evaluation, report.groups) for method in report.methods]
    cells = {row[0]: row[1:] for row in page.tables["groups"][1:]}
    assert list(cells) == [found[1].names[k] for k in found[1].worst_first] and set(cells) == {
        "m-large",
        "m-small",
    }
    for place, name in enumerate(found[0].names):
        assert cells[name][:2] == [
            f"{found[0].gaps.rows[place]:,}",
            percent(found[0].gaps.accuracy[place]),
        ]
        for model in (0, 1):
            gaps = found[model].gaps
            ends = brackets(gaps.gap_low[place], gaps.gap_high[place], points)
            assert cells[name][2 + model] == f"{points(gaps.gap[place])} {ends}"
    assert gap_sentence(found[1].average, found[1].off, 2) in page.text
