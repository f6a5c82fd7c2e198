"""Bins of I-Max as numbers for a picture, shared against class-wise sets, and errors by bins, rows and schemes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

import calib
from calib import metrics
from calib.data.samples import load_sample
from calib.diagnostics import binning as picture_module
from calib.diagnostics.binning import binning_picture, distance, label_log_odds, sharing_divergence
from calib.diagnostics.verifiability import error_by_bins, error_by_rows
from calib.errors import CalibrationError
from calib.evaluation.evaluation import evaluate
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
        np.testing.assert_allclose(bins.frequency[held], (np.array(positives) / np.maximum(bins.count, 1))[held])
        np.testing.assert_allclose(bins.representatives[held], bins.frequency[held])
        said = [np.mean(1 / (1 + np.exp(-np.array(x)))) for x in inside if x]
        np.testing.assert_allclose(bins.predicted[held], said, rtol=1e-9)
        assert bins.mass.sum() == pytest.approx(1)
        np.testing.assert_allclose(bins.width[1:-1], np.diff(bins.edges))
        assert np.isinf(bins.width[[0, -1]]).all()
        assert bins.bound == pytest.approx(naive.model_information(log_odds, bins.edges), abs=1e-10)
        assert bins.label_information <= picture.information <= picture.label_entropy
        assert bins.rate <= np.log(6) + 1e-12
    np.testing.assert_array_equal(picture.schemes["imax"].edges, picture.best.edges[-1])
    assert picture.schemes["imax"].bound == pytest.approx(picture.best.bound[-1], abs=1e-12)
    for trace, information in zip(picture.traces, picture.trace_information, strict=True):
        assert len(information) == len(trace.bound)
    assert picture.trace_information[0][-1] == pytest.approx(picture.schemes["imax"].label_information, abs=1e-12)
    assert (picture.ranks is None) == (target is not None)


@pytest.mark.parametrize("seed", range(4))
def test_the_picture_shows_the_edges_of_a_fit_with_the_usual_options(seed):
    logits, labels = simulate(300, 5, seed=seed)
    picture = binning_picture(logits, labels)
    np.testing.assert_array_equal(
        picture.schemes["imax"].edges, calib.calibrator("imax").fit(logits, labels).maps_[0].edges
    )
    assert sorted(trace.start for trace in picture.traces) == ["equal_mass", "equal_width", "kmeans"]
    assert (np.diff([trace.bound[-1] for trace in picture.traces]) <= 0).all()


def test_a_fitted_calibrators_bins_are_shown_beside(overconfident):
    logits, labels = overconfident
    fitted = calib.calibrator("imax", n_bins=8, representatives="temperature").fit(logits, labels)
    bins = fitted.maps_[0]
    picture = binning_picture(logits, labels, n_bins=8, given={"fitted": (bins.edges, bins.values)})
    np.testing.assert_array_equal(picture.schemes["fitted"].representatives, bins.values)
    assert picture.schemes["fitted"].bound >= picture.schemes["imax"].bound - 1e-9


def test_two_classes_are_shown_by_class_1():
    logits, labels = simulate(200, 2)
    picture = binning_picture(logits, labels)
    assert (picture.target, picture.n_pairs, picture.ranks) == (1, 200, None)
    assert picture.schemes["imax"].positives.sum() == (labels == 1).sum()


def test_many_pairs_are_aggregated_with_the_same_result(monkeypatch):
    logits, labels = simulate(2000, 10)
    exact = binning_picture(logits, labels)
    monkeypatch.setattr(picture_module, "MANY_PAIRS", 1000)
    aggregated = binning_picture(logits, labels)
    for name, bins in exact.schemes.items():
        other = aggregated.schemes[name]
        np.testing.assert_allclose(other.edges, bins.edges, atol=0.02)
        assert other.count.sum() == bins.count.sum()
        assert other.label_information == pytest.approx(bins.label_information, rel=1e-3)
        assert other.bound == pytest.approx(bins.bound, rel=1e-3)


@given(st.integers(2, 9), st.integers(0, 20))
def test_ranks_are_those_of_a_sort(n_classes, seed):
    logits, labels = simulate(20, n_classes, seed=seed)
    ranks = binning_picture(logits, labels, n_bins=3).ranks
    if n_classes == 2:
        assert ranks is None
        return
    ordered = -np.sort(-one_vs_rest_log_odds(logits), axis=1)
    groups = [ordered[:, :1], ordered[:, 1:2], ordered[:, 2:3], ordered[:, 3:5], ordered[:, 5:]]
    groups = [group for group in groups if group.size]
    assert len(ranks.titles) == len(groups)
    for count, group in zip(ranks.count, groups, strict=True):
        assert count.sum() == group.size
        # A value at an edge may lie on either side of it.
        assert np.abs(np.cumsum(count - np.histogram(group, ranks.edges)[0])).sum() <= 3


def test_what_cannot_be_shown_is_said():
    logits, labels = simulate(50, 3)
    with pytest.raises(CalibrationError, match="no class 3"):
        binning_picture(logits, labels, target=3)
    with pytest.raises(CalibrationError, match="None of the 50 rows are of class 1"):
        binning_picture(logits, np.zeros_like(labels), target=1)


# -- class-wise against pooled ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_the_distance_is_scipys(first, second):
    p, q = np.array(first), np.array(second)
    if not p.sum() or not q.sum():
        assert np.isnan(distance(p, q))
        return
    assert distance(p, q) == pytest.approx(jensenshannon(p, q, base=2), abs=1e-7)


def test_with_equal_classes_pooling_is_nearer_and_with_different_ones_it_stays_away():
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 5, 6000)
    equal = generator.normal(4, 2, 6000)
    found = sharing_divergence(equal, labels)
    assert found.classes.tolist() == [0, 1, 2, 3, 4]
    assert found.n_baseline.sum() == 3000
    assert found.n_rows[-1] == 3000
    assert (found.shared[:, :-1] < found.classwise[:, :-1]).all()
    assert (found.shared[:, -1] < found.shared[:, 0]).all()
    different = sharing_divergence(equal + 5 * labels, labels)
    assert (different.shared[:, -1] > 0.3).all()
    assert (different.classwise[:, -1] < 0.2).all()


def test_small_sets_without_a_class_say_nothing_about_it():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1], [2, 398])
    found = sharing_divergence(generator.normal(size=400), labels, classes=[0, 1], n_rows=[1, 200], n_draws=3)
    assert found.classwise.shape == (2, 2)
    assert np.isfinite(found.shared[1]).all()
    assert np.isnan(found.classwise[0, 0])


def test_divergence_needs_rows():
    with pytest.raises(CalibrationError, match="5 rows"):
        sharing_divergence(np.zeros(5), np.zeros(5, int))
    with pytest.raises(CalibrationError, match="1 to 20 rows"):
        sharing_divergence(np.zeros(40), np.zeros(40, int), n_rows=[30])


@pytest.fixture(scope="module")
def predictions():
    logits, labels = simulate(3000, 4)
    test, truth = simulate(3000, 4, seed=1)
    methods = {"temperature": calib.calibrator("temperature"), "imax": calib.calibrator("imax", normalize=False)}
    fitted = {name: method.fit(logits, labels) for name, method in methods.items()}
    return {name: evaluate(method.predict_proba(test), truth).pair for name, method in fitted.items()}


def test_errors_are_those_of_the_metric(predictions):
    found = error_by_bins(predictions, n_bins=(5, 15, 200), binning="equal_mass")
    for name, pair in predictions.items():
        expected = [metrics.ece(*pair, n_bins=n, binning="equal_mass") for n in (5, 15, 200)]
        np.testing.assert_allclose(found.ece[name], expected)


def test_bins_change_the_error_of_scaling_but_not_that_of_binning(predictions):
    found = error_by_bins(predictions, n_bins=(40, 80, 160, 320)).ece
    assert np.ptp(found["imax"]) < 1e-12
    assert found["temperature"][-1] > 1.3 * found["temperature"][0]


def test_more_rows_narrow_the_error(predictions):
    found = error_by_rows(predictions, n_rows=(100, 3000))
    for name, pair in predictions.items():
        assert found.high[name][1] - found.low[name][1] < 0.5 * (found.high[name][0] - found.low[name][0])
        assert (found.low[name] <= found.ece[name]).all()
        assert (found.ece[name] <= found.high[name]).all()
        assert found.ece[name][0] > found.ece[name][1] > 0.5 * metrics.ece(*pair)
    again = error_by_rows(predictions, n_rows=(100, 3000))
    np.testing.assert_array_equal(again.ece["imax"], found.ece["imax"])
    assert error_by_rows(predictions, n_resamples=2).n_rows.tolist()[-1] == 3000


def test_label_log_odds_are_those_of_all_pairs() -> None:
    data = load_sample("simulated-100")
    every = one_vs_rest_log_odds(data.logits.astype(float))
    np.testing.assert_allclose(
        label_log_odds(data.logits, data.labels), every[np.arange(len(data)), data.labels], atol=1e-9
    )
