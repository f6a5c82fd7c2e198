"""Curves over runs, what a method saved against the baseline, and the sentences about it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from calib.active_learning import Round, compare_arms, learning_curve, rounds_table, verdicts
from calib.active_learning.results import AT_EQUAL, MOST_ROUNDS, mean_interval


def rounds(labels, errors, n_calibration=0) -> list[Round]:
    return [
        Round(n, n_calibration, "training", 0, e, e / 2, 0.5, 0.1, 1.0) for n, e in zip(labels, errors, strict=True)
    ]


def runs(arms: dict[str, tuple[float, float]], n_shuffles: int = 8, seed: int = 0) -> pd.DataFrame:
    """Straight-line runs to about so many labels and such an error, each shuffle a little different."""
    generator = np.random.default_rng(seed)
    found = {}
    for shuffle in range(n_shuffles):
        for arm, (labels, error) in arms.items():
            end = int(labels + generator.normal() * 10)
            found[arm, shuffle] = rounds([100, (100 + end) // 2, end], [0.3, 0.2, error + generator.normal() * 1e-3])
    return rounds_table(found)


def test_the_table_holds_every_round():
    table = runs({"plain": (500, 0.1), "set_points": (400, 0.1)}, 3)
    assert len(table) == 18
    assert list(table["round"].unique()) == [0, 1, 2]
    assert rounds_table({}).empty


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


def test_at_equal_labels_is_between_rounds():
    table = rounds_table(
        {("plain", 0): rounds([100, 300], [0.4, 0.2]), ("set_points", 0): rounds([100, 200], [0.4, 0.25])}
    )
    equal = compare_arms(table).set_index(["arm", "quantity"]).xs(AT_EQUAL, level="quantity")["value"]
    assert dict(equal) == pytest.approx({"plain": 0.3, "set_points": 0.25})


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


def test_intervals_cover_the_mean():
    generator = np.random.default_rng(0)
    inside = sum(low <= 0 <= high for _, low, high in (mean_interval(generator.normal(size=5)) for _ in range(2000)))
    assert abs(inside / 2000 - 0.95) < 0.015
    assert mean_interval([2.0]) == (2.0, -np.inf, np.inf)
    assert np.isnan(mean_interval([])).all()


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        ((400, 0.1), "It saved labels"),
        ((400, 0.12), "at a price in error: with equally many labels its error is"),
        ((500, 0.08), "It lowered the error"),
        ((500, 0.12), "It did not help here"),
        ((600, 0.1), "It did not help here"),
        ((600, 0.12), "It did not help here"),
        ((600, 0.08), "More labels for less error"),
        ((500, 0.1), "no significant difference"),
    ],
)
def test_each_outcome_in_words(arm, said):
    sentences = verdicts(compare_arms(runs({"plain": (500, 0.1), "set_points": arm})))
    assert len(sentences) == 1
    assert sentences[0].startswith("**Calibrated at set points** asked for ")
    assert said in sentences[0]


def test_numbers_in_words():
    same = dict.fromkeys(range(3), 500)
    table = rounds_table(
        {("plain", s): rounds([100, n], [0.3, 0.1]) for s, n in same.items()}
        | {("set_points", s): rounds([100, n - 98 - s], [0.3, 0.1]) for s, n in same.items()}
    )
    text = verdicts(compare_arms(table))[0]
    assert "99 labels fewer (-19.8% of 500, 95\u00a0% interval -101 to -97)" in text


def test_one_shuffle_shows_no_spread():
    assert "One shuffle" in verdicts(compare_arms(runs({"plain": (500, 0.1), "random": (600, 0.1)}, 1)))[0]


def test_a_curve_finds_the_mean_of_noisy_shuffles():
    generator = np.random.default_rng(0)
    labels = np.arange(100, 1001, 50)

    def truth(n):
        return 0.1 + 0.3 * np.exp(-n / 300)

    found = {
        ("plain", s): rounds(
            labels, truth(labels) + generator.normal() * 0.005 + 0.01 * generator.normal(size=len(labels))
        )
        for s in range(10)
    }
    curve = learning_curve(rounds_table(found), "plain", "error")
    assert (curve.labels[0], curve.labels[-1]) == (100, 1000)
    assert np.abs(curve.mean - truth(curve.labels)).max() < 0.012
    covered = (curve.low <= truth(curve.labels)) & (truth(curve.labels) <= curve.high)
    assert covered.mean() > 0.75
    assert len(curve.shuffles) == 10


def test_shuffles_that_lie_apart_are_no_noise_to_be_smoothed_away():
    labels = np.arange(40, 241, 40)
    falling = 0.05 + 0.4 * np.exp(-labels / 60)
    found = {("plain", s): rounds(labels, falling + apart) for s, apart in enumerate((-0.04, 0.0, 0.04))}
    curve = learning_curve(rounds_table(found), "plain", "error")
    assert curve.mean[[0, -1]] == pytest.approx(falling[[0, -1]], abs=0.004)


def test_a_curve_ends_at_the_average_number_of_labels_and_keeps_last_values():
    flat = rounds_table(
        {("plain", 0): rounds([100, 200], [0.4, 0.2]), ("plain", 1): rounds([100, 200, 400], [0.4, 0.2, 0.2])}
    )
    curve = learning_curve(flat, "plain", "error")
    assert curve.labels[-1] == 300
    assert curve.mean[-1] == pytest.approx(0.2, abs=0.05)


def test_curves_of_little():
    one = learning_curve(rounds_table({("plain", 0): rounds([100], [0.4])}), "plain", "error")
    assert (list(one.labels), list(one.mean)) == ([100.0], [0.4]) and np.isnan(one.low).all()
    level = learning_curve(
        rounds_table({("plain", s): rounds([100, 200], [0.4, 0.4]) for s in range(2)}), "plain", "error"
    )
    np.testing.assert_array_equal(level.mean, 0.4)
    nowhere = rounds_table({("plain", 0): rounds([100], [0.4])}).assign(over=np.nan)
    assert learning_curve(nowhere, "plain", "over").shuffles == ()


def test_a_curve_through_thousands_of_rounds_is_that_through_some_of_them():
    labels = np.arange(1, 4001)
    curve = learning_curve(
        rounds_table({("plain", 0): rounds(labels, 0.1 + 0.3 * np.exp(-labels / 800))}), "plain", "error"
    )
    ((own, values),) = curve.shuffles
    assert len(own) == MOST_ROUNDS and (own[0], own[-1]) == (1, 4000)
    np.testing.assert_allclose(values, 0.1 + 0.3 * np.exp(-own / 800))
    np.testing.assert_allclose(curve.mean, 0.1 + 0.3 * np.exp(-curve.labels / 800), atol=0.005)


def test_an_arm_that_changed_nothing_has_the_same_error():
    same = rounds([100, 200], [0.3, 0.1])
    table = rounds_table({(arm, shuffle): same for arm in ("plain", "set_points") for shuffle in range(3)})
    (text,) = verdicts(compare_arms(table))
    assert "final error of 10.00% is that of Without calibration in every shuffle" in text
    assert "+0.00" not in text


def test_a_single_arm_is_compared_with_nothing_however_few_its_shuffles():
    assert verdicts(compare_arms(runs({"plain": (500, 0.1)}, 1))) == []
