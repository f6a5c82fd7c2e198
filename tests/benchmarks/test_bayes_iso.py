"""The synthetic task of the Bayes-Iso paper: draws, the true map's score and what a method loses against it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit

import calib
from benchmarks.bayes_iso_table1 import calibration_set, excess, ideal
from calib.data.samples import bayes_iso_map, bayes_iso_scores


def test_the_excess_is_what_a_large_test_set_says():
    scores, labels = bayes_iso_scores(300_000, seed=1)
    made = calib.calibrator("platt").fit(*calibration_set(100, 0))
    probs = made.predict_proba(np.stack([np.zeros(len(scores)), logit(scores)], axis=1))[:, 1]
    truth = bayes_iso_map(scores)
    brier = np.mean((probs - labels) ** 2 - (truth - labels) ** 2)
    log_loss = np.mean(np.log(np.where(labels, truth, 1 - truth)) - np.log(np.where(labels, probs, 1 - probs)))
    assert excess(made) == pytest.approx((brier, log_loss), abs=0.001)
    assert log_loss > 0.01


def test_the_ideal_is_the_one_integrated_apart_from_this_code():
    assert ideal() == pytest.approx((0.16205, 0.47403), abs=1e-5)
