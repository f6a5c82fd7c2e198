"""Calibration maps of one class as numbers for pictures, with the frequencies in bins of its scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, log_softmax

import calib
from benchmarks.exports import QUICK
from calib.diagnostics.calibration_maps import (
    balanced_edges,
    class_map,
    class_pairs,
    class_rows,
    ends_of,
    has_class_map,
    judged_map,
    posterior_map,
)
from calib.diagnostics.histograms import frequencies
from calib.diagnostics.judgement import arrays_to_judge, both_parts
from calib.evaluation.evaluation import raw_model
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import one_vs_rest_log_odds
from tests.conftest import simulate

POINTS = np.linspace(-6, 6, 41)


@pytest.fixture(scope="module")
def binary():
    return simulate(300, 2)


@pytest.mark.parametrize("name", ["temperature", "isotonic"])
def test_of_two_classes_every_method_has_a_map_and_its_complement(binary, name):
    calibrator = calib.calibrator(name).fit(*binary)
    assert has_class_map(calibrator)
    rows = np.stack([np.zeros_like(POINTS), POINTS], axis=1)
    np.testing.assert_allclose(class_map(calibrator, POINTS), calibrator.predict_proba(rows)[:, 1])
    np.testing.assert_allclose(
        class_map(calibrator, -POINTS, 0), 1 - class_map(calibrator, POINTS, 1), atol=1e-12
    )


def outputs_of_kinds() -> dict[str, tuple[np.ndarray, str]]:
    """One model's outputs of 300 rows as each kind of data; of probabilities some are 0 and 1, rounded to a tenth."""
    logits, _ = simulate(300, 2)
    risk = expit(logits[:, 1] - logits[:, 0]).round(1)
    return {
        "logits": (logits, "logits"),
        "log-odds": (logits[:, 1] - logits[:, 0], "binary_log_odds"),
        "log-probabilities": (log_softmax(logits, axis=1), "log_probabilities"),
        "two probabilities": (np.stack([1 - risk, risk], axis=1), "probabilities"),
        "probability": (risk, "binary_probability"),
        "pairs": (risk, "pairs"),
        "three classes": (simulate(300, 3)[0], "logits"),
    }


KINDS = outputs_of_kinds()
METHODS = [name for name, method in calib.METHODS.items() if not method.needs]


@pytest.mark.parametrize("name", METHODS)
def test_every_map_that_is_drawn_goes_through_what_predicts(name):
    drawn = set()
    for called, (outputs, kind) in KINDS.items():
        labels = simulate(300, 3 if called == "three classes" else 2)[1]
        data = calib.from_outputs(outputs, labels, kind=kind)
        fitted = calib.calibrator(name, **QUICK.get(name, {})).fit(data.logits, data.labels)
        fitted = raw_model(data) if name == "identity" else fitted
        arrays, classes = both_parts(data, data) | arrays_to_judge(data), range(data.n_classes)
        if not all(has_class_map(fitted, k, data.kind) for k in classes):
            continue
        drawn.add(called)
        curves = [
            judged_map(
                fitted, k, log_odds, class_rows(k, data=arrays).frequencies, data=arrays
            ).curve
            for k, log_odds in enumerate(one_vs_rest_log_odds(data.logits).T)
        ]
        maps = np.stack(
            curves, axis=1
        )  # of more than two classes, rows are divided by their sums after the maps
        expected = fitted.predict_proba(data.logits)
        np.testing.assert_allclose(
            maps / maps.sum(axis=1, keepdims=True), expected, atol=1e-9, err_msg=called
        )
    assert drawn >= KINDS.keys() - {"three classes", *(["logits"] if name == "gpcalib" else [])}


def test_gpcalib_of_two_logits_has_no_map_of_their_difference(binary):
    """Rows with the same log-odds get other probabilities where what was added to both logits differs."""
    logits, labels = binary
    fitted = calib.calibrator("gpcalib").fit(logits, labels)
    shifted = fitted.predict_proba(logits + np.linspace(-3, 3, 300)[:, None])
    assert np.abs(shifted - fitted.predict_proba(logits)).max() > 0.01
    assert not has_class_map(fitted, kind="logits") and has_class_map(
        fitted, kind="binary_log_odds"
    )


@pytest.mark.parametrize("share_classes", [True, False])
def test_of_many_classes_the_map_is_what_predicts_before_normalisation(share_classes):
    logits, labels = simulate(200, 4)
    calibrator = calib.calibrator("isotonic", share_classes=share_classes, normalize=False).fit(
        logits, labels
    )
    for k in range(4):
        log_odds = one_vs_rest_log_odds(logits)[:, k]
        np.testing.assert_allclose(
            class_map(calibrator, log_odds, k), calibrator.predict_proba(logits)[:, k]
        )


def test_methods_that_need_all_logits_have_no_map_of_one_class():
    many = simulate(200, 4)
    temperature = calib.calibrator("temperature")
    assert not has_class_map(temperature)
    assert not has_class_map(temperature.fit(*many))
    inputs = {"features": many[0], "train_features": many[0][:50], "train_labels": many[1][:50]}
    assert not has_class_map(calib.calibrator("geometric").fit(*many, **inputs))


def test_pairs_and_maps_of_one_class_and_of_all_together(monkeypatch):
    for logits, labels in (simulate(50, 2), simulate(50, 3)):
        for k, expected in enumerate(one_vs_rest_log_odds(logits).T):
            log_odds, positives = class_pairs(logits, labels, k)
            np.testing.assert_allclose(log_odds, expected)
            np.testing.assert_array_equal(positives, labels == k)
    monkeypatch.setattr(
        "calib.diagnostics.calibration_maps.MEMORY_ENTRIES", 11 * 60
    )  # in four blocks
    logits, labels = simulate(200, 11)
    log_odds, positives = class_pairs(logits, labels, None)
    np.testing.assert_allclose(
        log_odds.reshape(logits.shape), one_vs_rest_log_odds(logits), rtol=1e-9
    )
    np.testing.assert_array_equal(positives.reshape(logits.shape).argmax(axis=1), labels)
    assert positives.sum() == len(labels)
    logits, labels = simulate(200, 4)
    shared, classwise = (
        calib.calibrator("isotonic", share_classes=s).fit(logits, labels) for s in (True, False)
    )
    np.testing.assert_array_equal(class_map(shared, POINTS, None), class_map(shared, POINTS, 2))
    assert not has_class_map(classwise, None)
    bayes = calib.calibrator("bayes_iso", n_maps=100).fit(logits, labels)
    assert posterior_map(bayes, None) is posterior_map(bayes, 3) is not None


def test_the_axis_and_the_maps_of_pooled_classes_reach_the_true_ones_which_are_few():
    logits, labels = simulate(400, 500)
    logits[np.arange(400), labels] += 20
    part = {"logits": logits, "labels": labels, "test_logits": logits, "test_labels": labels}
    found = class_rows(None, data=part)
    low, high = found.axes["log_odds"].limits
    assert low < found.frequencies.score.min() < 0 < found.frequencies.score.max() < high
    assert found.grid.max() >= found.frequencies.score.max()
    assert found.cells["log_odds"].inside[-1] < 100  # else all of them would stand in the last bar


@pytest.mark.parametrize(("scheme", "k"), [("plain", 1), ("knots", 0)])
def test_the_posterior_is_ordered_and_holds_the_mean_that_predicts(binary, scheme, k):
    calibrator = calib.calibrator("bayes_iso", scheme=scheme, n_maps=2_000).fit(*binary)
    seen = posterior_map(calibrator, k)
    np.testing.assert_allclose(seen.mean, class_map(calibrator, seen.log_odds, k))
    assert (np.diff(seen.log_odds) > 0).all()
    for values in (seen.mean, seen.low, seen.high):
        assert (np.diff(values) >= 0).all()
    assert (seen.low < seen.high).all()
    assert ((seen.low < seen.mean) & (seen.mean < seen.high)).mean() > 0.9
    log_odds, _ = class_pairs(*binary, k)
    assert (seen.log_odds[0], seen.log_odds[-1]) == (log_odds.min(), log_odds.max())
    assert seen.n_maps == (0 if scheme == "knots" else 2_000)
    assert scheme == "knots" or 1 < seen.effective_maps < seen.n_maps
    assert not seen.dominated


def test_the_ends_are_the_outermost_pairs_with_all_that_are_tied(rng):
    log_odds = rng.permutation(np.arange(1000.0) - 500)
    positives = log_odds > 470  # the last 29 of 1000
    ends = ends_of(log_odds, positives, expit(log_odds / 200))
    outer = np.sort(expit(log_odds / 200))
    assert (ends["first"].mean, ends["last"].mean) == pytest.approx(
        (outer[:25].mean(), outer[-25:].mean())
    )
    assert [(end.n, end.share.value) for end in ends.values()] == [(25, 0.0), (25, 1.0)]
    tied = ends_of(
        np.repeat([-1.0, 0.0, 1.0], [50, 100, 50]), positives[:200], np.linspace(0, 1, 200)
    )
    assert [end.n for end in tied.values()] == [50, 50]
    assert tied["last"].share.value == positives[150:200].mean()


pairs = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=60)


@given(pairs, pairs, st.integers(2, 9))
def test_every_pair_is_in_one_bin_and_no_bin_is_empty(fitted, counted, n_bins) -> None:
    edges = balanced_edges(*unzipped(fitted), n_bins)
    scores, positives = unzipped(counted)
    seen = frequencies(scores, positives, edges)
    assert (np.diff(edges) > 0).all()
    assert set(seen.edges) <= set(edges)
    assert len(seen.count) == len(seen.edges) + 1 <= n_bins
    assert (seen.count > 0).all()
    for k, (low, high) in enumerate(
        zip([-np.inf, *seen.edges], [*seen.edges, np.inf], strict=True)
    ):
        inside = (scores >= low) & (scores < high)
        assert (seen.count[k], seen.positives[k]) == (inside.sum(), positives[inside].sum())
        assert seen.score[k] == np.median(scores[inside])
        assert seen.means(scores, scores)[k] == pytest.approx(scores[inside].mean())
    np.testing.assert_array_equal(
        (seen.low, seen.high), wilson_interval(seen.positives, seen.count)
    )
    np.testing.assert_array_equal(seen.outside(seen.low - 1e-9), np.full(len(seen.count), True))


def unzipped(given_pairs: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score for score, _ in given_pairs], dtype=float), np.array(
        [hit for _, hit in given_pairs]
    )


def test_bins_are_balanced_and_half_of_them_are_where_the_few_positives_are(rng) -> None:
    log_odds = rng.normal(size=5000)
    edges = balanced_edges(log_odds, np.arange(5000) % 2 == 0, 10)
    np.testing.assert_allclose(frequencies(log_odds, log_odds > 0, edges).count, 500, atol=2)
    positives = log_odds > np.sort(log_odds)[-20]
    edges = balanced_edges(log_odds, positives, 10)
    assert (edges >= log_odds[positives].min()).sum() == pytest.approx(5, abs=1)
