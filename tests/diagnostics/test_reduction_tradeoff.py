"""The trade-off of reductions: what is measured is the calibrator itself, on rows that are said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib.calibrators.geometric.reductions import REDUCTIONS
from calib.data.samples import load_sample
from calib.diagnostics.reduction_cost import MOST_NUMBERS, MOST_ROWS, measure_reduction, offered_reductions, subsets
from calib.evaluation import Evaluation, score_intervals
from calib.metrics import ece
from calib.registry import calibrator


@pytest.fixture(scope="module")
def parts():
    return load_sample("digits-forest").split(0.5, random_state=0)


@pytest.mark.parametrize(("reduction", "factor"), [("none", 1), ("pca", 2), ("kmeans", 3)])
def test_the_error_is_that_of_the_calibrator_and_its_size_that_of_the_reduction(parts, reduction, factor) -> None:
    calibration, test = parts
    found = measure_reduction(calibration, test, reduction, factor)
    made = calibrator("geometric", reduction=reduction, factor=factor).fit(
        calibration.logits, calibration.labels, features=calibration.features,
        train_features=calibration.train_features, train_labels=calibration.train_labels,
    )  # fmt: skip
    confidence = made.predict_confidence(test.logits, features=test.features)
    expected = ece(confidence, test.logits.argmax(axis=1) == test.labels)
    assert found.ece.value == pytest.approx(expected)
    among_all = score_intervals(Evaluation.from_calibrator(made, test.logits, test.labels, test.features))["ECE"]
    assert found.ece == pytest.approx(among_all, abs=1e-12)
    assert found.per_second > 0
    rows, numbers = {"none": (250, 64), "pca": (250, 16), "kmeans": (None, 64)}[reduction]
    assert found.numbers == numbers
    assert found.rows == rows or (rows is None and 20 <= found.rows <= 40)


def test_differences_are_paired(parts) -> None:
    first, second = (measure_reduction(*parts, "random_set", 2) for _ in range(2))
    assert first.difference(second) == (0.0, 0.0, 0.0)
    other = measure_reduction(*parts, "random_set", 4).difference(first)
    assert other.low <= other.value <= other.high


@pytest.mark.parametrize(
    ("shape", "images"),
    [((9, 8, 8), True), ((9, 8, 8, 3), True), ((9, 64), True), ((9, 30), False), ((9, 8, 8, 2), False)],
)
def test_reductions_of_images_are_offered_for_images_and_squares(shape, images) -> None:
    offered = offered_reductions(np.zeros(shape))
    assert {"pca", "kmeans", "random_set"} <= set(offered)
    assert "none" not in offered
    assert ({"mean_pool", "max_pool", "bilinear"} <= set(offered)) is images
    assert not images or set(offered) == set(REDUCTIONS) - {"none"}


def test_every_offered_reduction_can_be_made(parts) -> None:
    calibration, test = (part.take(np.arange(60)) for part in parts)
    for name in offered_reductions(test.features):
        assert measure_reduction(calibration, test, name, 2).reduction == name


def test_small_data_are_taken_whole_and_large_ones_drawn(parts) -> None:
    assert [len(part) for part in subsets(*parts)] == [len(part) for part in parts]
    n, d = 30_000, 100
    train = np.arange(n * d, dtype=np.float32).reshape(n, d)
    test = replace(parts[1], train_features=train, train_labels=np.arange(n) % 10).take(np.arange(1500) % 700)
    again, drawn = subsets(replace(parts[0], train_features=train, train_labels=np.arange(n) % 10), test)
    assert len(drawn) == MOST_ROWS
    assert again.train_features is drawn.train_features
    assert drawn.train_features.size == MOST_NUMBERS
    rows = (drawn.train_features[:, 0] / d).astype(int)
    assert len(np.unique(rows)) == len(rows)
    np.testing.assert_array_equal(drawn.train_labels, rows % 10)


def test_a_callback_that_raises_ends_it(parts) -> None:
    def stop(*_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_reduction(*parts, "none", 1, stop)
