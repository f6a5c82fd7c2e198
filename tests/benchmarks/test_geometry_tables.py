"""The tables of the geometric separation paper: what is compared, how it is judged, and that they are made."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, ttest_rel
from sklearn.isotonic import IsotonicRegression

from benchmarks import chouraqui2023, geometry_methods, geometry_tables
from benchmarks import geometry_splits as splits
from calib.calibrators.geometric import fast_separation
from tests.conftest import REFERENCE


def made_split(confidence: list[float], right: list[bool]) -> splits.Split:
    """Rows of three classes whose first is predicted, half to calibrate with and half to be scored."""
    said = np.array(confidence)
    logits = np.log(np.stack([said, *[np.maximum((1 - said) / 2, 1e-9)] * 2], axis=1))
    labels = np.where(right, 0, 1)
    features, train_labels = np.arange(len(said), dtype=float)[:, None], np.resize([0, 1, 2], 9)
    half = len(said) // 2
    pairs = [(rows[:half], rows[half:]) for rows in (features, labels, logits)]
    return splits.Split(np.linspace(0, len(said), 9)[:, None], train_labels, *pairs)


@pytest.fixture
def chance_split(rng) -> splits.Split:
    confidence = np.append(rng.uniform(0.4, 0.99, 398), [1.0, 1.0])
    return made_split(list(confidence), list(rng.random(400) < confidence**2))


def records(**by_method: list[float]) -> pd.DataFrame:
    """One record for each method and shuffle."""
    return pd.DataFrame(
        [
            {"method": method, "seed": seed, "ece": value}
            for method, values in by_method.items()
            for seed, value in enumerate(values)
        ]
    )


def test_the_classifiers_own_confidence_becomes_the_outputs_of_a_binary_problem():
    split = made_split([0.5, 0.9, 0.7, 1.0], [True, False, True, True])
    told, asked = split.top_label_logits
    np.testing.assert_allclose(np.diff(told)[:, 0], [0, np.log(9)], atol=1e-12)
    # A confidence of 1 is half as far from 1 as the nearest other.
    np.testing.assert_allclose(np.diff(asked)[:, 0], [np.log(7 / 3), -np.log(0.05)])
    np.testing.assert_allclose(np.concatenate(split.confidence), [0.5, 0.9, 0.7, 1.0])
    np.testing.assert_array_equal(np.concatenate(split.right), [True, False, True, True])


def test_a_top_label_baseline_maps_the_confidence_to_how_often_it_is_right(chance_split):
    said = geometry_methods.Method("isotonic", "isotonic").confidence(chance_split)
    told, asked = chance_split.confidence
    regression = IsotonicRegression(out_of_bounds="clip").fit(told, chance_split.right[0])
    blocks = np.abs(said - regression.predict(asked))
    assert np.quantile(blocks, 0.8) < 0.01  # between two blocks one is linear in the log-odds, the other in p
    assert not np.allclose(said, chance_split.confidence[1], atol=0.02)


def test_the_separation_sees_inputs_and_the_training_set(chance_split):
    said = geometry_methods.FAST.confidence(chance_split)
    value = fast_separation(
        chance_split.train_features,
        chance_split.train_labels,
        chance_split.features[1],
        np.zeros(len(said), dtype=int),
    )
    order = np.argsort(value)
    assert (np.diff(said[order]) >= -1e-12).all()
    assert np.ptp(said) > 0


def test_the_error_that_is_chance_is_that_of_a_binomial_number():
    right = np.arange(100) < 85
    found = geometry_methods.scores(np.full(100, 0.9), right)
    assert found["ece"] == pytest.approx(5)
    assert found["brier"] == pytest.approx(100 * (0.85 * 0.01 + 0.15 * 0.81))
    counts = np.arange(101)
    expected = np.abs(counts - 90) @ binom.pmf(counts, 100, 0.9)
    assert found["chance"] == pytest.approx(expected, rel=0.2)
    exact = geometry_methods.scores(right.astype(float), right)
    assert exact == pytest.approx({"ece": 0, "brier": 0, "chance": 0})


def test_differences_are_paired_by_shuffle(rng):
    common = rng.normal(size=8)
    a, b = common + rng.normal(scale=0.1, size=8) + 0.3, common
    found = records(a=list(a), b=list(b)).sample(frac=1, random_state=0)
    mean, low, high = geometry_tables.differences(found, "a", "b", "ece")
    expected = ttest_rel(a, b).confidence_interval()
    assert (mean, low, high) == pytest.approx((np.mean(a - b), expected.low, expected.high))
    assert geometry_tables.interval(found, "a", "a", "ece") == "–"
    assert geometry_tables.mean_and_error(records(a=[1, 2, 3]), "a", "ece") == "2.00 ± 0.58"


def test_the_verdict_says_below_within_and_not_below():
    values = {method.title: [3.0, 3.1, 2.9] for method in geometry_methods.BASELINES}
    values |= {"fast": [1.0, 1.1, 1.0], "exact": [3.5, 3.4, 3.6], "beta": [0.9, 1.6, 1.0], "BBQ": [0.5, 0.6, 0.5]}
    fast, exact = geometry_tables.verdict(records(**values)).split(". ")
    n = len(geometry_methods.BASELINES)
    assert fast == (
        f"fast: ECE below {n - 2} of {n} baselines beyond the interval; below beta (+0.13) within it; "
        "not below BBQ (-0.50)"
    )
    assert exact.startswith(f"exact: ECE below 0 of {n} baselines")


def test_a_shuffle_parts_the_rows_and_scales_by_the_training_rows_alone():
    task = splits.Task("t", np.arange(50.0)[:, None] ** 2, np.resize([0, 1], 50), standardised=True)
    one = splits.split(task, "random forest", 0)
    assert [len(one.train_labels), *map(len, one.labels)] == [30, 10, 10]
    assert one.train_features.mean() == pytest.approx(0)
    assert one.train_features.std() == pytest.approx(1)
    parts = np.concatenate([one.train_features, *one.features])
    assert len(np.unique(parts)) == 50
    assert not np.array_equal(one.features[0], splits.split(task, "random forest", 1).features[0])
    np.testing.assert_allclose(one.confidence[1], np.exp(one.logits[1]).max(axis=1))


@pytest.mark.long
def test_it_runs(monkeypatch, capsys):
    digits = splits.digits()
    few = splits.Task("digits", digits.features[:300], digits.labels[:300])
    monkeypatch.setattr(geometry_tables, "digits", lambda: few)
    monkeypatch.setattr(geometry_tables, "tabular", lambda: list(splits.tabular())[1:3])
    monkeypatch.setattr(geometry_tables, "FACTORS", (2,))
    monkeypatch.setattr(sys, "argv", ["geometry_tables", "--quick"])
    geometry_tables.main()
    printed = capsys.readouterr()
    tables = [table.split("\n") for table in printed.out.split("\n\n") if table.startswith("|")]
    assert len(tables) == 6
    assert len(tables[0]) == 2 + 2 + len(
        geometry_methods.SEPARATIONS + geometry_methods.NORMS + geometry_methods.BASELINES
    )
    assert len(tables[3]) == 2 + len(geometry_tables.REDUCTIONS)
    assert "nan" not in printed.out
    assert "digits, random forest" in printed.err


def test_on_digits_the_separation_is_near_the_reference_and_sharper_than_the_baselines():
    methods = [geometry_methods.FAST, geometry_methods.EXACT, *geometry_methods.BASELINES]
    found = geometry_tables.score(splits.digits(), ["random forest"], 3, methods)
    mean = found.groupby("method")[["ece", "brier"]].mean()
    reference = dict(
        zip(chouraqui2023.DIGITS_METHODS, chouraqui2023.DIGITS["random forest"], strict=True),
    )
    for title in ("fast", "exact"):
        assert mean.loc[title, "ece"] == pytest.approx(reference[title], abs=0.9)  # of one shuffle it deviates by .6
        assert mean.loc[title, "brier"] < 0.8 * mean.loc[[m.title for m in geometry_methods.BASELINES], "brier"].min()
    assert mean.loc["uncalibrated", "ece"] == pytest.approx(reference["uncalibrated"], abs=2)


def test_the_numbers_beside_ours_are_those_measured():
    reference = json.loads((REFERENCE / "numbers" / "geometric.json").read_text(encoding="utf-8"))
    for model, values in chouraqui2023.DIGITS.items():
        assert tuple(reference[model.lower()][1:]) == values
    names = {"mean_pool": "pool", "max_pool": "max pool", "random_pixels": "random pixels", "kmeans": "k-means"}
    found = reference["reductions on the random forest, ECE % at t=2 / t=4"]
    for name, values in chouraqui2023.DIGITS_REDUCTIONS.items():
        assert tuple(found[names.get(name, name.replace("_", " "))]) == values
