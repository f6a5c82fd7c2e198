"""The synthetic task of the Bayes-Iso paper, as its benchmarks score it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import logit

import calib
from benchmarks.bayes_iso_task import calibration_set, excess, ideal
from calib.data.simulated import bayes_iso_map, bayes_iso_scores
from tests.conftest import SHARED


def test_draws_are_exactly_balanced():
    logits, labels = calibration_set(100, 3)
    assert logits.shape == (100, 2)
    assert labels.sum() == 50


def test_the_excess_is_what_a_large_test_set_says():
    scores, labels = bayes_iso_scores(300_000, seed=1)
    made = calib.calibrator("platt").fit(*calibration_set(100, 0))
    probs = made.predict_proba(np.stack([np.zeros(len(scores)), logit(scores)], axis=1))[:, 1]
    truth = bayes_iso_map(scores)
    brier = np.mean((probs - labels) ** 2 - (truth - labels) ** 2)
    log_loss = np.mean(np.log(np.where(labels, truth, 1 - truth)) - np.log(np.where(labels, probs, 1 - probs)))
    assert excess(made) == pytest.approx((brier, log_loss), abs=0.001)
    assert log_loss > 0.01


def test_the_ideal_is_the_true_maps_score():
    scores, labels = bayes_iso_scores(300_000, seed=2)
    truth = bayes_iso_map(scores)
    log_loss = -np.mean(np.log(np.where(labels, truth, 1 - truth)))
    assert ideal() == pytest.approx((np.mean((truth - labels) ** 2), log_loss), abs=0.002)


@pytest.mark.reference
def test_the_ideal_is_the_one_measured_by_others():
    path = SHARED / "reference" / "bayes_iso.json"
    if not path.is_file():
        pytest.skip("the reference material is not present")
    assert ideal() == pytest.approx(json.loads(path.read_text())["ideal"], abs=1e-5)
