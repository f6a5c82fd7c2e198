"""A judge's rate, corrected by labels of some rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib.errors import CalibrationError
from calib.metrics import corrected_rate, judge_agreement, rate_behind_errors
from calib.metrics.estimate import Estimate


def judged(n: int = 200, others: int = 1500, seed: int = 0):
    """Truth, verdicts and scores of a judge who passes 80 % of what is right and 25 % of what is wrong."""
    generator = np.random.default_rng(seed)
    total = n + others
    truth = (generator.random(total) < 0.35).astype(float)
    right, wrong = generator.random(total) < 0.8, generator.random(total) < 0.25
    verdict = np.where(truth == 1, right, wrong).astype(float)
    score = np.clip(verdict * 0.6 + 0.2 + 0.2 * generator.normal(size=total), 0, 1)
    labels = np.where(np.arange(total) < n, truth, np.nan)
    return truth, verdict, score, labels


# ppi_mean_pointestimate and ppi_mean_ci(alpha=0.05) of ppi_python 0.2.1 on `judged()`.
PPI = {
    "verdict": (0.31691842, 0.2607936077515331, 0.3730432332520954),
    "score": (0.31141841, 0.2531709472084717, 0.36966587629266084),
}


@pytest.mark.parametrize("of", PPI)
def test_rate_and_interval_are_those_of_ppi(of):
    _, verdict, score, labels = judged()
    value, low, high = PPI[of]
    interval = corrected_rate(verdict if of == "verdict" else score, labels).interval()
    assert interval.value == pytest.approx(value, abs=1e-7)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-4)


def test_with_all_labels_it_is_their_mean():
    truth, verdict, *_ = judged()
    rate = corrected_rate(verdict, truth)
    assert rate.value == pytest.approx(truth.mean())
    assert rate.error == pytest.approx(truth.std(ddof=1) / np.sqrt(len(truth)))
    assert rate.labels_for() is None


def test_a_judge_who_knows_nothing_is_not_followed():
    *_, labels = judged()
    rate = corrected_rate(np.random.default_rng(1).random(len(labels)), labels)
    assert rate.power < 0.2
    assert rate.error == pytest.approx(rate.by_people.error, rel=0.02)
    assert rate.labels_for() == pytest.approx(4 * 200, rel=0.1)  # the error falls by the root


@pytest.mark.parametrize("missing", [None, "", float("nan"), pd.NA])
def test_labels_of_any_writing_are_taken(missing):
    _, verdict, _, labels = judged(30, 50)
    written = [missing if np.isnan(label) else str(int(label)) for label in labels]
    assert corrected_rate(verdict, written).value == corrected_rate(verdict, labels).value


def test_rows_twice_in_clusters_tell_as_much_as_once():
    _, verdict, _, labels = judged()
    once = corrected_rate(verdict, labels)
    rows = np.repeat(np.arange(len(labels)), 2)
    twice = corrected_rate(verdict[rows], labels[rows], clusters=rows)
    assert twice.value == pytest.approx(once.value, abs=1e-4)
    assert twice.error == pytest.approx(once.error, rel=1e-3)


def test_the_difference_of_two_judges_of_the_same_rows_is_paired():
    _, verdict, score, labels = judged()
    one, other = corrected_rate(verdict, labels), corrected_rate(score, labels)
    difference = one - other
    assert difference.value == pytest.approx(one.value - other.value)
    assert difference.error < 0.5 * np.hypot(one.error, other.error)


def test_where_people_labelled_what_the_judge_doubted_strata_correct():
    errors, of_people = [], []
    for seed in range(30):
        truth, verdict, *_ = judged(0, 3000, seed)
        chosen = np.random.default_rng(seed + 1000).random(3000) < np.where(verdict == 1, 0.05, 0.3)
        rate = corrected_rate(verdict, np.where(chosen, truth, np.nan))
        assert rate.n_strata == 2 and "no random part" in str(rate)
        errors.append((rate.value - truth.mean()) / rate.error)
        of_people.append(rate.by_people.value - truth.mean())
    assert abs(np.mean(errors)) < 0.6 and 0.6 < np.std(errors) < 1.4
    assert np.mean(of_people) < -0.1


def test_a_stratum_that_nobody_judged_is_refused():
    truth, verdict, *_ = judged(0, 400)
    with pytest.raises(CalibrationError, match="score of 1 to 1 have fewer than 2 labels"):
        corrected_rate(verdict, np.where(verdict == 0, truth, np.nan))


def test_a_calibrated_judge_is_at_least_as_precise():
    *_, score, labels = judged(400, 3000)
    shifted = score**4  # the score means something, and is no probability
    plain, mapped = (corrected_rate(shifted, labels, calibrate=each) for each in (False, True))
    assert mapped.error < 1.02 * plain.error
    assert mapped.value == pytest.approx(plain.value, abs=2 * plain.error)


@pytest.mark.long
@pytest.mark.parametrize("calibrate", [False, True])
def test_intervals_hold_the_truth(calibrate):
    """Draws of all rows from a population whose rate is .35; 400 of them, so that 95 % is within 2.2 points."""
    held, narrower = [], []
    for seed in range(400):
        _, _, score, labels = judged(150, 1000, seed)
        rate = corrected_rate(score, labels, calibrate=calibrate)
        interval = rate.interval()
        held.append(interval.low <= 0.35 <= interval.high)
        narrower.append(float(rate.error / rate.by_people.error))
    assert 0.925 < np.mean(held) < 0.975
    assert np.mean(narrower) < 0.97


def test_agreement_is_that_of_scikit_learn_with_the_errors_of_the_jackknife():
    from sklearn.metrics import cohen_kappa_score, recall_score

    _, verdict, _, labels = judged(300, 50)
    found = judge_agreement(verdict, labels)
    y, f = labels[:300], verdict[:300]
    expected = {
        "sensitivity": lambda y, f: recall_score(y, f),
        "specificity": lambda y, f: recall_score(1 - y, 1 - f),
        "kappa": cohen_kappa_score,
    }
    for name, score in expected.items():
        assert found[name].value == pytest.approx(score(y, f))
        left_out = [score(np.delete(y, row), np.delete(f, row)) for row in range(300)]
        jackknife = np.sqrt(299 * np.var(left_out))
        assert found[name].error == pytest.approx(jackknife, rel=0.02)


def test_the_rate_behind_known_errors_is_the_one_that_gave_the_judges_rate():
    _, verdict, _, labels = judged(300, 5000)
    known = judge_agreement(verdict, labels)
    rate = corrected_rate(verdict, labels).by_judge
    behind = rate_behind_errors(rate, known["sensitivity"], known["specificity"])
    passed = behind.value * known["sensitivity"].value
    passed += (1 - behind.value) * (1 - known["specificity"].value)
    assert passed == pytest.approx(rate.value)
    # Its error by differences, each of the three changed by a little.
    three = [rate, known["sensitivity"], known["specificity"]]
    slopes = []
    for place in range(3):
        moved = [
            Estimate(each.value + 1e-6 * (place == k), each.influence)
            for k, each in enumerate(three)
        ]
        slopes.append((rate_behind_errors(*moved).value - behind.value) / 1e-6)
    alone = (slopes[0] * rate.error) ** 2
    elsewhere = slopes[1] * three[1].influence + slopes[2] * three[2].influence
    assert behind.error == pytest.approx(np.sqrt(alone + (elsewhere**2).sum()), rel=1e-4)
    with pytest.raises(CalibrationError, match="no better than chance"):
        rate_behind_errors(rate, Estimate(0.5, np.zeros(1)), Estimate(0.4, np.zeros(1)))


@pytest.mark.parametrize(
    ("judge", "labels", "message"),
    [
        ([0.5] * 30, [1] * 10 + [None] * 20, "10 rows of 30 have a label"),
        ([2.0] * 30, [1] * 30, "probability a row"),
        ([0.5] * 30, [3] * 30, "row 0 has 3"),
        ([0.5] * 30, [1] * 29, "shape"),
    ],
)
def test_what_cannot_be_corrected_is_refused(judge, labels, message):
    with pytest.raises(CalibrationError, match=message):
        corrected_rate(judge, labels)
