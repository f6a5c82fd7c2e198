"""Curves over runs, what a method saved against the baseline, and the sentences about it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from calib.active_learning import compare_arms, rounds_table, verdicts
from calib.active_learning.results import ERROR_AT_EQUAL, mean_interval, study_arms
from calib.active_learning.simulation import Round


def rounds(labels, errors, n_calibration=0) -> list[Round]:
    return [
        Round(n, n_calibration, "training", 0, e, e / 2, 0.5, 0.1, 1.0)
        for n, e in zip(labels, errors, strict=True)
    ]


def runs(arms: dict[str, tuple[float, float]], n_shuffles: int = 8, seed: int = 0) -> pd.DataFrame:
    """Straight-line runs to about so many labels and such an error, each shuffle a little different."""
    generator = np.random.default_rng(seed)
    found = {}
    for shuffle in range(n_shuffles):
        for arm, (labels, error) in arms.items():
            end = int(labels + generator.normal() * 10)
            found[arm, shuffle] = rounds(
                [100, (100 + end) // 2, end], [0.3, 0.2, error + generator.normal() * 1e-3]
            )
    return rounds_table(found)


def test_differences_are_paired():
    table = runs({"plain": (500, 0.1), "set_points": (400, 0.12)})
    summary = compare_arms(table).set_index(["arm", "quantity"])
    last = table[table["round"] == 2].pivot(index="shuffle", columns="arm", values="n_labels")
    t = stats.ttest_rel(last["set_points"], last["plain"]).confidence_interval(0.95)
    row = summary.loc["set_points", "n_labels"]
    np.testing.assert_allclose((row["difference_low"], row["difference_high"]), (t.low, t.high))
    assert row["share"] == pytest.approx(row["difference"] / last["plain"].mean())
    own = summary.loc["plain", "n_labels"]
    assert own["difference_low"] == own["difference_high"] == 0


def test_the_error_at_equal_labels_is_between_rounds():
    table = rounds_table(
        {
            ("plain", 0): rounds([100, 300], [0.4, 0.2]),
            ("set_points", 0): rounds([100, 200], [0.4, 0.25]),
        }
    )
    summary = compare_arms(table).set_index(["arm", "quantity"])["value"].unstack()
    assert dict(summary[ERROR_AT_EQUAL]) == pytest.approx({"plain": 0.3, "set_points": 0.25})


def test_shuffles_that_not_all_arms_have_run_are_left_out():
    table = runs({"plain": (500, 0.1), "set_points": (400, 0.1)}, 4)
    half = table[~((table["arm"] == "set_points") & (table["shuffle"] == 3))]
    assert set(compare_arms(half)["n_shuffles"]) == {3}
    only = table[
        ((table["arm"] == "plain") & (table["shuffle"] == 0))
        | ((table["arm"] == "set_points") & (table["shuffle"] == 1))
    ]
    assert compare_arms(only).empty and verdicts(compare_arms(only)) == []
    assert compare_arms(rounds_table({})).empty


def test_fewer_labels_at_a_final_error_that_is_not_significantly_higher_are_no_saving():
    """With few shuffles nothing is significant, and fewer labels alone save none: the error is just higher earlier."""
    generator = np.random.default_rng(3)
    found = {}
    for shuffle in range(6):
        noise = 0.02 * generator.normal()
        found["plain", shuffle] = rounds([100, 500], [0.3, 0.1])
        found["set_points", shuffle] = rounds([100, 400 + shuffle], [0.3, 0.15 + noise])
    summary = compare_arms(rounds_table(found)).set_index(["arm", "quantity"]).loc["set_points"]
    assert summary.loc["n_labels", "difference_high"] < 0
    assert "saved labels" not in verdicts(compare_arms(rounds_table(found)))[0]


def test_each_outcome_in_words():
    for arm, said in (
        ((400, 0.1), "saved labels"),
        ((500, 0.12), "cost labels"),
        ((500, 0.1), "shows no significant saving of labels"),
    ):
        (sentence,) = verdicts(compare_arms(runs({"plain": (500, 0.1), "set_points": arm})))
        assert sentence.startswith(f"**Calibrated at set points {said}.**")
    table = rounds_table(
        {("plain", s): rounds([100, 500], [0.3, 0.1]) for s in range(5)}
        | {("set_points", s): rounds([100, 400], [0.3, 0.1]) for s in range(5)}
    )
    text = verdicts(compare_arms(table))[0]
    assert "equally many labels differs by -5.00 points (95\u00a0%: -5.00 to -5.00)" in text
    assert "It ended after 400 labels (-100) with an error of 10.00% (+0.00 points)." in text


def test_a_curve_is_the_mean_of_the_lines_with_its_t_interval():
    generator = np.random.default_rng(0)
    labels = np.arange(100, 1001, 50)
    errors = [
        0.1 + 0.3 * np.exp(-labels / 300) + 0.01 * generator.normal(size=len(labels))
        for _ in range(10)
    ]
    study = study_arms({("plain", s): rounds(labels, values) for s, values in enumerate(errors)})
    curve = study.curves["plain", "error"]
    assert (curve.labels[0], curve.labels[-1]) == (100, 1000)
    at = [np.interp(curve.labels, labels, values) for values in errors]
    np.testing.assert_allclose(curve.mean, np.mean(at, axis=0))
    t = stats.ttest_1samp(at, 0).confidence_interval(0.95)
    np.testing.assert_allclose((curve.low, curve.high), (t.low, t.high))
    assert len(curve.shuffles) == 10 and len(study.table) == 190
    assert mean_interval([2.0]) == (2.0, -np.inf, np.inf) and np.isnan(mean_interval([])).all()
