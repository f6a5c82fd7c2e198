"""The tidy comparison, the verdict in words, and what a cell of its table says on pages and in a shell."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.auditing.compare import compare
from calib.base import Calibrator
from calib.data.predictions import Predictions
from calib.errors import CalibrationError
from calib.evaluation import evaluate, scores
from calib.evaluation.comparison_table import (
    CONFIDENCE_ONLY,
    MARKS,
    ScoreCell,
    best_methods,
    changes,
    differences,
    score_rows,
    summary,
    verdict,
)
from calib.formatting import fixed
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.numerics import softmax
from calib.ui.compare.studies import styled_scores
from tests.conftest import compare_evaluations, simulate


def simulated(n, seed, scale=2.0):
    return Predictions(*simulate(n, 4, scale, seed), tuple("abcd"))


class Broken(Calibrator):
    """Fails while fitting."""

    def _fit(self, logits, labels, *, progress):
        raise ZeroDivisionError("nothing to divide by")


class Geometric(Calibrator):
    """Gives a confidence only, from features; records what it was given."""

    def _fit(self, logits, labels, *, progress, features, train_features, train_labels):
        self.given_ = [len(features), len(train_features), len(train_labels)]

    def confidence_from_logits(self, logits, features=None):
        return np.clip(features[:, 0], 0.0, 1.0)


@pytest.fixture(scope="module")
def parts():
    return simulated(800, seed=0), simulated(3000, seed=1)


@pytest.fixture(scope="module")
def table(parts):
    methods = {
        "temperature": calib.calibrator("temperature"),
        "broken": Broken(),
        "geometric": Geometric(),
    }
    return compare(methods, *parts).table


def cell(table, method, score):
    return table[(table["method"] == method) & (table["score"] == score)].iloc[0]


def test_values_are_the_scores_and_differences_refer_to_the_raw_model(table, parts):
    calibration, test = parts
    fitted = calib.calibrator("temperature").fit(calibration.logits, calibration.labels)
    ours = scores(evaluate(fitted.predict_proba(test.logits), test.labels))
    raw = scores(evaluate(softmax(test.logits), test.labels))
    for key, value in ours.items():
        row = cell(table, "temperature", key)
        assert row["value"] == pytest.approx(value, abs=1e-12)
        assert row["difference"] == pytest.approx(value - raw[key], abs=1e-12)
        assert row["low"] <= row["value"] <= row["high"]
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]


def test_a_failure_is_a_note_and_the_others_go_on(table):
    rows = table[table["method"] == "broken"]
    assert rows[["value", "low", "difference"]].isna().all(axis=None)
    assert (rows["note"] == "ZeroDivisionError: nothing to divide by").all()
    note = cell(table, "geometric", "NLL")["note"]
    assert "features" in note and "do not hold" in note
    assert (table[table["method"] == "temperature"]["note"] == "").all()


def with_features(parts):
    """The parts with the raw confidence as the one feature."""
    return (
        Predictions(
            p.logits, p.labels, p.class_names, features=softmax(p.logits).max(axis=1, keepdims=True),
            train_features=np.zeros((3, 1)), train_labels=np.zeros(3, int),
        )
        for p in parts
    )  # fmt: skip


def test_features_reach_the_methods_that_need_them(parts):
    calibration, test = with_features(parts)
    method = Geometric()
    table = compare({"geometric": method}, calibration, test).table
    assert method.given_ == [len(calibration), 3, 3]
    assert cell(table, "geometric", "ECE")["value"] == pytest.approx(
        cell(table, "identity", "ECE")["value"]
    )
    assert np.isnan(cell(table, "geometric", "NLL")["value"])
    assert (
        cell(table, "geometric", "NLL")["note"] == CONFIDENCE_ONLY
        and not cell(table, "geometric", "ECE")["note"]
    )


def test_the_verdict_claims_nothing_of_a_method_without_the_score(parts):
    methods = {"temperature": calib.calibrator("temperature"), "mine": Geometric()}
    table = compare(methods, *with_features(parts)).table
    first, last = verdict(table).split(" Methods with")
    assert "mine" not in first
    assert last == " a confidence alone have no NLL: mine. Compare these by an ECE."
    assert "a confidence alone" not in verdict(table, "ECE")
    alone = verdict(table[table["method"] != "temperature"])
    assert alone.startswith("Uncalibrated is alone with a value of NLL, ")
    assert ". Methods with a confidence alone have no NLL: mine." in alone


@pytest.mark.parametrize("score", ["NLL", "accuracy", "ECE"])
def test_differences_come_from_the_best_method_to_the_worst_and_methods_without_the_score_last(
    parts, score
):
    methods = {
        "vector": calib.calibrator("vector"),
        "mine": Geometric(),
        "temperature": calib.calibrator("temperature"),
    }
    table = compare(methods, *with_features(parts)).table
    rows = differences(table, score)
    assert sorted(row.method for row in rows) == ["identity", "mine", "temperature", "vector"]
    values = [row.value for row in rows if not math.isnan(row.value)]
    assert values == sorted(values, reverse=score == "accuracy")
    ties = [row.method for row in rows if row.value == cell(table, "identity", score)["value"]]
    assert ties[0] == "identity"
    by_method = {row.method: row for row in rows}
    raw, mine = by_method["identity"], by_method["mine"]
    assert raw.verdict == "reference" and raw.difference == (0.0, 0.0, 0.0)
    if score == "NLL":
        assert (
            rows[-1] is mine
            and mine.verdict == "confidence only"
            and math.isnan(mine.difference.value)
        )
    before, after = changes(table, "temperature", (score,))[score]
    assert (before, after.value) == (raw.value, by_method["temperature"].value)
    assert after.difference.value == pytest.approx(after.value - before)
    assert bool(changes(table, "mine", (score,))) == (score != "NLL")


def test_fitted_calibrators_are_not_fitted_again(parts):
    calibration, test = parts
    method = calib.calibrator("temperature").fit(calibration.logits[:50], calibration.labels[:50])
    before = method.temperature_
    row = cell(compare({"mine": method}, calibration, test).table, "mine", "NLL")
    assert method.temperature_ == before
    assert np.isnan(row["fit_seconds"])
    assert row["title"] == "mine"


# -- the verdict ---------------------------------------------------------------------------------------


def test_each_method_is_named_with_its_word_against_the_raw_model():
    scales = {"identity": 2.0, "temperature": 1.0, "vector": 1.6, "beta": 2.0 + 1e-4, "platt": 3.0}
    test = simulated(4000, 5, scale=1.0)
    made = {
        name: evaluate(softmax(test.logits * scale), test.labels) for name, scale in scales.items()
    }
    said = verdict(compare_evaluations(made))
    assert said.startswith("Temperature has the lowest NLL, ")
    assert re.search(
        r"Against Uncalibrated \([\d.]+\) on this test set: better .*; equivalent .*; worse .*\.$",
        said,
    )
    assert re.findall(r"(better|equivalent|worse) ([\w ]+)", said) == [
        ("better", "Temperature and Vector"), ("equivalent", "Beta"), ("worse", "Platt"),
    ]  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 9])
def test_a_handful_of_rows_claims_nothing(n):
    # One row resampled is that row again: every bootstrap interval has zero width.
    logits, labels = simulate(n=n, n_classes=4)
    table = compare_evaluations(
        {
            "identity": evaluate(softmax(logits), labels),
            "flat": evaluate(softmax(0.1 * logits), labels),
        }
    )
    assert set(table["verdict"]) == {"", "undecided"}
    said = verdict(table)
    assert "undecided" in said or "Undecided" in said or "cannot rank" in said


@pytest.mark.parametrize(("n_wrong", "claims"), [(0, False), (4, False), (5, True)])
def test_a_handful_of_wrong_rows_is_needed_to_rank_methods(n_wrong, claims):
    logits = np.zeros((400, 3))
    logits[:, 0] = np.random.default_rng(0).normal(4.0, 0.5, 400)
    labels = (np.arange(400) < n_wrong).astype(int)
    # The second doubts so much more that five wrong rows do not make up for it.
    maps = {"identity": logits, "temperature": 0.25 * logits}
    table = compare_evaluations(
        {name: evaluate(softmax(each), labels) for name, each in maps.items()}
    )
    assert (cell(table, "temperature", "Brier")["verdict"] == "worse") == claims
    assert (best_methods(table, "Brier") == {"identity"}) == claims
    assert ("cannot rank methods" in verdict(table, "Brier")) != claims
    if n_wrong == 4:
        assert "only 4 wrong test rows" in verdict(table, "NLL")


def test_a_method_without_mistakes_is_seen_to_be_more_accurate():
    """Accuracies differ by the rows on which methods do, of which there are enough; their NLL stays open."""
    labels = np.zeros(400, dtype=int)
    logits = np.tile([4.0, 0.0, 0.0], (400, 1))
    worse = logits.copy()
    worse[:100] = worse[:100, ::-1]
    made = {
        "identity": evaluate(softmax(worse), labels),
        "vector": evaluate(softmax(logits), labels),
    }
    table = compare_evaluations(made)
    assert cell(table, "vector", "accuracy")["verdict"] == "better"
    assert best_methods(table, "accuracy") == {"vector"}
    assert cell(table, "vector", "NLL")["verdict"] == "undecided"


@pytest.mark.parametrize("n", [100, 1000])
def test_intervals_of_calibration_errors_reach_what_was_not_seen(n):
    """Of n rows without a mistake up to 3.84 / (n + 3.84) may be wrong in truth (Wilson), and sure ones still."""
    labels = np.zeros(n, dtype=int)
    made = {"identity": evaluate(np.tile([0.9999, 0.0001], (n, 1)), labels)}
    table = compare_evaluations(made)
    unseen = 1.959964**2 / (n + 1.959964**2)
    for key in ("ECE", "gap"):
        row = cell(table, "identity", key)
        assert row["low"] == 0 and row["high"] == pytest.approx(unseen - 0.0001, rel=1e-4), key


def test_equal_best_values_are_all_best():
    logits, labels = simulate(n=300)
    made = {"identity": logits, "a": 0.5 * logits, "b": 0.5 * logits * (1 + 1e-14)}
    table = compare_evaluations(
        {name: evaluate(softmax(each), labels) for name, each in made.items()}
    )
    assert best_methods(table, "NLL") == {"a", "b"}
    assert best_methods(table, "accuracy") == frozenset()  # all the same
    assert best_methods(table, "sharpness") == frozenset()


def test_a_warning_says_that_the_test_rows_are_those_of_the_fit():
    outputs, labels = simulate(n=60)
    data, again = (calib.from_outputs(outputs, labels, kind="logits") for _ in range(2))
    timed = replace(data, times=np.arange(60).astype(str), sha256="")
    for test in (data, again, timed):
        with pytest.warns(
            calib.CalibrationWarning, match="These are the data that the calibrator was fitted on"
        ):
            compare({"temperature": calib.calibrator("temperature")}, data, test)
    compare(
        {"temperature": calib.calibrator("temperature")}, *data.split(0.5)
    )  # where a warning is an error


def test_parts_that_cannot_be_compared_are_refused_in_a_sentence():
    data = simulated(40, seed=2)
    with pytest.raises(CalibrationError, match="test part has 0 rows"):
        compare({}, data, data.take([]))
    with pytest.raises(
        CalibrationError, match=r"calibration part is a ndarray.*calib\.Predictions"
    ):
        compare({}, data.logits, data.labels)
    for methods, said in (
        (["beta"], "calibrators is a list"),
        ({"a": "beta"}, "'a' of calibrators is a str"),
    ):
        with pytest.raises(CalibrationError, match=said):
            compare(methods, data, data)


def test_the_recommendation_says_which_method_failed_and_why(parts):
    alone = compare({"broken": Broken()}, *parts).recommendation
    assert (
        str(alone)
        == "Keep the model as it is. broken failed: ZeroDivisionError: nothing to divide by"
    )
    beside = compare(
        {"broken": Broken(), "temperature": calib.calibrator("temperature")}, *parts
    ).recommendation
    assert str(beside).startswith("Take temperature.") and str(beside).endswith(
        "broken failed: " + alone.failed["broken"]
    )


# -- the table -----------------------------------------------------------------------------------------


def said(**changes) -> ScoreCell:
    made = {"value": Interval(0.5, 0.4, 0.6), "sd": math.nan, "is_best": True, "verdict": "better"}
    return ScoreCell(**{**made, **changes})


def test_what_a_cell_says():
    assert said().text() == "0.500 [0.400, 0.600] ★ ✓"
    assert said(sd=0.012).text(spread=True) == "0.500 ± 0.012 [0.400, 0.600] ★ ✓"
    assert said(verdict="worse", is_best=False).text() == "0.500 [0.400, 0.600] ✗"
    assert said().text(fixed, {"best": "*"}) == "0.5000 [0.4000, 0.6000] *"
    absent = said(value=UNKNOWN, is_best=False, verdict="")
    assert (absent.text(), absent.text(fixed)) == ("–", "-")


def test_pages_and_shell_say_the_same_and_a_method_that_failed_says_why(table):
    drawn, printed = styled_scores(table, ["NLL", "ECE"]).to_html(), summary(table)
    rows = score_rows(table, ["NLL", "ECE"])
    for row in rows:
        assert row.title in drawn and row.title in printed
        for found in row.cells.values():
            assert found.text() in drawn and found.text(fixed, {"best": "*"}) in printed
    assert any(mark in drawn for mark in MARKS.values())
    (broken,) = [row for row in rows if row.title == "broken"]
    assert broken.failed == "ZeroDivisionError: nothing to divide by" and broken.failed in printed


def test_no_other_method_stands_under_the_name_of_the_raw_model(parts):
    # Platt under this name was shown as "Uncalibrated".
    with pytest.raises(
        calib.CalibrationError, match="is the raw model; give the PlattScaling another name"
    ):
        calib.compare({"identity": calib.calibrator("platt")}, *parts)
