"""The event view: scores of P(event), against naive references; the top-label view stays as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib import CalibrationError, compare
from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.evaluation import SCORES, evaluate, scores
from calib.evaluation.claims import Claims
from calib.evaluation.comparison_table import first_scores
from calib.evaluation.evaluation import check_same_rows
from calib.evaluation.score_registry import score_intervals, scored_on
from calib.evaluation.studies import repeat_task
from calib.evaluation.view import EVENT, PAIRS, TOP_LABEL, view_of
from calib.metrics import ece
from calib.metrics.estimate import Rows
from calib.metrics.scoring_rules import auroc_interval
from calib.registry import calibrator
from tests.conftest import compare_evaluations


@pytest.fixture
def risk(rng) -> Predictions:
    """Events at a rate of about 12 %, with risks that are too extreme."""
    truth = rng.normal(-2.5, 1.2, 900)
    labels = (rng.random(900) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    logits = np.stack([np.zeros(900), 1.6 * truth], axis=1)
    return Predictions(logits, labels, ("paid", "default"), event=Event(1, "default", "as chosen"))


def probabilities(data: Predictions) -> np.ndarray:
    return 1 / (1 + np.exp(data.logits[:, ::-1] - data.logits))


@pytest.mark.parametrize("column", [0, 1])
def test_scores_are_those_of_the_events_probability(risk, column):
    probs = probabilities(risk)
    p, happened = probs[:, column], risk.labels == column
    seen = evaluate(probs, risk.labels).seen(replace(EVENT, column=column))
    values, before = scores(seen), scores(evaluate(probs, risk.labels))
    assert np.array_equal(seen.pair[0], p)
    assert values["ECE"] == pytest.approx(ece(p, happened), abs=1e-12)
    assert values["Brier"] == pytest.approx(np.mean((p - happened) ** 2), abs=1e-12)
    assert values["event rate"] == pytest.approx(happened.mean())
    assert values["signed gap"] == pytest.approx(p.mean() - happened.mean(), abs=1e-12)
    assert values["overconfidence"] == pytest.approx(p[~happened].mean())
    assert values["underconfidence"] == pytest.approx(1 - p[happened].mean())
    assert values["sharpness"] == pytest.approx(p.var())
    for key in ("NLL", "accuracy"):
        assert values[key] == before[key], "which are not about one probability"


def test_going_back_gives_the_top_label_view_again(risk):
    evaluation = evaluate(probabilities(risk), risk.labels)
    again = evaluation.seen(EVENT).seen(TOP_LABEL)
    for key, value in scores(again).items():
        assert value == scores(evaluation)[key]
    with pytest.raises(CalibrationError, match="'event'"):
        check_same_rows(evaluation.seen(EVENT), evaluation)
    three = evaluate(np.full((4, 3), 1 / 3), np.array([0, 1, 2, 0]))
    assert three.seen(TOP_LABEL).view == TOP_LABEL
    with pytest.raises(CalibrationError):
        three.seen(EVENT)


def test_pairs_are_looked_at_as_confidence_and_correct(rng):
    confidence, correct = rng.beta(5, 2, 400), rng.random(400) < 0.6
    evaluation = evaluate(np.stack([1 - confidence, confidence], axis=1), correct.astype(int)).seen(
        PAIRS
    )
    values = scores(evaluation)
    np.testing.assert_array_equal(evaluation.confidence, confidence)
    assert values["accuracy"] == pytest.approx(correct.mean()), (
        "also where a confidence is below one half"
    )
    assert values["ECE"] == pytest.approx(ece(confidence, correct))
    assert values["Brier"] == pytest.approx(np.mean((confidence - correct) ** 2))
    assert evaluation.view.wording.predicted_label == "confidence"
    assert "event rate" not in values


def test_the_data_say_which_view_they_have(risk):
    assert view_of(risk).event_name == "default"
    assert view_of(risk, "top-label") is TOP_LABEL
    assert view_of(replace(risk, event=None)) is TOP_LABEL
    pairs = replace(risk, kind="pairs", class_names=("wrong", "correct"))
    assert view_of(pairs) is view_of(pairs, "top-label") is PAIRS
    with pytest.raises(CalibrationError, match="top-label"):
        view_of(risk, "predicted")


def test_intervals_hold_the_scores_with_hardly_an_event(rng):
    p = rng.uniform(0.001, 0.02, 500)
    labels = np.zeros(500, dtype=int)
    labels[:2] = 1
    seen = evaluate(np.stack([1 - p, p], axis=1), labels).seen(EVENT)
    for key, (value, low, high) in score_intervals(seen).items():
        assert np.isnan(value) or low <= value <= high, key
    gap = score_intervals(seen)["signed gap"]
    rate = score_intervals(seen)["event rate"]
    assert gap.low <= p.mean() - rate.high + 1e-12, (
        "as far as the events that were not seen may reach"
    )


def test_a_comparison_takes_the_event_unless_told_otherwise(risk):
    calibration, test = risk.split(0.5)
    methods = {"platt": calibrator("platt")}
    event = compare(methods, calibration, test).table
    top = compare(methods, calibration, test, view="top-label").table
    expected = {
        "event": ece(probabilities(test)[:, 1], test.labels == 1),
        "top": ece(probabilities(test), test.labels, of="top"),
    }
    for name, table in (("event", event), ("top", top)):
        raw = table[(table["method"] == "identity") & (table["score"] == "ECE")]["value"].item()
        assert raw == pytest.approx(expected[name], abs=1e-12)
    assert set(event["score"]) == {*SCORES} - {"top-5 accuracy", "class-wise ECE above 1/K"}
    without = replace(calibration, event=None), replace(test, event=None)
    bare = compare(methods, *without).table
    assert bare["value"].to_numpy() == pytest.approx(top["value"].to_numpy(), nan_ok=True)
    with pytest.raises(CalibrationError, match="top-label"):
        compare(methods, calibration, test, view="both")


def test_studies_in_workers_take_the_column_of_the_event(risk):
    methods = [("platt", "platt", {})]
    data = {"logits": risk.logits, "labels": risk.labels}
    plain, event = (
        repeat_task(methods, 450, 2, 0, *more, data=data, callback=lambda *_: None)
        for more in ((), (1,))
    )
    assert "event rate" in set(event["score"])
    assert "event rate" not in set(plain["score"])
    _, test = risk.split(450, random_state=0)
    raw = event[
        (event["method"] == "identity") & (event["split"] == 0) & (event["score"] == "ECE")
    ]["value"].item()
    assert raw == pytest.approx(ece(probabilities(test)[:, 1], test.labels == 1), abs=1e-12)


def test_too_few_events_rank_nothing(rng):
    p = rng.uniform(0.3, 0.6, 300)
    labels = np.zeros(300, dtype=int)
    labels[:2] = 1
    evaluation = evaluate(np.stack([1 - p, p], axis=1), labels)
    top_label, event = (scored_on(each) for each in (evaluation, evaluation.seen(EVENT)))
    assert not Claims({"raw": top_label}).why_not("raw", "NLL"), (
        "many rows are right and many are wrong"
    )
    assert "2 test rows" in Claims({"raw": event}).why_not("raw", "NLL")


def test_a_rare_event_is_ranked_by_auroc_and_average_precision_in_place_of_the_accuracy():
    rng = np.random.default_rng(0)
    risk = rng.beta(1, 19, 1500)
    probs, happened = np.stack([1 - risk, risk], axis=1), (rng.random(1500) < risk).astype(int)
    one = evaluate(probs, happened).seen(EVENT)
    found = scored_on(one).intervals()
    panel = auroc_interval(risk, happened == 1, Rows.with_outcome(happened == 1))
    assert found["AUROC"].value == pytest.approx(panel.value, rel=1e-12)
    np.testing.assert_allclose(found["AUROC"][1:], panel[1:], atol=0.015)  # DeLong's
    low, high = found["average precision"][1:]
    assert 0 <= low < found["average precision"].value < high <= 1
    table = compare_evaluations({"identity": one})
    assert first_scores(table, ("NLL", "accuracy")) == ["NLL", "AUROC", "average precision"]
    frequent = table.assign(value=table["value"].where(table["score"] != "event rate", 0.3))
    assert first_scores(frequent, ("NLL", "accuracy")) == ["NLL", "accuracy"]
    assert "AUROC" not in scores(evaluate(probs, happened))
