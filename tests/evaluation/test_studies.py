"""Repeated splits: values of each split, and intervals that allow for shared rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import calib
from calib.base import Calibrator, silent
from calib.data.predictions import Predictions
from calib.errors import CalibrationError, FitCancelled
from calib.evaluation import evaluate, scores
from calib.evaluation.comparison_table import CONFIDENCE_ONLY, best_methods, verdict
from calib.evaluation.studies import (
    COLUMNS,
    corrected_interval,
    pool_arrays,
    repeat_task,
    repeated_splits,
    summarise_splits,
)
from tests.conftest import simulate
from tests.evaluation.test_evaluation import ConfidenceOnly


class FailsOnOdd(Calibrator):
    """Refuses every second fit, and predicts equal probabilities."""

    fits = 0

    def _fit(self, logits, labels, *, progress):
        FailsOnOdd.fits += 1
        if FailsOnOdd.fits % 2:
            raise ZeroDivisionError("nothing to divide by")

    def _predict(self, logits):
        return np.full(logits.shape, 1 / logits.shape[1])


def data(n=400, seed=0, **more):
    logits, labels = simulate(n, 4, seed=seed)
    return Predictions(logits, labels, tuple("abcd"), sha256=f"simulated {n} {seed}", **more)


@pytest.fixture(scope="module")
def table():
    temperature = calib.calibrator("temperature")
    methods = {"temperature": temperature, "again": temperature, "unsure": ConfidenceOnly()}
    return repeated_splits(methods, data(), 100, n_repeats=4, random_state=7)


def test_values_are_those_of_each_split(table):
    for split in range(4):
        calibration, test = data().split(100, random_state=7 + split)
        fitted = calib.calibrator("temperature").fit(calibration.logits, calibration.labels)
        expected = scores(evaluate(fitted.predict_proba(test.logits), test.labels))
        here = table[(table["method"] == "temperature") & (table["split"] == split)].set_index(
            "score"
        )
        for key, value in expected.items():
            assert here.loc[key, "value"] == pytest.approx(value, abs=1e-12)
        assert set(here["size"]) == {100} and set(here["n_test"]) == {300}


def test_the_summary_is_of_differences_split_by_split(table):
    summary = summarise_splits(table)
    row = summary[(summary["method"] == "temperature") & (summary["score"] == "NLL")].iloc[0]
    nll = table[table["score"] == "NLL"].pivot(index="split", columns="method", values="value")
    difference = nll["temperature"] - nll["identity"]
    assert row["value"] == pytest.approx(nll["temperature"].mean())
    assert row["sd"] == pytest.approx(nll["temperature"].std(ddof=1))
    assert row["difference"] == pytest.approx(difference.mean())
    half = t.ppf(1 - 0.025 / 6, 3) * np.sqrt(
        (1 / 4 + 300 / 100) * difference.var(ddof=1)
    )  # six pairs of methods
    assert row["difference_high"] - row["difference_low"] == pytest.approx(2 * half)
    assert row["verdict"] == "undecided"  # four splits show too little
    ours, theirs = (summary[summary["method"] == name] for name in ("temperature", "again"))
    pd.testing.assert_series_equal(
        ours["value"].reset_index(drop=True), theirs["value"].reset_index(drop=True)
    )
    said = verdict(summary, "NLL", "over 4 splits")
    assert "over 4 splits: " in said and "again" in said
    unsure = summary[summary["method"] == "unsure"].set_index("score")
    assert np.isnan(unsure.loc["NLL", "value"]) and unsure.loc["ECE", "n_splits"] == 4
    assert unsure.loc["NLL", "note"] == CONFIDENCE_ONLY and not unsure.loc["ECE", "note"]


@pytest.mark.parametrize(("n_wrong", "claims"), [(0, False), (4, False), (40, True)])
def test_splits_without_mistakes_rank_no_methods(n_wrong, claims):
    rows = [
        (name, name, split, 100, 300, key, key, value + 1e-4 * split + lucky, 0.0, "")
        for name, nll in (("identity", 0.5), ("a", 0.1))
        for split in range(20)
        for key, value in (("NLL", nll), ("accuracy", 1 - n_wrong / 400 - 0.00095))
        for lucky in [0.001 * (split % 3) * (key == "NLL" and name == "a")]
    ]
    summary = summarise_splits(pd.DataFrame(rows, columns=COLUMNS))
    row = summary[(summary["method"] == "a") & (summary["score"] == "NLL")].iloc[0]
    assert (row["verdict"] == "better") == claims
    assert (best_methods(summary, "NLL") == {"a"}) == claims
    assert ("cannot rank methods" in verdict(summary)) != claims


def test_a_method_that_fails_on_some_splits_is_compared_on_the_others():
    FailsOnOdd.fits = 0
    table = repeated_splits({"odd": FailsOnOdd()}, data(), 100, n_repeats=4)
    row = summarise_splits(table).set_index(["method", "score"]).loc[("odd", "NLL")]
    assert row["n_splits"] == 2
    assert row["note"] == "Failed on 2 of 4 splits: ZeroDivisionError: nothing to divide by"
    assert row["value"] == pytest.approx(np.log(4))
    nll = table[table["score"] == "NLL"].pivot(index="split", columns="method", values="value")
    assert row["difference"] == pytest.approx((nll["odd"] - nll["identity"])[[1, 3]].mean())


def test_a_cancellation_passes_and_too_little_is_refused():
    def stop(step, total, value):
        raise FitCancelled

    with pytest.raises(FitCancelled):
        repeated_splits({}, data(), 50, n_repeats=2, callback=stop)
    with pytest.raises(CalibrationError, match="repeat at least twice"):
        repeated_splits({}, data(), 50, n_repeats=1)


def test_the_interval_by_its_formula_and_at_its_ends():
    values = np.array([0.1, 0.3, np.nan, 0.2, 0.4])
    mean, low, high = corrected_interval(values, 100, 50, level=0.9)
    assert mean == pytest.approx(0.25)
    assert (
        high - mean
        == mean - low
        == pytest.approx(t.ppf(0.95, 3) * np.sqrt((0.25 + 0.5) * np.nanvar(values, ddof=1)))
    )
    assert corrected_interval([0.1], 10, 10) == (0.1, -np.inf, np.inf)
    assert np.isnan(corrected_interval([], 10, 10).value)


# -- in workers ----------------------------------------------------------------------------------------


def test_a_worker_gives_what_the_library_gives():
    rows = replace(data(300), clusters=np.array([f"patient {i // 7}" for i in range(300)]))
    arrays = {"logits": rows.logits, "labels": rows.labels, **pool_arrays(rows)}
    methods = (("Temperature", "temperature", {}),)
    found = repeat_task(methods, 120, 3, 5, data=arrays, callback=silent)
    expected = repeated_splits(
        {"Temperature": calib.calibrator("temperature")},
        rows,
        120,
        n_repeats=3,
        random_state=5,
    )
    pd.testing.assert_frame_equal(*(each.drop(columns="fit_seconds") for each in (found, expected)))
    with pytest.raises(
        CalibrationError, match="n_inducing=-1"
    ):  # at once, before anything is fitted
        repeat_task(
            (*methods, ("wrong", "gpcalib", {"n_inducing": -1})),
            120,
            3,
            5,
            data=arrays,
            callback=silent,
        )
