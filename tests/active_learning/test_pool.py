from __future__ import annotations

import numpy as np
import pytest

from calib.active_learning import Plan, simulate
from calib.active_learning.pool import Pool, pool_of, shuffled
from calib.active_learning.tasks import arrays_of, run_arm
from calib.data.predictions import Predictions
from calib.errors import CalibrationError

GENERATOR = np.random.default_rng(0)
FEATURES = GENERATOR.normal(size=(60, 2, 3))
LABELS = GENERATOR.integers(3, size=60)


def data(**more) -> Predictions:
    return Predictions(np.zeros((60, 3)), LABELS, ("a", "b", "c"), **more)


def test_a_training_set_is_the_pool():
    train, train_labels = GENERATOR.normal(size=(90, 2, 3)), GENERATOR.integers(3, size=90)
    pool = pool_of(data(features=FEATURES, train_features=train, train_labels=train_labels))
    np.testing.assert_array_equal(pool.features, train.reshape(90, 6))
    np.testing.assert_array_equal(pool.test_features, FEATURES.reshape(60, 6))
    assert (len(pool), pool.n_classes) == (90, 3)


def test_without_one_the_calibration_part_is():
    whole = data(features=FEATURES)
    pool = pool_of(whole, 20, seed=3)
    calibration, test = whole.split(20, random_state=3)
    np.testing.assert_array_equal(pool.labels, calibration.labels)
    np.testing.assert_array_equal(pool.test_features, test.features.reshape(40, 6))


def test_no_features():
    with pytest.raises(CalibrationError, match="Upload features"):
        pool_of(data())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"labels": np.zeros(5, int)}, "with n labels"),
        ({"features": np.zeros((6, 2, 2))}, "shape"),
        ({"features": np.zeros((0, 2)), "labels": np.zeros(0, int)}, "pool needs"),
        ({"labels": np.full(6, 3)}, r"0\.\.2"),
        ({"test_labels": np.full(4, -1)}, "test set must"),
        ({"test_features": np.zeros((4, 5))}, "test rows 5"),
    ],
)
def test_parts_that_do_not_belong_together(changes, said):
    parts = {
        "features": np.zeros((6, 2)),
        "labels": np.zeros(6, int),
        "test_features": np.zeros((4, 2)),
        "test_labels": np.zeros(4, int),
    }
    with pytest.raises(CalibrationError, match=said):
        Pool(**{**parts, **changes}, n_classes=3)


def test_a_shuffle_is_a_permutation_of_its_seed(pool):
    order = shuffled(pool, 3)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(pool)))
    np.testing.assert_array_equal(order, shuffled(pool, 3))
    assert (order != shuffled(pool, 4)).any()


def test_a_worker_runs_the_same(pool):
    settings = {"classifier": "naive_bayes", "calibrator": "temperature", "pretraining": 40, "batch": 60}
    seen = []
    found = run_arm(settings, "set_points", 2, data=arrays_of(pool), callback=lambda *now: seen.append(now))
    assert repr(found) == repr(simulate(Plan(**settings), "set_points", pool, seed=2))
    assert seen
