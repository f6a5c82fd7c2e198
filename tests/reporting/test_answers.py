"""The report of a language model's answers: its numbers are the library's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.data.samples import load_sample
from calib.decisions import AnswerAbove, judge_answers, judged_answers
from calib.diagnostics.risk_coverage import answerable, order_qualities, risk_coverage
from calib.diagnostics.subgroups import subgroups
from calib.evaluation.compare import compare_methods
from calib.formatting import number, percent, points, round_percent, with_interval
from calib.reporting import Report, commands, html
from calib.reporting.answers import accepted_errors, usual_error
from tests.reporting.conftest import HOSTILE, Reading
from tests.test_pairs import pairs

COSTS = (5.0, 1.0)


def report_of(data, *names: str, **about) -> tuple[Report, dict]:
    parts, methods = data.split(0.5), {name: calib.calibrator(name) for name in names}
    return Report.from_comparison(compare_methods(methods, *parts), data, parts, methods, part=0.5, **about), methods


@pytest.fixture(scope="module")
def made() -> tuple[Report, dict]:
    return report_of(load_sample("simulated-answers"), "platt", answer_costs=COSTS)


@pytest.fixture(scope="module")
def page(made) -> Reading:
    return Reading(html(made[0]))


def test_it_opens_with_how_far_confidence_can_be_trusted(made, page):
    report, _ = made
    assert report.form == "answers"
    table = report.table.set_index(["method", "score"])
    raw = report.methods[0]
    gap = table.loc[(raw.key, "signed gap")]
    verdict = page.text.split("What can be answered")[0]
    assert (
        f"Overconfident by {100 * gap['value']:.1f} points ({100 * gap['low']:.1f} to {100 * gap['high']:.1f})"
        in verdict
    )
    assert f"mean confidence {percent(raw.evaluation.confidence.mean())}" in verdict
    quality = order_qualities([method.evaluation for method in report.methods])[0]
    assert with_interval(quality.aurc) in verdict


def test_what_can_be_answered_is_what_the_library_says(made, page):
    report, methods = made
    one = report.methods[1].evaluation
    curve = risk_coverage(one.confidence, one.correct)
    errors = accepted_errors(float((~report.methods[0].evaluation.correct).mean()))
    rows = page.tables["answers"][1:]
    assert [row[0] for row in rows] == [round_percent(error) for error in errors]
    certified = 0
    for error, row in zip(errors, rows, strict=True):
        assert row[2].startswith(percent(answerable(curve, error).coverage.value))
        found = judged_answers(methods["platt"], report.rows.test, report.rows.calibration, error)
        if found.found is None:
            assert row[3:] == ["none", "–", "–"]
            continue
        certified += 1
        assert row[3] == number(found.made.rule.threshold, 4)
        assert row[4].startswith(percent(found.found.coverage.value))
        assert row[5].startswith(percent(found.found.error.value))
    assert len(rows) > 3


def test_a_guarantee_is_told_where_there_is_one():
    """Of answers that are right whenever they are sure, a threshold is certified."""
    data = pairs(1200)
    sure = data.confidence > 0.7
    labels = np.where(sure, 1, np.random.default_rng(2).random(1200) < 0.3).astype(int)
    report, methods = report_of(replace(data, labels=labels), "isotonic")
    page = Reading(html(report))
    usual = usual_error(accepted_errors(float((labels == 0).mean())), float((labels == 0).mean()))
    found = judged_answers(methods["isotonic"], report.rows.test, report.rows.calibration, usual)
    verdict = page.text.split("What can be answered")[0]
    assert found.found is not None
    assert f"the error among answers is at most {round_percent(usual)}, with {round_percent(0.95)}" in verdict
    assert percent(found.found.coverage.value) in verdict and percent(found.found.error.value) in verdict


def test_where_the_usual_error_has_no_guarantee_the_smallest_that_has_one_is_told(made, page):
    """Of this sample nothing is certified at 10 %, half of the error on all answers being 19 %."""
    report, methods = made
    verdict = page.text.split("What can be answered")[0].replace("\n", " ")
    assert "No threshold" in verdict
    found = judged_answers(methods["platt"], report.rows.test, report.rows.calibration, 0.3)
    assert found.found is not None
    assert f"at most {round_percent(0.3)}, with {round_percent(0.95)} confidence" in verdict
    assert percent(found.found.coverage.value) in verdict


def test_levels_are_below_the_error_on_all_answers():
    assert accepted_errors(0.34) == [0.01, 0.02, 0.05, 0.1, 0.2, 0.3]
    assert accepted_errors(0.03) == [0.01, 0.02]
    assert accepted_errors(0.001) == [0.01]
    assert usual_error([0.01, 0.02, 0.05, 0.1, 0.2, 0.3], 0.34) == 0.1
    assert usual_error([0.01], 0.001) == 0.01


def test_each_group_is_judged(made, page):
    report, _ = made
    test = report.rows.test
    found = [subgroups(method.evaluation, test.groups) for method in report.methods]
    cells = {row[0]: row[1:] for row in page.tables["groups"][1:]}
    assert set(cells) == {"m-large", "m-small"}
    for place, name in enumerate(found[0].names):
        assert cells[name][0] == f"{found[0].gaps.rows[place]:,}"
        assert cells[name][1] == percent(found[0].gaps.accuracy[place])
        for model in (0, 1):
            assert cells[name][2 + model].startswith(points(found[model].gaps.gap[place]))
        one, inside = report.methods[1].evaluation, test.groups == name
        assert cells[name][4] == number(risk_coverage(one.confidence[inside], one.correct[inside]).aurc)


def test_costs_are_told_where_they_were_given(made, page):
    report, methods = made
    rule = AnswerAbove.from_costs(*COSTS)
    found = judge_answers(methods["platt"], rule, report.rows.test, COSTS)
    assert "Where an error costs 5 and handing over 1" in page.text
    assert f"costs {with_interval(found.cost)} a row" in page.text.replace("\n", " ")
    assert "--answer-costs 5.0,1.0" in commands(report)[-1]
    without = replace(report, rows=replace(report.rows, answer_costs=None))
    assert "Where an error costs" not in html(without) and "--answer-costs" not in commands(without)[-1]


def test_selective_prediction_of_every_method(made, page):
    report, _ = made
    qualities = order_qualities([method.evaluation for method in report.methods])
    for row, quality in zip(page.tables["selective"][1:], qualities, strict=True):
        assert row[1] == with_interval(quality.aurc) and row[2] == number(quality.excess_aurc)


def test_hostile_groups_are_text():
    groups = np.array(HOSTILE)[np.arange(400) % len(HOSTILE)]
    document = html(report_of(replace(pairs(), groups=groups, name=HOSTILE[0]), "platt")[0])
    page = Reading(document)
    for name in HOSTILE[:3]:
        assert name in page.text and name not in document
    assert "<script" not in document.lower()
    drawn = [attributes for _, attributes in page.elements if attributes.get("role") == "img"]
    assert len(drawn) == 3 + 2 and all(attributes["aria-label"] for attributes in drawn)


def test_the_raw_model_alone_has_a_report_of_moderate_size():
    report, _ = report_of(pairs(120))
    document = html(report)
    assert len(document.encode()) < 200_000
    assert len(Reading(document).tables["answers"][0]) == 5


def test_a_person_can_have_the_comparison_instead():
    report, _ = report_of(pairs(120), "platt", general=True)
    assert report.form == "comparison"
    assert "score-NLL" in Reading(html(report)).tables
