"""Scores against the number of labels, and how many are needed."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import calib
from calib.base import Calibrator
from calib.data.predictions import Predictions
from calib.errors import CalibrationError
from calib.evaluation.learning_curve import (
    halved_sizes,
    labels_needed,
    size_curve,
)
from tests.conftest import simulate


class Counting(Calibrator):
    """Remembers the labels of every fit, and needs at least 50 rows."""

    seen: list = []  # noqa: RUF012

    def _fit(self, logits, labels, *, progress):
        if len(labels) < 50:
            raise CalibrationError("Too few rows.")
        Counting.seen.append(logits[:, 0] - logits[:, 1])  # a fit may see a row with something added to it

    def _predict(self, logits):
        return np.full(logits.shape, 1 / logits.shape[1])


def part(n, seed):
    logits, labels = simulate(n, 4, seed=seed)
    return Predictions(logits, labels, tuple("abcd"), sha256=f"simulated {n} {seed}")


@pytest.fixture(scope="module")
def parts():
    return part(400, 0), part(1500, 1)


METHODS = {"temperature": calib.calibrator("temperature"), "vector": calib.calibrator("vector")}


@pytest.fixture(scope="module")
def curve(parts):
    return size_curve(METHODS, *parts, n_draws=4)


def rows(curve, method, score="NLL"):
    return curve[(curve["method"] == method) & (curve["score"] == score)].set_index("size")


@pytest.mark.parametrize(("n", "sizes"), [(400, (25, 50, 100, 200, 400)), (39, (39,)), (40, (20, 40)), (7, (7,))])
def test_sizes_are_halved(n, sizes):
    assert halved_sizes(n) == sizes


def test_at_all_rows_it_is_the_fit_itself(curve, parts):
    calibration, test = parts
    for name, method in METHODS.items():
        probs = copy.deepcopy(method).fit(calibration.logits, calibration.labels).predict_proba(test.logits)
        nll, ece = rows(curve, name).loc[400], rows(curve, name, "ECE").loc[400]
        # The order of the rows is another, which moves an optimiser by rounding.
        assert nll["value"] == pytest.approx(calib.metrics.nll(probs, test.labels), abs=1e-5)
        assert ece["value"] == pytest.approx(calib.metrics.ece(probs, test.labels), abs=1e-4)
        assert nll["n_draws"] == 1
        assert nll["to_last"] == nll["to_last_low"] == nll["to_last_high"] == 0


def test_more_labels_help_most_where_there_is_most_to_learn(curve):
    vector = rows(curve, "vector")
    assert vector.loc[25, "value"] > vector.loc[100, "value"] > vector.loc[400, "value"]
    assert vector.loc[25, "sd"] > vector.loc[200, "sd"] > 0
    temperature = rows(curve, "temperature")
    assert vector.loc[25, "to_last"] > temperature.loc[25, "to_last"] - 1e-9 > 0
    assert (curve["low"] <= curve["value"]).all() and (curve["value"] <= curve["high"]).all()


def test_draws_are_nested_and_of_their_size():
    Counting.seen = []
    size_curve({"counting": Counting()}, *(part(n, n) for n in (200, 50)), n_draws=2)
    by_size = {n: [set(seen) for seen in Counting.seen if len(seen) == n] for n in (50, 100, 200)}
    assert [len(by_size[n]) for n in (50, 100, 200)] == [2, 2, 1]
    for small, large in zip(by_size[50], by_size[100], strict=True):
        assert small < large < by_size[200][0]
    assert by_size[50][0] != by_size[50][1]


def test_draws_take_cluster_after_cluster():
    data = replace(part(200, 200), clusters=np.array([f"c{i % 25}" for i in range(200)]))
    Counting.seen = []
    size_curve({"counting": Counting()}, data, part(50, 50), n_draws=2)
    difference = (data.logits[:, 0] - data.logits[:, 1]).round(9)
    cluster = dict(zip(difference, data.clusters, strict=True))
    for seen in Counting.seen:
        counts = np.unique([cluster[value] for value in seen.round(9)], return_counts=True)[1]
        assert (counts == 8).sum() >= len(counts) - 1 == (len(seen) - 1) // 8


def test_a_size_that_fails_says_why_and_the_others_go_on():
    curve = rows(size_curve({"counting": Counting()}, part(200, 3), part(50, 4)), "counting")
    assert list(curve["n_draws"]) == [0, 5, 5, 1]
    assert curve.loc[25, "note"] == "Too few rows." and np.isnan(curve.loc[25, "value"])
    assert curve.loc[50, "value"] == pytest.approx(np.log(4))
    assert (curve.loc[50:, "note"] == "").all()


@pytest.mark.long
def test_bands_hold_what_another_draw_gives():
    """Predicted from five draws of 50 of 2000 rows, on the same test rows: a sixth draw lies within."""
    calibration, test = part(2000, 10), part(20_000, 11)
    made, inside = calib.calibrator("vector"), 0
    generator = np.random.default_rng(0)
    for seed in range(60):
        curve = size_curve({"vector": made}, calibration, test, sizes=[50], random_state=seed)
        fresh = calibration.take(generator.permutation(2000)[:50])
        other = calib.calibrator("vector").fit(fresh.logits, fresh.labels)
        row = rows(curve, "vector").loc[50]
        inside += row["low"] <= calib.metrics.nll(other.predict_proba(test.logits), test.labels) <= row["high"]
    assert inside >= 53  # of 60, of which 57 are expected


def test_at_all_rows_bands_are_the_intervals_of_the_comparison(curve, parts):
    table = calib.compare({"temperature": calib.calibrator("temperature")}, *parts)
    for name, tolerance in (("identity", 1e-12), ("temperature", 1e-3)):  # the order of rows moves the temperature
        for key in ("NLL", "ECE"):
            there = table[(table["method"] == name) & (table["score"] == key)].iloc[0]
            here = rows(curve, name, key).loc[400]
            for side in ("value", "low", "high"):
                assert here[side] == pytest.approx(there[side], abs=tolerance), (name, key, side)


@pytest.mark.parametrize("sizes", [[1, 100], [100, 401]])
def test_sizes_that_cannot_be_taken_are_refused(parts, sizes):
    with pytest.raises(CalibrationError, match="between 2 and 400"):
        size_curve({}, *parts, sizes=sizes)


def made(highs, lows=None):
    """A table of one method whose differences to the largest size have these ends."""
    n = len(highs)
    lows = lows or [-0.1] * n
    sizes = [100 * 2**i for i in range(n)]
    return pd.DataFrame(
        {"method": "m", "title": "M", "size": sizes, "score": "NLL", "value": 0.5, "to_last_low": lows,
         "to_last_high": highs, "note": ""}
    )  # fmt: skip


def test_enough_is_the_smallest_size_from_which_on_all_bands_are_below_the_tolerance():
    needed = labels_needed(made([0.005, 0.02, 0.009, 0.008, 0.0]), "m", tolerance=0.01)
    assert needed.size == 400
    assert needed.sentence == "M: 400 labels are enough to come within 0.01 of the NLL that all 1,600 give."
    assert "still fell" not in needed.sentence


def test_nothing_is_claimed_that_the_bands_do_not_show():
    needed = labels_needed(made([0.5, 0.04, 0.0], [0.2, 0.003, 0.0]), "m", tolerance=0.01)
    assert needed.size is None and "still fell" in needed.sentence
    assert "with 200 it may be worse by up to 0.04" in needed.sentence
    assert "From 200 to 400 labels the NLL still fell by 0.003 to 0.04" in needed.sentence
    unknown = labels_needed(made([np.nan, np.inf, 0.0], [np.nan, -np.inf, 0.0]), "m")
    assert unknown.size is None and "still fell" not in unknown.sentence
    assert "any amount" in unknown.sentence


def test_a_method_without_the_score_is_refused():
    table = made([0.0, 0.0]).assign(value=np.nan, note="Too few rows.")
    with pytest.raises(CalibrationError, match=r"largest size: Too few rows\."):
        labels_needed(table, "m")
