"""Fits of one training set share it."""

import numpy as np
import pytest

from calib.jobs import FitSpec
from calib.jobs.sharing import LARGE, share_arrays
from calib.registry import calibrator


@pytest.fixture
def images(rng):
    """Calibration rows with a training set of 600 images of 16 x 16 in float64, 1.2 MB."""
    n, labels = 600, np.arange(600) % 3
    train = rng.normal(size=(n, 16, 16)) + labels[:, None, None]
    features = rng.normal(size=(60, 16, 16)) + (np.arange(60) % 3)[:, None, None]
    assert train.nbytes >= LARGE
    extras = {"features": features, "train_features": train, "train_labels": labels}
    return rng.normal(size=(60, 3)), np.arange(60) % 3, extras


def test_a_geometric_fit_refers_to_the_training_set_it_was_given(queue, wait, images):
    logits, labels, extras = images
    jobs = [
        wait(queue.submit(FitSpec("geometric", {"map": kind}, "images"), logits, labels, extras))
        for kind in ("isotonic", "sigmoid")
    ]
    for job in jobs:
        assert job.state == "done", job.message
        assert np.shares_memory(job.calibrator.reduced_["train_features"], extras["train_features"])
        here = calibrator("geometric", map=job.spec.params["map"]).fit(logits, labels, **extras)
        given = logits, extras["features"]
        np.testing.assert_array_equal(job.calibrator.predict_confidence(*given), here.predict_confidence(*given))


def test_arrays_of_other_content_are_left_alone(images):
    logits, labels, extras = images
    made = calibrator("geometric").fit(logits, labels, **extras)
    carried = made.reduced_["train_features"] = made.reduced_["train_features"].copy()
    share_arrays(made, {"train_features": extras["train_features"] + 1})
    share_arrays(made, {"train_features": extras["train_features"].astype("f4")})
    assert made.reduced_["train_features"] is carried
