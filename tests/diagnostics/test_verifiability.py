"""Calibration errors against bins, rows and schemes."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib import metrics
from calib.diagnostics.verifiability import error_by_bins, error_by_rows, error_by_scheme
from tests.conftest import simulate


@pytest.fixture(scope="module")
def predictions():
    logits, labels = simulate(3000, 4)
    test, truth = simulate(3000, 4, seed=1)
    fitted = {name: calib.calibrator(name).fit(logits, labels) for name in ("temperature", "imax")}
    return {name: (method.predict_proba(test), truth) for name, method in fitted.items()}


def test_errors_are_those_of_the_metric(predictions):
    found = error_by_bins(predictions, n_bins=(5, 15, 200), binning="equal_mass")
    for name, (probs, labels) in predictions.items():
        expected = [metrics.ece(probs, labels, n_bins=n, binning="equal_mass") for n in (5, 15, 200)]
        np.testing.assert_allclose(found.ece[name], expected)


def test_bins_change_the_error_of_scaling_but_not_that_of_binning(predictions):
    found = error_by_bins(predictions, n_bins=(40, 80, 160, 320)).ece
    assert np.ptp(found["imax"]) < 1e-12
    assert found["temperature"][-1] > 1.3 * found["temperature"][0]


def test_more_rows_narrow_the_error(predictions):
    found = error_by_rows(predictions, n_rows=(100, 3000))
    for name, (probs, labels) in predictions.items():
        assert found.high[name][1] - found.low[name][1] < 0.5 * (found.high[name][0] - found.low[name][0])
        assert (found.low[name] <= found.ece[name]).all()
        assert (found.ece[name] <= found.high[name]).all()
        assert found.ece[name][0] > found.ece[name][1] > 0.5 * metrics.ece(probs, labels)
    again = error_by_rows(predictions, n_rows=(100, 3000))
    np.testing.assert_array_equal(again.ece["imax"], found.ece["imax"])
    assert error_by_rows(predictions, n_resamples=2).n_rows.tolist()[-1] == 3000


def test_every_scheme_is_measured(predictions):
    labels = predictions["imax"][1]
    found = error_by_scheme({name: probs for name, (probs, _) in predictions.items()}, labels)
    assert found.schemes == tuple(metrics.BINNINGS)
    for name, (probs, _) in predictions.items():
        for i, scheme in enumerate(found.schemes):
            assert found.top_label[name][i] == metrics.ece(probs, labels, binning=scheme)
            assert found.classwise[name][i] == metrics.classwise_ece(probs, labels, binning=scheme, threshold="1/K")
