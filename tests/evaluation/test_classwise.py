"""The class-wise ECE above 1/K among the scores: the metric, with an interval that holds the truth and no verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.evaluation import SCORES, Evaluation, evaluate, score_intervals, scores
from calib.evaluation import evaluation as module
from calib.evaluation.score_registry import CLASSWISE
from calib.metrics.calibration_error import classwise_ece
from calib.numerics import softmax


def outputs(seed, n, n_classes, sharper=1.0):
    """Probabilities that are calibrated, or too sharp."""
    generator = np.random.default_rng(seed)
    logits = 2.0 * generator.normal(size=(n, n_classes))
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    return softmax(sharper * logits), labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [3, 5, 15, 40])
def test_it_is_the_metric_in_blocks_of_rows(n_classes, dtype, monkeypatch):
    probs, labels = outputs(0, 300, n_classes, 1.5)
    probs = probs.astype(dtype)
    probs[:30] = dtype(1.0 / n_classes)
    labels[labels == 1] = 0  # a class without a row
    monkeypatch.setattr(module, "MEMORY_ENTRIES", 90 * n_classes)
    assert scores(evaluate(probs, labels))[CLASSWISE] == pytest.approx(
        classwise_ece(probs, labels, threshold="1/K"), abs=1e-12
    )


def test_two_classes_have_none():
    assert CLASSWISE not in scores(evaluate(*outputs(0, 50, 2)))


@pytest.mark.parametrize(("n", "n_classes"), [(300, 3), (800, 30)])
def test_its_interval_holds_the_truth_of_calibrated_and_other_models(n, n_classes):
    truth = classwise_ece(*outputs(99, 50_000, n_classes, 1.5), threshold="1/K")
    held = []
    for seed in range(60):
        calibrated, sharp = (
            score_intervals(evaluate(*outputs(seed, n, n_classes, by)))[CLASSWISE]
            for by in (1.0, 1.5)
        )
        held.append([calibrated.low == 0.0, sharp.low <= truth <= sharp.high])
    assert (np.mean(held, axis=0) >= 0.92).all()


def test_copies_of_rows_are_no_new_ones_where_they_are_clusters():
    probs, labels = outputs(1, 400, 6, 1.5)
    alone = Evaluation.from_calibrator(
        calib.calibrator("identity").fit(np.log(probs), labels), np.log(probs), labels
    )
    rows = np.repeat(np.arange(400), 4)
    logits = np.log(probs[rows])
    copied = Evaluation.from_calibrator(
        calib.calibrator("identity").fit(logits, labels[rows]), logits, labels[rows], clusters=rows
    )
    assert copied.classwise_noise == pytest.approx(alone.classwise_noise)
    assert score_intervals(copied)[CLASSWISE] == pytest.approx(score_intervals(alone)[CLASSWISE])
    assert evaluate(probs[rows], labels[rows]).classwise_noise == pytest.approx(
        alone.classwise_noise / 2
    )


def test_a_comparison_shows_it_and_claims_nothing():
    probs, labels = outputs(2, 600, 4, 1.5)
    data = calib.from_outputs(probs, labels, kind="probabilities")
    calibration, test = data.split(0.5)
    table = calib.compare({"temperature": calib.calibrator("temperature")}, calibration, test).table
    rows = table[table["score"] == CLASSWISE].set_index("method")
    assert not SCORES[CLASSWISE].claims and (rows["verdict"] == "").all()
    assert rows.loc["temperature", "value"] < rows.loc["identity", "value"]
    assert rows.loc["temperature", "difference_low"] <= rows.loc["temperature", "difference"] < 0
    assert calib.scores(probs, labels).loc[CLASSWISE, "value"] == pytest.approx(
        classwise_ece(probs, labels, threshold="1/K"), abs=1e-9
    )


def test_rows_put_together_have_none():
    evaluation = evaluate(*outputs(3, 60, 5))
    assert CLASSWISE not in scores(replace(evaluation, row_classwise=None))
