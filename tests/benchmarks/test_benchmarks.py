"""The benchmarks run, at sizes of a few rows, and judge as they say they do."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import folds, kitti, speed


def test_a_class_without_training_rows_gets_its_part_of_half_the_smallest_probability(rng):
    train_labels = np.resize([0, 1, 2, 3, 5, 6, 7], 210)
    train, test = (np.stack([labels, labels % 2, labels % 3], axis=1) + rng.normal(size=(len(labels), 3))
                   for labels in (train_labels, np.resize(np.arange(8), 180)))  # fmt: skip
    probs = np.exp(kitti.outputs(kitti.MODELS["forest"][1](), train, train_labels, test, 8))
    # The least that a hundred trees can say is 1 / 100; as many zeros as a row can have hold half of that.
    np.testing.assert_allclose(probs[:, 4], 0.005 / 7)
    np.testing.assert_allclose(np.where(probs > 0.0051, probs, 0).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("value", "holds"),
    [(0.91, True), (0.99, False), (0.5, True)],
)
def test_a_cell_holds_within_two_standard_deviations_or_better(value, holds):
    assert folds.agrees(np.array([value]), (0.95, 0.01)) is holds


@pytest.mark.long
def test_calib_and_the_plain_model_of_gpflow_have_one_objective():
    _, _, own_end, posterior = speed.own_fit(400, 10)
    _, _, end, of_plain = speed.plain_fit(400, 10, False, posterior)
    assert own_end == pytest.approx(of_plain, rel=1e-4)
    assert own_end == pytest.approx(end, rel=0.01)  # it starts its inducing inputs in another order
