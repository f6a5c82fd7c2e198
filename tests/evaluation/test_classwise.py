"""Class-wise errors from sums over groups: equal to the metric, bounded in memory, resampled by group."""

import numpy as np
import pytest

from calib.evaluation import evaluate, paired_differences, score_intervals, scores
from calib.evaluation import evaluation as module
from calib.evaluation.classwise import MAX_BYTES, ClasswiseSums, classwise_values
from calib.evaluation.evaluation import MAX_CLASSES
from calib.evaluation.scores import calibrated_scores, score_fully
from calib.metrics import Resamples, classwise_ece
from calib.numerics import softmax

KEYS = {"class-wise ECE": None, "class-wise ECE above 1/K": "1/K"}


def sharp(n, n_classes, seed, dtype=np.float64):
    """Probabilities with zeros, ones and values exactly at 1/K and at edges; the last class is absent."""
    generator = np.random.default_rng(seed)
    probs = generator.dirichlet(np.full(n_classes, 0.3), size=n)
    probs[probs < 1e-3] = 0.0
    probs[: n // 10] = 1.0 / n_classes
    probs[n // 10 : n // 8] = np.eye(n_classes)[generator.integers(n_classes, size=n // 8 - n // 10)]
    probs[n // 8 : n // 6, 0] = generator.integers(16, size=n // 6 - n // 8) / 15
    probs[:, -1] = np.where(np.arange(n) < n // 2, 0.0, probs[:, -1])
    return probs.astype(dtype), generator.integers(max(1, n_classes - 1), size=n)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_classes", [2, 3, 5, 10, 15, 100])  # 1/3, 1/5 and 1/15 are edges of bins
def test_scores_are_the_metric(n_classes, dtype, monkeypatch):
    probs, labels = sharp(700, n_classes, seed=n_classes, dtype=dtype)
    monkeypatch.setattr(module, "MEMORY_ENTRIES", 90 * n_classes)
    values = scores(evaluate(probs, labels))
    for key, threshold in KEYS.items():
        assert values[key] == pytest.approx(classwise_ece(probs, labels, threshold=threshold), abs=1e-12)


def test_a_class_with_nothing_above_the_threshold_contributes_nothing():
    probs = np.tile([0.7, 0.3], (5, 1))
    values = scores(evaluate(probs, np.array([0, 0, 1, 1, 1])))
    assert values["class-wise ECE above 1/K"] == pytest.approx(0.3 / 2)  # |0.7 - 2/5| for one of two classes
    assert values["class-wise ECE"] == pytest.approx(0.3)


def test_resampled_groups_are_resampled_rows():
    probs, labels = sharp(200, 4, seed=1)
    sums = evaluate(probs, labels).classwise
    group = sums.group
    resamples = Resamples(200, 6, random_state=5)
    times = resamples.times_drawn(sums.n_groups)
    resampled = classwise_values(sums, resamples)
    for r in range(6):
        rows = np.repeat(np.arange(200), times[r, group].astype(int))
        for key, threshold in KEYS.items():
            again = classwise_ece(probs[rows], labels[rows], threshold=threshold)
            assert resampled[key][r] == pytest.approx(again, abs=1e-12)


@pytest.mark.parametrize("n_groups", [2, 11, 50])
def test_variance_of_a_mean_over_groups_is_unbiased(n_groups):
    values = np.random.default_rng(0).normal(size=n_groups)
    times = Resamples(1000, 10_000).times_drawn(n_groups)
    means = times @ values / times.sum(axis=1)
    assert means.var() == pytest.approx(values.var(ddof=1) / n_groups, rel=0.05)


@pytest.mark.parametrize("n_classes", [2, 10, 1000, MAX_CLASSES])
def test_memory_is_bounded(n_classes):
    sums = ClasswiseSums(1_000_000, n_classes)
    assert sums.sums.nbytes + sums.above.nbytes <= MAX_BYTES
    assert 10 <= sums.n_groups <= 50


def test_more_classes_than_memory_allows_have_no_class_wise_scores(monkeypatch):
    monkeypatch.setattr(module, "MAX_CLASSES", 3)
    probs, labels = sharp(50, 4, seed=0)
    evaluation = evaluate(probs, labels)
    assert evaluation.classwise is None
    assert not set(KEYS) & set(score_intervals(evaluation, n_resamples=20))


def test_groups_are_the_same_for_every_method_and_do_not_follow_the_order_of_rows():
    labels = np.sort(np.random.default_rng(0).integers(10, size=5000))
    sums = ClasswiseSums(5000, 10)
    group = sums.group
    np.testing.assert_array_equal(group, ClasswiseSums(5000, 10).group)
    share = np.array([np.bincount(labels[group == g], minlength=10) / 100 for g in range(sums.n_groups)])
    assert np.bincount(group).tolist() == [100] * 50
    # Shares of 100 labels drawn from 10 even classes have a deviation of 0.03.
    assert share.std(axis=0).mean() == pytest.approx(0.03, abs=0.006)


def test_better_calibrated_is_lower_by_a_paired_difference():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(5000, 10)) * 1.5
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    true, sharpened = evaluate(softmax(logits), labels), evaluate(softmax(1.5 * logits), labels)
    differences = paired_differences(true, sharpened)
    for key in KEYS:
        value, low, high = differences[key]
        assert low <= value <= high < 0.0
        assert value == pytest.approx(scores(true)[key] - scores(sharpened)[key])


@pytest.mark.parametrize(("n_classes", "spread"), [(2, 0.71), (10, 1.0), pytest.param(40, 1.0, marks=pytest.mark.long)])
def test_a_calibrated_model_of_the_same_probabilities_by_drawing_each_label(n_classes, spread):
    generator = np.random.default_rng(0)
    logits = 2 * generator.normal(size=(1200, n_classes))
    probs, draws = softmax(logits), 150
    label = [np.argmax(logits + generator.gumbel(size=logits.shape), axis=1) for _ in range(draws)]
    found = calibrated_scores(evaluate(probs, label[0]))
    for key, threshold in KEYS.items():
        naive = np.array([classwise_ece(probs, one, threshold=threshold) for one in label])
        assert found[key].shape == (100,)
        error = np.hypot(naive.std() / np.sqrt(draws), found[key].std() / 10)
        assert abs(found[key].mean() - naive.mean()) < 4 * error + 0.01 * naive.mean()
        assert 0.7 * spread < found[key].std() / naive.std() < 1.4 * spread
    kept = score_fully(evaluate(probs, label[0]), Resamples(1200, 20))
    for key in KEYS:
        assert kept.value[key] < kept.chance_high[key] * 1.15 and kept.chance[key] < kept.chance_high[key]
