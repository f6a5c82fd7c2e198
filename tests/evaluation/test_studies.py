"""Repeated splits and learning curves: values of each split, intervals that allow for shared rows, labels needed."""

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
    halved_sizes,
    labels_needed,
    pool_arrays,
    repeat_task,
    repeated_splits,
    summarise_sizes,
    summarise_splits,
)
from tests.conftest import simulate
from tests.evaluation.test_evaluation import ConfidenceOnly


class Counting(Calibrator):
    """Remembers the rows of every fit, and needs at least 50."""

    seen: list = []  # noqa: RUF012

    def _fit(self, logits, labels, *, progress):
        if len(labels) < 50:
            raise CalibrationError("Too few rows.")
        Counting.seen.append((logits[:, 0] - logits[:, 1]).round(9))

    def _predict(self, logits):
        return np.full(logits.shape, 1 / logits.shape[1])


class FailsOnOdd(Counting):
    """Refuses every second fit."""

    fits = 0

    def _fit(self, logits, labels, *, progress):
        FailsOnOdd.fits += 1
        if FailsOnOdd.fits % 2:
            raise ZeroDivisionError("nothing to divide by")


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
    with pytest.raises(CalibrationError, match="at least 2 rows"):
        repeated_splits({}, data(), 50, sizes=(1, 50))


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


# -- learning curves -----------------------------------------------------------------------------------


def test_more_labels_help_most_where_there_is_most_to_learn():
    methods = {name: calib.calibrator(name) for name in ("temperature", "vector")}
    table = repeated_splits(methods, data(900), 400, n_repeats=3, sizes=halved_sizes(400))
    # The largest size is the comparison on the same splits.
    whole = repeated_splits(methods, data(900), 400, n_repeats=3)
    largest = table[table["size"] == 400].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        largest.drop(columns="fit_seconds"), whole.drop(columns="fit_seconds")
    )
    curve = summarise_sizes(table).set_index(["method", "score", "size"]).sort_index()
    vector, temperature = (curve.loc[name, "NLL"] for name in reversed(methods))
    assert vector.loc[25, "value"] > vector.loc[100, "value"] > vector.loc[400, "value"]
    assert vector.loc[25, "to_last"] > temperature.loc[25, "to_last"] > 0
    assert vector.loc[25, "to_last"] == pytest.approx(
        vector.loc[25, "value"] - vector.loc[400, "value"]
    )
    assert (curve["low"] <= curve["value"]).all() and (curve["value"] <= curve["high"]).all()
    raw = curve.loc["identity", "NLL"]
    assert np.ptp(raw["value"]) == 0 and (raw["to_last_high"] == 0).all()


def test_sizes_are_nested_and_take_cluster_after_cluster():
    rows = data(200, clusters=np.array([f"c{i % 25}" for i in range(200)]))
    cluster = dict(
        zip((rows.logits[:, 0] - rows.logits[:, 1]).round(9), rows.clusters, strict=True)
    )
    Counting.seen = []
    repeated_splits({"counting": Counting()}, rows, 104, n_repeats=2, sizes=(50, 100))
    assert [len(seen) for seen in Counting.seen] == [50, 100, 50, 100]
    for seen in Counting.seen:
        counts = np.unique([cluster[value] for value in seen], return_counts=True)[1]
        assert (counts == 8).sum() >= len(counts) - 1 == (len(seen) - 1) // 8
    assert set(Counting.seen[0]) < set(Counting.seen[1]) and set(Counting.seen[0]) != set(
        Counting.seen[2]
    )


def test_a_size_that_fails_says_why_and_the_others_go_on():
    table = repeated_splits(
        {"counting": Counting()}, data(300), 200, n_repeats=3, sizes=halved_sizes(200)
    )
    curve = (
        summarise_sizes(table)
        .set_index(["method", "score", "size"])
        .sort_index()
        .loc["counting", "NLL"]
    )
    assert list(curve["n_splits"]) == [0, 3, 3, 3]
    assert curve.loc[25, "note"] == "Too few rows." and np.isnan(curve.loc[25, "value"])
    assert (curve.loc[50:, "note"] == "").all() and curve.loc[50, "value"] == pytest.approx(
        np.log(4)
    )


def made(highs, lows=None):
    """A table of one method whose differences to the largest size have these ends."""
    n = len(highs)
    about = {"method": "m", "title": "M", "score": "NLL", "value": 0.5, "note": ""}
    sizes = {
        "size": [100 * 2**i for i in range(n)],
        "to_last_low": lows or [-0.1] * n,
        "to_last_high": highs,
    }
    return pd.DataFrame(sizes).assign(**about)


def test_enough_is_the_smallest_size_from_which_on_all_intervals_are_below_the_tolerance():
    needed = labels_needed(made([0.005, 0.02, 0.009, 0.008, 0.0]), "m", tolerance=0.01)
    assert needed.size == 400
    assert (
        needed.sentence
        == "M: 400 labels are enough to come within 0.01 of the NLL that all 1,600 give."
    )


def test_nothing_is_claimed_that_the_intervals_do_not_show():
    needed = labels_needed(made([0.5, 0.04, 0.0], [0.2, 0.003, 0.0]), "m", tolerance=0.01)
    assert needed.size is None and "with 200 it may be worse by up to 0.04" in needed.sentence
    assert "From 200 to 400 labels the NLL still fell by 0.003 to 0.04" in needed.sentence
    unknown = labels_needed(made([np.nan, np.inf, 0.0], [np.nan, -np.inf, 0.0]), "m")
    assert (
        unknown.size is None
        and "still fell" not in unknown.sentence
        and "any amount" in unknown.sentence
    )
    with pytest.raises(CalibrationError, match=r"largest size: Too few rows\."):
        labels_needed(made([0.0, 0.0]).assign(value=np.nan, note="Too few rows."), "m")


# -- in workers ----------------------------------------------------------------------------------------


def test_a_worker_gives_what_the_library_gives():
    rows = replace(data(300), clusters=np.array([f"patient {i // 7}" for i in range(300)]))
    arrays = {"logits": rows.logits, "labels": rows.labels, **pool_arrays(rows)}
    methods = (("Temperature", "temperature", {}),)
    found = repeat_task(methods, 120, 3, 5, None, (60, 120), data=arrays, callback=silent)
    expected = repeated_splits(
        {"Temperature": calib.calibrator("temperature")},
        rows,
        120,
        n_repeats=3,
        sizes=(60, 120),
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
