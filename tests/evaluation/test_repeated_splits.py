"""Repeated splits: scores per split, and intervals that allow for shared rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import calib
from calib.base import Calibrator
from calib.data.predictions import Predictions
from calib.errors import FitCancelled
from calib.evaluation import evaluate, scores
from calib.evaluation.comparison_table import best_methods, verdict
from calib.evaluation.repeated_splits import corrected_interval, repeated_splits, summarise_splits
from tests.conftest import simulate


class FailsOnOdd(Calibrator):
    """Refuses every second fit."""

    fits = 0

    def _fit(self, logits, labels, *, progress):
        FailsOnOdd.fits += 1
        if FailsOnOdd.fits % 2:
            raise ZeroDivisionError("nothing to divide by")

    def _predict(self, logits):
        return np.full(logits.shape, 1 / logits.shape[1])


class Unsure(Calibrator):
    """Gives a confidence only."""

    def _fit(self, logits, labels, *, progress): ...

    def predict_confidence(self, logits, features=None):
        return np.full(len(logits), 0.5)


def data(n=400, n_classes=4, seed=0):
    logits, labels = simulate(n, n_classes, seed=seed)
    return Predictions(logits, labels, tuple("abcd"[:n_classes]), sha256=f"simulated {n} {seed}")


@pytest.fixture(scope="module")
def methods():
    return {
        "temperature": calib.calibrator("temperature"),
        "again": calib.calibrator("temperature"),
        "unsure": Unsure(),
    }


@pytest.fixture(scope="module")
def table(methods):
    return repeated_splits(methods, data(), 100, n_repeats=4, random_state=7)


def test_values_are_those_of_each_split(table):
    for split in range(4):
        calibration, test = data().split(100, random_state=7 + split)
        fitted = calib.calibrator("temperature").fit(calibration.logits, calibration.labels)
        expected = scores(evaluate(fitted.predict_proba(test.logits), test.labels))
        here = table[(table["method"] == "temperature") & (table["split"] == split)].set_index("score")
        for key, value in expected.items():
            assert here.loc[key, "value"] == pytest.approx(value, abs=1e-12)
        assert set(here["n_calibration"]) == {100} and set(here["n_test"]) == {300}


def test_the_summary_is_of_differences_split_by_split(table):
    summary = summarise_splits(table)
    row = summary[(summary["method"] == "temperature") & (summary["score"] == "NLL")].iloc[0]
    nll = table[table["score"] == "NLL"].pivot(index="split", columns="method", values="value")
    difference = nll["temperature"] - nll["identity"]
    assert row["value"] == pytest.approx(nll["temperature"].mean())
    assert row["sd"] == pytest.approx(nll["temperature"].std(ddof=1))
    assert row["difference"] == pytest.approx(difference.mean())
    half = t.ppf(0.975, 3) * np.sqrt((1 / 4 + 300 / 100) * difference.var(ddof=1))
    assert row["difference_high"] - row["difference_low"] == pytest.approx(2 * half)
    assert (row["verdict"] == "better") == (row["n_splits"] > 10)  # four splits show too little
    assert list(summary["method"].unique()) == ["identity", "temperature", "again", "unsure"]


def test_the_same_method_twice_cannot_be_told_apart(table):
    summary = summarise_splits(table).set_index(["method", "score"])
    for key in ("NLL", "Brier", "ECE"):
        ours, theirs = (summary.loc[(name, key)] for name in ("temperature", "again"))
        assert ours["value"] == theirs["value"]
        assert (ours["to_best"] == theirs["to_best"]) and (ours["to_best_low"] <= 0 <= ours["to_best_high"])
    said = verdict(summarise_splits(table), "NLL", "over 4 splits")
    assert "over 4 splits: " in said and "again" in said


@pytest.mark.parametrize(("n_wrong", "claims"), [(0, False), (4, False), (40, True)])
def test_splits_without_mistakes_rank_no_methods(n_wrong, claims):
    rows = [
        {"method": name, "title": name, "split": split, "score": key, "score_title": key,
         "value": value + 1e-4 * split, "fit_seconds": 0.0,
         "n_calibration": 100, "n_test": 300, "note": "", "confidence_only": False}
        for name, nll in (("identity", 0.5), ("a", 0.1))
        for split in range(20)
        for key, value in (("NLL", nll), ("accuracy", 1 - n_wrong / 400 - 0.00095))
    ]  # fmt: skip
    for row in rows:
        if row["score"] == "NLL" and row["method"] == "a":
            row["value"] += 0.001 * (row["split"] % 3)
    summary = summarise_splits(pd.DataFrame(rows))
    row = summary[(summary["method"] == "a") & (summary["score"] == "NLL")].iloc[0]
    assert (row["verdict"] == "better") == claims
    assert (best_methods(summary, "NLL") == {"a"}) == claims
    assert ("cannot rank methods" in verdict(summary)) != claims


def test_a_confidence_alone_has_no_proper_score_and_says_so(table):
    summary = summarise_splits(table).set_index(["method", "score"])
    assert np.isnan(summary.loc[("unsure", "NLL"), "value"])
    assert summary.loc[("unsure", "NLL"), "confidence_only"] and not summary.loc[("unsure", "ECE"), "confidence_only"]
    assert summary.loc[("unsure", "ECE"), "n_splits"] == 4


def test_a_method_that_fails_on_some_splits_is_compared_on_the_others():
    FailsOnOdd.fits = 0
    table = repeated_splits({"odd": FailsOnOdd()}, data(), 100, n_repeats=4)
    row = summarise_splits(table).set_index(["method", "score"]).loc[("odd", "NLL")]
    assert row["n_splits"] == 2
    assert row["note"] == "Failed on 2 of 4 splits: ZeroDivisionError: nothing to divide by"
    assert row["value"] == pytest.approx(np.log(4))
    nll = table[table["score"] == "NLL"].pivot(index="split", columns="method", values="value")
    assert row["difference"] == pytest.approx((nll["odd"] - nll["identity"])[[1, 3]].mean())


def test_progress_counts_fits_and_a_cancellation_passes():
    seen = []
    repeated_splits({"temperature": calib.calibrator("temperature")}, data(), 50, n_repeats=3,
                    callback=lambda step, total, value: seen.append((step, total)))  # fmt: skip
    assert seen[-1] == (6, 6)
    assert sorted(seen) == seen

    def stop(step, total, value):
        raise FitCancelled

    with pytest.raises(FitCancelled):
        repeated_splits({}, data(), 50, n_repeats=2, callback=stop)


def test_the_interval_by_its_formula_and_at_its_ends():
    values = np.array([0.1, 0.3, 0.2, 0.4])
    mean, low, high = corrected_interval(values, 100, 50, level=0.9)
    assert mean == pytest.approx(0.25)
    assert high - mean == mean - low == pytest.approx(t.ppf(0.95, 3) * np.sqrt((0.25 + 0.5) * values.var(ddof=1)))
    assert corrected_interval([0.1], 10, 10) == (0.1, -np.inf, np.inf)
    assert np.isnan(corrected_interval([], 10, 10).value)


@pytest.mark.parametrize("n_test", [60, 150])
def test_coverage_where_splits_share_rows(n_test):
    """Row-wise losses that no calibration row changes: here the correction is exact, and without it coverage fails."""
    generator = np.random.default_rng(1)
    n, n_splits, covered, covered_without = 200, 10, 0, 0
    for _ in range(500):
        losses = generator.exponential(size=n)
        means = np.array([losses[generator.permutation(n)[:n_test]].mean() for _ in range(n_splits)])
        _, low, high = corrected_interval(means, n - n_test, n_test)
        covered += low <= 1.0 <= high
        half = t.ppf(0.975, n_splits - 1) * means.std(ddof=1) / np.sqrt(n_splits)
        covered_without += abs(means.mean() - 1.0) <= half
    assert 0.92 <= covered / 500 <= 0.98
    assert covered_without / 500 < 0.85
