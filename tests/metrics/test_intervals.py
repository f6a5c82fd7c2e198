"""Scores with ``ci=True``: closed forms, the table of scores, weights and clusters; the words of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calib
from calib import metrics
from calib.errors import CalibrationError

GENERATOR = np.random.default_rng(7)
RISK = GENERATOR.beta(2, 3, 600)
EVENT = (GENERATOR.random(600) < RISK**1.3).astype(int)
CLUSTERS = np.repeat(np.arange(100), 6)
WEIGHTS = GENERATOR.integers(0, 4, 600)
NAMED = {
    "NLL": metrics.nll,
    "Brier": metrics.brier,
    "accuracy": metrics.accuracy,
    "AUROC": metrics.auroc,
    "average precision": metrics.average_precision,
}
SCORES = {
    **NAMED,
    "ECE": metrics.ece,
    "gap": metrics.confidence_gap,
    "signed gap": lambda p, y, **about: metrics.confidence_gap(p, y, signed=True, **about),
    "over": metrics.overconfidence,
    "under": metrics.underconfidence,
    "smooth ECE": metrics.smooth_ece,
}


@pytest.mark.parametrize("name", NAMED)
def test_intervals_are_those_of_the_table_of_scores(name):
    row = calib.scores(RISK, EVENT).loc[name]
    np.testing.assert_allclose(
        NAMED[name](RISK, EVENT, ci=True), row[["value", "low", "high"]].astype(float), rtol=1e-9
    )


def test_the_interval_of_a_mean_is_that_of_its_standard_error():
    squares = (RISK - EVENT) ** 2
    half = stats.norm.ppf(0.975) * squares.std(ddof=1) / np.sqrt(600)
    found = metrics.brier(RISK, EVENT, ci=True)
    np.testing.assert_allclose(
        found, (squares.mean(), squares.mean() - half, squares.mean() + half)
    )
    sums = np.bincount(CLUSTERS, squares - squares.mean())
    error = np.sqrt((sums**2).sum() * 100 / 99) / 600
    clustered = metrics.brier(RISK, EVENT, clusters=CLUSTERS, ci=True)
    np.testing.assert_allclose(clustered.high - clustered.value, stats.norm.ppf(0.975) * error)


def test_the_interval_of_a_mean_among_wrong_rows_is_that_of_a_ratio():
    wrong = EVENT == 0
    mean = RISK[wrong].mean()
    error = np.sqrt((((RISK - mean) * wrong) ** 2).sum() * 600 / 599) / wrong.sum()
    found = metrics.overconfidence(RISK, EVENT, ci=True)
    np.testing.assert_allclose(found.value, mean)
    np.testing.assert_allclose(found.high - mean, stats.norm.ppf(0.975) * error)
    assert np.isnan(metrics.overconfidence([0.2], [1])) and np.isnan(
        metrics.overconfidence([0.2, 0.3], [1, 1], ci=True).value
    )


@pytest.mark.parametrize("name", SCORES)
def test_the_value_of_an_interval_is_the_score(name):
    score = SCORES[name]
    for about in ({}, {"weights": WEIGHTS}, {"clusters": CLUSTERS}):
        plain = {key: value for key, value in about.items() if key == "weights"}
        found = score(RISK, EVENT, ci=True, **about)
        assert found.value == pytest.approx(score(RISK, EVENT, **plain), rel=1e-12)
        assert found.low < found.value < found.high


@pytest.mark.parametrize("name", SCORES)
def test_intervals_do_not_depend_on_the_unit_of_the_weights(name):
    once = SCORES[name](RISK, EVENT, weights=WEIGHTS, ci=True)
    np.testing.assert_allclose(SCORES[name](RISK, EVENT, weights=7.0 * WEIGHTS, ci=True), once)


def test_top_k_accuracy_has_wilsons_interval_and_takes_weights():
    probs = GENERATOR.dirichlet(np.ones(6), 300)
    labels = GENERATOR.integers(6, size=300)
    hit = (np.argsort(-probs, axis=1)[:, :2] == labels[:, None]).any(axis=1)
    found = metrics.top_k_accuracy(probs, labels, k=2, ci=True)
    ends = stats.binomtest(int(hit.sum()), 300).proportion_ci(method="wilson")
    np.testing.assert_allclose(found, (hit.mean(), ends.low, ends.high))
    weights = np.arange(300)
    assert metrics.top_k_accuracy(probs, labels, weights, k=2) == pytest.approx(
        np.average(hit, weights=weights)
    )


def test_intervals_hold_the_truth():
    """Of a calibrated model the mean signed gap is 0."""
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        risk = rng.random(200)
        low, high = metrics.confidence_gap(risk, rng.random(200) < risk, signed=True, ci=True)[1:]
        held += low <= 0.0 <= high
    assert held >= 182  # of 95 % of 200, four standard errors less


@pytest.mark.parametrize("true_error", [0.0, 0.082944])
def test_the_interval_of_the_debiased_error_holds_the_truth(true_error):
    """The second truth is that of four million rows of risks p of events that happen in p^1.3."""
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        risk = rng.beta(2, 3, 1000)
        happened = rng.random(1000) < (risk**1.3 if true_error else risk)
        interval = metrics.debiased_ece(risk, happened, ci=True)
        assert interval.value == metrics.debiased_ece(risk, happened)
        held += interval.low <= true_error <= interval.high
    assert held >= 86  # of 95 % of 100, four standard errors less


def test_the_interval_of_the_debiased_error_is_not_below_that_of_the_gap():
    """By Jensen's inequality the gap of all rows is at most the root of the mean square of those of bins."""
    happened = EVENT
    level = np.clip(RISK + 0.06, 0.0, 1.0)
    gap = metrics.confidence_gap(level, happened, ci=True)
    assert metrics.debiased_ece(level, happened, ci=True).low >= gap.low > 0.0


def test_the_interval_of_the_debiased_error_draws_whole_clusters():
    thrice = np.repeat([RISK, EVENT], 3, axis=1)
    rows = np.repeat(np.arange(600), 3)
    alone = metrics.debiased_ece(*thrice, ci=True)
    clustered = metrics.debiased_ece(*thrice, clusters=rows, ci=True)
    assert clustered.high - clustered.low > 1.3 * (alone.high - alone.low)
    with pytest.raises(CalibrationError, match="at least 2 rows; got 1"):
        metrics.debiased_ece([0.3], [0], ci=True)


@pytest.mark.long
@pytest.mark.parametrize(("power", "true_error"), [(1.0, 0.0), (1.3, 0.081217)])
def test_the_interval_of_the_smooth_error_holds_the_truth(power, true_error):
    """The second truth is that of four million rows."""
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        risk = rng.beta(2, 3, 500)
        low, high = metrics.smooth_ece(risk, rng.random(500) < risk**power, ci=True)[1:]
        held += low <= true_error <= high
    assert held >= 15  # of 95 % of 20, four standard errors less


WITH_WEIGHTS = {
    **NAMED,
    "ece": calib.ece,
    "smooth": metrics.smooth_ece,
    "gap": metrics.confidence_gap,
    "corp": lambda *rows, **named: metrics.corp(*rows, **named).score,
    "walk": lambda *rows, **named: metrics.cumulative_test(*rows, **named).kuiper,
    "curve": lambda *rows, **named: calib.reliability_curve(*rows, **named).ece,
    "benefit": lambda *rows, **named: float(
        metrics.net_benefit(*rows, thresholds=[0.3], **named).model.value[0]
    ),
}


@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_scikit_learns_word_for_weights_is_taken_and_its_order_is_told(name):
    score = WITH_WEIGHTS[name]
    assert score(RISK, EVENT, sample_weight=WEIGHTS) == score(RISK, EVENT, weights=WEIGHTS)
    with pytest.raises(CalibrationError, match=r"calib takes \(probs, labels\), scikit-learn"):
        score(y_true=EVENT, y_prob=RISK)
