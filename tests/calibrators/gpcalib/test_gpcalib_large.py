"""GPcalib on large calibration sets and many classes: which rows count, and how much memory it takes."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import pytest

from calib.calibrators.gpcalib import GPCalib, training
from tests.conftest import ROOT, simulate


def test_25_000_rows_all_count():
    calibrator = GPCalib(max_iter=1).fit(*simulate(25_000, 4))
    assert calibrator.n_rows_ == calibrator.n_rows_given_ == 25_000
    assert not any("chosen at random" in note for note in calibrator.notes())


def test_rows_beyond_the_most_are_left_out_and_said_so(monkeypatch):
    monkeypatch.setattr(training, "MOST_ROWS", 100)
    calibrator = GPCalib(max_iter=1).fit(*simulate(150, 4))
    assert any("Fitted on 100 of the 150 calibration rows" in note for note in calibrator.notes())
    calibrator.partial_fit(*simulate(120, 4, seed=1))
    assert any("Fitted on 200 of the 270 calibration rows" in note for note in calibrator.notes())


@pytest.mark.parametrize("way", ["draws", "mean", "delta"])
def test_prediction_needs_no_more_memory_for_more_rows(way):
    """Beyond the output itself: the blocks in work are of one size."""
    calibrator = GPCalib(max_iter=1, prediction=way).fit(*simulate(50, 1000))
    logits, _ = simulate(8000, 1000)
    beyond = []
    for n in (3000, 8000):
        tracemalloc.start()
        probs = calibrator.predict_proba(logits[:n])
        beyond.append(tracemalloc.get_traced_memory()[1] - probs.nbytes)
        tracemalloc.stop()
    assert beyond[1] < 1.1 * beyond[0]
    assert beyond[0] < 50e6


def test_memory_stays_small_at_a_thousand_classes():
    """6000 x 1000 logits are 48 MB; fitting and predicting need less than ten times that on top."""
    code = """
import resource, numpy as np
import calib.calibrators.gpcalib.training
from calib.calibrators.gpcalib import GPCalib
generator = np.random.default_rng(0)
logits = generator.normal(size=(6_000, 1000)) * 3
labels = np.argmax(logits / 2 + generator.gumbel(size=logits.shape), axis=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
GPCalib(max_iter=3).fit(logits, labels).predict_proba(logits[:2000])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert int(grown) < 480_000  # kB
