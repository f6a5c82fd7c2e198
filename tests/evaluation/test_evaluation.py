"""Evaluations by blocks, the scores they give, and the intervals of these."""

from dataclasses import replace

import numpy as np
import pytest

import calib
from calib import metrics
from calib.base import Calibrator
from calib.evaluation import SCORES, Evaluation, evaluate, score_intervals, scores
from calib.evaluation import evaluation as module
from calib.evaluation.evaluation import class_frequencies
from calib.evaluation.score_registry import scored_on, smooth_scores
from calib.evaluation.view import EVENT
from calib.metrics.bootstrap import groups_of_units, reflect
from calib.numerics import softmax
from tests.conftest import simulate


class ConfidenceOnly(Calibrator):
    """Gives the raw confidence, and no probabilities."""

    def _fit(self, logits, labels, *, progress):
        pass

    def confidence_from_logits(self, logits, features=None):
        return softmax(logits).max(axis=1)


@pytest.fixture
def sample():
    return simulate(700, 7, scale=1.6)


def test_scores_are_the_metrics(sample):
    logits, labels = sample
    probs = softmax(logits)
    values = scores(evaluate(probs, labels))
    expected = {
        "NLL": metrics.nll(probs, labels),
        "Brier": metrics.brier(probs, labels),
        "accuracy": metrics.accuracy(probs, labels),
        "top-5 accuracy": metrics.top_k_accuracy(probs, labels, k=5),
        "ECE": metrics.ece(probs, labels),
        "class-wise ECE above 1/K": metrics.calibration_error.classwise_ece(
            probs, labels, threshold="1/K"
        ),
        "gap": metrics.confidence_gap(probs, labels),
        "signed gap": metrics.confidence_gap(probs, labels, signed=True),
        "overconfidence": metrics.overconfidence(probs, labels),
        "underconfidence": metrics.underconfidence(probs, labels),
        "sharpness": metrics.scoring_rules.sharpness(probs, labels),
    }
    assert values == pytest.approx(expected, abs=1e-12)
    of_events = ("event rate", "AUROC", "average precision")
    assert list(values) == [key for key in SCORES if key not in of_events]


def test_blocks_do_not_change_the_evaluation(sample, monkeypatch):
    logits, labels = sample
    fitted = calib.calibrator("temperature").fit(logits, labels)
    whole = evaluate(fitted.predict_proba(logits), labels, logits)
    monkeypatch.setattr(module, "MEMORY_ENTRIES", 70)  # 10 rows
    by_blocks = Evaluation.from_calibrator(fitted, logits, labels)
    for name in (
        "confidence",
        "correct",
        "predicted",
        "row_nll",
        "row_brier",
        "top5",
        "row_classwise",
    ):
        np.testing.assert_array_equal(getattr(by_blocks, name), getattr(whole, name))
    np.testing.assert_array_equal(whole.predicted, fitted.predict(logits))
    assert scores(by_blocks) == pytest.approx(scores(whole), abs=1e-12)


def test_ties_are_broken_by_the_ranking():
    probs = np.array([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2]])
    ranking = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0]])
    evaluation = evaluate(probs, np.array([1, 1]), ranking)
    np.testing.assert_array_equal(evaluation.predicted, [1, 0])
    np.testing.assert_array_equal(evaluation.correct, [True, False])


def test_confidence_only_methods_have_top_label_scores_alone(sample):
    logits, labels = sample
    fitted = ConfidenceOnly().fit(logits, labels)
    evaluation = Evaluation.from_calibrator(fitted, logits, labels)
    assert evaluation.row_nll is None and evaluation.row_brier is None and evaluation.top5 is None
    full = scores(evaluate(softmax(logits), labels))
    of_all_classes = ("NLL", "Brier", "top-5 accuracy", "class-wise ECE above 1/K")
    assert scores(evaluation) == {k: v for k, v in full.items() if k not in of_all_classes}
    assert set(score_intervals(evaluation)) == set(scores(evaluation))


# -- intervals -----------------------------------------------------------------------------------------


def test_resampled_errors_are_those_of_resampled_rows(sample):
    logits, labels = sample
    found, n = scored_on(evaluate(softmax(logits), labels)), len(labels)
    for r, counts in enumerate(groups_of_units(n).resampled(np.eye(n), 5)):
        rows = np.repeat(np.arange(n), counts.astype(int))
        again = scores(evaluate(softmax(logits[rows]), labels[rows]))
        # Equal-width bins are the same for every sample.
        assert found.scores["ECE"].draws[r] == pytest.approx(
            reflect(found.scores["ECE"].value, again["ECE"]), abs=1e-9
        )


def test_influences_are_what_a_little_more_weight_on_a_row_changes(sample):
    logits, labels = sample
    event = evaluate(softmax(logits[:, :2]), labels % 2).seen(EVENT)
    for evaluation in (evaluate(softmax(logits), labels), event):
        found, n = smooth_scores(evaluation, evaluation.rows), len(labels)
        row, times = 3, 4  # so many copies more of one row
        rows = np.append(np.arange(n), np.full(times, row))
        names = (
            "confidence",
            "correct",
            "predicted",
            "labels",
            "row_nll",
            "row_brier",
            "row_classwise",
            "top5",
            "rest",
        )
        of_rows = {
            name: values for name in names if (values := getattr(evaluation, name)) is not None
        }
        more = replace(evaluation, **{name: values[rows] for name, values in of_rows.items()})
        for key, (value, per_row) in smooth_scores(more, more.rows).items():
            change = value - found[key][0]
            # The first order of a change by a share of 4 in 704; AUROC, o and u are ratios.
            assert change == pytest.approx(
                found[key][1][row] * n * times / (n + times), rel=0.04, abs=1e-9
            ), key
            assert abs(per_row.sum()) < 1e-9, key


@pytest.mark.parametrize("n", [2, 30, 5000])
def test_intervals_hold_their_scores_and_stay_in_range(n):
    logits, labels = simulate(n, 7, scale=1.4, seed=3)
    evaluation = evaluate(softmax(logits), labels)
    values, intervals = scores(evaluation), score_intervals(evaluation)
    for key, (value, low, high) in intervals.items():
        if np.isnan(values[key]):
            assert np.isnan([value, low, high]).all()
            continue
        assert value == pytest.approx(values[key], abs=1e-12)
        assert SCORES[key].low <= low <= value <= high <= SCORES[key].high


@pytest.mark.parametrize("seed", range(4))
def test_no_interval_of_a_calibration_error_ends_below_that_of_the_gap(seed):
    """In whatever bins, the mean of the sizes of gaps is at least the size of their mean."""
    logits, labels = simulate(150, 7, seed=seed)
    found = score_intervals(evaluate(softmax(logits), labels))
    assert found["gap"].low > 0
    assert found["ECE"].low >= min(found["ECE"].value, found["gap"].low)
    assert found["ECE"].high >= found["gap"].high


@pytest.mark.parametrize("kind", [None, "sampling", "frequency"])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_class_frequencies_leave_out_the_row_that_they_judge(n_classes, kind):
    rng = np.random.default_rng(n_classes)
    labels = rng.integers(n_classes, size=60) % rng.integers(1, n_classes + 1, 60)
    weights = None if kind is None else rng.integers(1, 4, 60).astype(float)
    one = evaluate(rng.dirichlet(np.ones(n_classes), 60), labels)
    one = replace(one, weights=weights, weight_kind=kind)
    found = class_frequencies(one)
    w = np.ones(60) if kind is None else weights / (weights.mean() if kind == "sampling" else 1.0)
    for i in range(60):
        left = w - np.eye(60)[i] * (1.0 if kind == "frequency" else w[i])
        total = np.array([left[labels == k].sum() + 0.5 for k in range(n_classes)])
        p = total / total.sum()
        brier = np.sum((p - np.eye(n_classes)[labels[i]]) ** 2) / (2 if n_classes == 2 else 1)
        assert found.row_nll[i] == pytest.approx(-np.log(p[labels[i]]))
        assert found.row_brier[i] == pytest.approx(brier)
    assert len(set(found.confidence)) == 1
    assert scores(found)["accuracy"] == pytest.approx(np.bincount(labels, w).max() / w.sum())
