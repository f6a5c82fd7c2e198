"""Bins of I-Max and of other schemes as numbers for a picture."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.diagnostics import binning as picture_module
from calib.diagnostics.binning import binning_picture
from calib.errors import CalibrationError
from calib.numerics import one_vs_rest_log_odds
from tests.calibrators.imax import naive
from tests.conftest import simulate


@pytest.mark.parametrize("target", [None, 2])
def test_bins_of_every_scheme_hold_the_pairs_between_their_edges(target):
    logits, labels = simulate(300, 5)
    picture = binning_picture(logits, labels, target, n_bins=6)
    columns = slice(None) if target is None else slice(target, target + 1)
    log_odds = picture_module._pairs(logits, labels, target)[0].reshape(300, -1)  # edges may be values among them
    np.testing.assert_allclose(log_odds, one_vs_rest_log_odds(logits)[:, columns], rtol=1e-12)
    hits = (labels[:, None] == np.arange(5))[:, columns]
    assert picture.n_pairs == log_odds.size
    assert set(picture.schemes) == {"imax", "equal_mass", "equal_width"}
    for name, bins in picture.schemes.items():
        assert bins.scheme == name
        inside = naive.bins_of(log_odds, bins.edges)
        np.testing.assert_array_equal(bins.count, [len(x) for x in inside])
        positives = [len(x) for x in naive.bins_of(log_odds[hits], bins.edges)]
        np.testing.assert_array_equal(bins.positives, positives)
        held = bins.count > 0
        np.testing.assert_allclose(bins.representatives[held], (np.array(positives) / np.maximum(bins.count, 1))[held])
        said = [np.mean(1 / (1 + np.exp(-np.array(x)))) for x in inside if x]
        np.testing.assert_allclose(bins.predicted[held], said, rtol=1e-9)
        assert bins.mass.sum() == pytest.approx(1)
        np.testing.assert_allclose(bins.width[1:-1], np.diff(bins.edges))
        assert np.isinf(bins.width[[0, -1]]).all()
        assert bins.label_information <= picture.information


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_picture_shows_the_edges_of_a_fit_with_the_usual_options_of_two_classes_by_class_1(n_classes):
    logits, labels = simulate(300, n_classes)
    picture = binning_picture(logits, labels)
    assert (picture.target, picture.n_pairs) == ((1, 300) if n_classes == 2 else (None, 1500))
    np.testing.assert_array_equal(
        picture.schemes["imax"].edges, calib.calibrator("imax").fit(logits, labels).maps_[0].edges
    )


def test_a_fitted_calibrators_bins_are_shown_beside(overconfident):
    logits, labels = overconfident
    fitted = calib.calibrator("imax", n_bins=8, representatives="temperature").fit(logits, labels)
    bins = fitted.maps_[0]
    picture = binning_picture(logits, labels, n_bins=8, given={"fitted": (bins.edges, bins.values)})
    np.testing.assert_array_equal(picture.schemes["fitted"].representatives, bins.values)
    np.testing.assert_array_equal(picture.schemes["fitted"].edges, bins.edges)


def test_of_many_pairs_those_of_some_rows_are_shown(monkeypatch):
    logits, labels = simulate(2000, 10)
    monkeypatch.setattr(picture_module, "MOST_PAIRS", 5000)
    some, same = binning_picture(logits, labels), binning_picture(logits[::4], labels[::4])
    assert (some.n_rows, some.n_pairs) == (500, 5000)
    np.testing.assert_array_equal(some.schemes["imax"].edges, same.schemes["imax"].edges)
    assert binning_picture(logits, labels, target=1).n_rows == 2000


def test_what_cannot_be_shown_is_said():
    logits, labels = simulate(50, 3)
    with pytest.raises(CalibrationError, match="no class 3"):
        binning_picture(logits, labels, target=3)
    with pytest.raises(CalibrationError, match="None of the 50 rows are of class 1"):
        binning_picture(logits, np.zeros_like(labels), target=1)
