"""Intervals draw whole clusters where rows have them, in every score and every curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.data import Predictions
from calib.diagnostics.gaps import subgroups
from calib.diagnostics.over_under import over_under_confidence
from calib.diagnostics.reliability import reliability_curve
from calib.diagnostics.risk_coverage import risk_coverage
from calib.evaluation import Evaluation, score_intervals
from calib.evaluation.score_registry import scored_on, scores
from calib.metrics.bootstrap import effective_count, groups_of_units, wilson_interval

ESTABLISHED = ("NLL", "Brier", "accuracy", "signed gap", "ECE", "overconfidence", "underconfidence")


def clustered(n_clusters: int, size: int, seed: int = 0) -> Predictions:
    """Binary rows in clusters whose true log-odds are shifted together, which the predictions do not know."""
    generator = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n_clusters), size)
    log_odds = generator.normal(-1.0, 1.0, n_clusters * size)
    true = log_odds + generator.normal(size=n_clusters)[cluster]
    labels = generator.random(len(cluster)) < 1 / (1 + np.exp(-true))
    logits = np.stack([np.zeros(len(cluster)), log_odds], axis=1)
    return Predictions(
        logits, labels.astype(int), ("no", "yes"), clusters=np.array([f"c{c}" for c in cluster])
    )


def judged(data: Predictions) -> Evaluation:
    return Evaluation.from_predictions(
        calib.calibrator("identity").fit(data.logits, data.labels), data
    )


def copied(data: Predictions, times: int) -> Predictions:
    """Every row so many times, the copies of a row being one cluster."""
    rows = np.repeat(np.arange(len(data)), times)
    return replace(data.take(rows), clusters=np.array([f"c{row}" for row in rows]))


def test_the_standard_error_of_a_mean_is_that_between_clusters(rng):
    cluster = np.repeat(np.arange(25), 8)
    values = rng.normal(size=25)[cluster] + 0.1 * rng.normal(size=200)
    means = values.reshape(25, 8).mean(axis=1)
    groups = groups_of_units(200, cluster)
    total, rows = groups.resampled(
        np.stack([groups.sums(values), groups.sums(None)], axis=1), 8000
    ).T
    assert (total / rows).std() == pytest.approx(means.std(ddof=1) / 5, rel=0.03)


def widths(one: Evaluation) -> dict[str, float]:
    """How wide the intervals of scores, curves and other diagnostics are."""
    found = score_intervals(one) | {"overconfidence": over_under_confidence([one])[0].over}
    curve = reliability_curve(*one.pair, n_bins=5, clusters=one.clusters)
    gaps = subgroups(one, np.where(one.confidence > 0.8, "high", "low")).gaps
    answers = risk_coverage(one.confidence, one.correct, clusters=one.clusters)
    return {key: found[key].high - found[key].low for key in ESTABLISHED} | {
        "bins": np.nanmean(curve.high - curve.low),
        "groups": np.nanmean(gaps.gap_high - gaps.gap_low),
        "answers": answers.high[-1] - answers.low[-1],
    }


def test_copies_of_rows_leave_intervals_as_wide_as_without_them():
    data = replace(clustered(200, 1), clusters=None)
    once, many = judged(data), judged(copied(data, 5))
    independent, whole, narrow = (widths(one) for one in (once, many, replace(many, clusters=None)))
    for key, width in independent.items():
        assert whole[key] == pytest.approx(width, rel=0.25), key
        assert narrow[key] < 0.75 * width or key == "ECE", (
            key
        )  # single rows also make its noise look smaller


def test_a_proportion_counts_as_many_rows_as_vary_like_its_clusters():
    right, rows = np.array([3.0, 0, 5, 2]), np.array([5.0, 4, 6, 5])
    share = 0.5
    variance = 4 / 3 * np.sum((right - share * rows) ** 2) / 20**2
    assert effective_count(right, rows) == pytest.approx(0.25 / variance)
    assert effective_count(np.array([4.0, 4]), np.array([4.0, 4])) == 2, (
        "nothing varies: each cluster counts once"
    )
    assert effective_count(np.array([2.0, 2]), np.array([4.0, 4])) == 8, (
        "never more than there are rows"
    )


def test_the_accuracy_where_all_are_right_counts_clusters():
    n = 60
    data = Predictions(
        np.tile([0.0, 3.0], (n, 1)), np.ones(n, dtype=int), ("a", "b"), clusters=np.arange(n) // 6
    )
    found = score_intervals(judged(data))["accuracy"]
    assert found.low == pytest.approx(float(wilson_interval(10, 10)[0]))


def test_few_clusters_rank_nothing_however_many_rows_they_have():
    data = clustered(16, 200)
    table = calib.compare({"t": calib.calibrator("vector")}, *data.split(0.5)).table
    assert set(table["verdict"]) == {"", "undecided"}


@pytest.mark.long
def test_intervals_of_clustered_rows_hold_the_truth_where_those_of_rows_do_not():
    """The truth is that of 6,000 clusters; 150 samples of 80 clusters of 25 rows each."""
    keys = ("NLL", "Brier", "accuracy", "signed gap", "ECE")
    population = scores(judged(clustered(6000, 25, seed=10_000)))
    truth = {key: population[key] for key in keys}
    held = {which: dict.fromkeys(truth, 0) for which in ("clusters", "rows")}
    for seed in range(150):
        whole = judged(clustered(80, 25, seed=seed))
        for which, one in (("clusters", whole), ("rows", replace(whole, clusters=None))):
            found = scored_on(one).intervals()
            for key, value in truth.items():
                held[which][key] += found[key].low <= value <= found[key].high
    shares = {
        which: {key: count / 150 for key, count in counts.items()} for which, counts in held.items()
    }
    assert all(share >= 0.9 for share in shares["clusters"].values()), shares
    assert all(shares["rows"][key] < shares["clusters"][key] - 0.05 for key in keys), shares
