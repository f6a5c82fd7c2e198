"""The benchmarks run, at sizes of a few rows, and judge as they say they do."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import folds, kitti, speed, wenger2020


def test_the_kitti_tables_have_their_rows(kitti_archive):
    data = kitti.read(kitti_archive)
    assert [part.shape for part in data] == [(210, 3), (210,), (180, 3), (180,)]
    sizes = {"n_folds": 2, "n_calibration": 60, "n_test": 100}
    methods = folds.columns("probs")[:3]
    two = kitti.all_scores(data, ["forest"], 2, methods, **sizes)
    rows = folds.beside("ece", two, wenger2020.KITTI_ECE)
    assert [row[:2] for row in rows] == [["Random Forest", "here"], ["", "paper"]]
    assert rows[1][2:] == ["0.0768", "0.0147 ± 0.0027", "0.0135 ± 0.0030"]
    assert "of 2 cells of Random Forest lie" in kitti.verdict("ece", two, wenger2020.KITTI_ECE)
    two["Random Forest"]["Platt"] = folds.Scores(*np.ones((3, 2)))  # the worst error, the best accuracy
    assert "not Random Forest / Platt" in kitti.verdict("ece", two, wenger2020.KITTI_ECE)
    assert "/ Platt" not in kitti.verdict("accuracy", two, wenger2020.KITTI_ACCURACY)
    eight = kitti.all_scores(data, ["forest"], 8, methods, **sizes)
    rows = kitti.eight_class_rows(eight)
    assert [row[1] for row in rows] == ["NLL", "authors' code", "ECE", "accuracy"]
    assert all(len(row) == 2 + len(methods) for row in rows)
    assert np.isfinite(eight["Random Forest"]["Uncal."].nll).all()


def test_a_class_without_training_rows_gets_its_part_of_half_the_smallest_probability(kitti_archive):
    train, train_labels, test, _ = kitti.read(kitti_archive)
    probs = np.exp(kitti.outputs(kitti.MODELS["forest"][1](), train, train_labels, test, 8))
    # The least that a hundred trees can say is 1 / 100; as many zeros as a row can have hold half of that.
    np.testing.assert_allclose(probs[:, 4], 0.005 / 7)
    np.testing.assert_allclose(np.where(probs > 0.0051, probs, 0).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("score", "value", "holds"),
    [("ece", 0.91, True), ("ece", 0.99, False), ("ece", 0.5, True), ("accuracy", 0.92, True), ("accuracy", 0.9, False)],
)
def test_a_cell_holds_within_two_standard_deviations_or_better(score, value, holds):
    assert folds.agrees(score, np.array([value]), (0.95, 0.02 if score == "accuracy" else 0.01)) is holds


@pytest.mark.long
def test_calib_and_the_plain_model_of_gpflow_have_one_objective():
    _, _, own_end, posterior = speed.own_fit(400, 10)
    _, _, end, of_plain = speed.plain_fit(400, 10, False, posterior)
    assert own_end == pytest.approx(of_plain, rel=1e-4)
    assert own_end == pytest.approx(end, rel=0.01)  # it starts its inducing inputs in another order
