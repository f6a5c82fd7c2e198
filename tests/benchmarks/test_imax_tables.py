"""The table of the I-Max paper: its errors are those of the bins themselves."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from benchmarks import imax_tables
from calib import metrics
from tests.conftest import simulate


def test_errors_of_shared_bins_are_in_the_bins_themselves():
    logits, labels = simulate(300, 6)
    fitted = calib.calibrator("imax", n_bins=6, normalize=False).fit(logits[:60], labels[:60])
    probs, labels = fitted.predict_proba(logits[60:]), labels[60:]
    confidence, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    own = sum(abs(np.sum((confidence - right)[confidence == each])) for each in np.unique(confidence)) / 240
    accuracy, ece, classwise, _ = imax_tables.scores(probs, labels, own_bins=True)
    assert ece == pytest.approx(own)
    assert accuracy == pytest.approx(100 * right.mean())
    assert classwise == pytest.approx(metrics.classwise_ece(probs, labels, 2000, "1/K"))
