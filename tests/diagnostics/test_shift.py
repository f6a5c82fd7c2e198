"""Changes between two independent sets of rows: formulas, coverage, and words that claim no more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib.diagnostics.shift import (
    CLAIMS,
    JOINT,
    SHOWN,
    CalibrationShift,
    calibration_shift,
    combined,
    off,
    recorded_scores,
    verdict,
)
from calib.evaluation import Evaluation, score_intervals
from calib.evaluation.evaluation import evaluate
from calib.evaluation.view import EVENT, PAIRS, TOP_LABEL, View
from calib.formatting import percent
from calib.metrics.bootstrap import Interval, wilson_interval


def rows(n: int, seed: int, excess: float = 0.0, binary: bool = True) -> Evaluation:
    """Confidences that exceed the accuracy by ``excess``, with the scores of a binary model."""
    generator = np.random.default_rng(seed)
    right = generator.uniform(0.5 if binary else 0.3, 0.95 - excess, n)
    confidence = right + excess
    correct = generator.random(n) < right
    of_label = np.where(correct, confidence, 1 - confidence)
    labels = (~correct).astype(int)
    return Evaluation(
        confidence, correct, np.zeros(n, int), labels, 2, -np.log(of_label), 2 * (1 - of_label) ** 2
    )  # fmt: skip


def test_scores_now_are_those_of_every_other_page() -> None:
    now = rows(500, 0)
    found = calibration_shift(now)
    assert set(found.scores) == set(SHOWN)
    here = score_intervals(now)
    for key, score in found.scores.items():
        assert score.now == pytest.approx(here[key])
        assert score.before is None
        assert score.change is None
        assert found.joint[key].now.low <= score.now.low
        assert score.now.high <= found.joint[key].now.high
    assert found.gain is None


def test_changes_are_differences_with_wider_joint_intervals() -> None:
    before, now = rows(700, 1), rows(500, 2, excess=0.05)
    found = calibration_shift(now, before=before)
    assert (found.n, found.n_before) == (500, 700)
    for key, score in found.scores.items():
        assert score.change.value == pytest.approx(score.now.value - score.before.value)
        assert score.change.low <= score.change.value <= score.change.high
        assert found.joint[key].change.low <= score.change.low
        assert score.change.high <= found.joint[key].change.high
    assert np.isclose(JOINT, 1 - 0.05 / CLAIMS)


def test_a_difference_of_proportions_is_newcombes() -> None:
    """Newcombe (1998), table II, method 10, case (a): 56/70 - 48/80 has the interval 0.0524 to 0.3339."""
    one, two = (
        Interval(k / n, *map(float, wilson_interval(k, n))) for k, n in ((56, 70), (48, 80))
    )
    found = combined(one, two)
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.0524, abs=1e-4)
    assert found.high == pytest.approx(0.3339, abs=1e-4)


def test_recorded_scores_stand_for_the_rows_that_are_gone() -> None:
    before, now = rows(2000, 3), rows(1500, 4, excess=0.03)
    intervals = score_intervals(before)
    metadata = {
        "scores": {key: {"before": [0, 0, 0], "after": list(intervals[key])} for key in SHOWN},
        "n_test": 2000,
    }
    recorded, n = recorded_scores(metadata)
    assert n == 2000
    whole, known = (
        calibration_shift(now, before=before),
        calibration_shift(now, before=recorded, n_before=n),
    )
    for key in ("NLL", "Brier", "accuracy", "signed gap"):
        width = whole.scores[key].change.high - whole.scores[key].change.low
        assert known.scores[key].change == pytest.approx(whole.scores[key].change, abs=0.15 * width)
        assert known.joint[key].change == pytest.approx(whole.joint[key].change, abs=0.25 * width)


def test_metadata_of_anybody() -> None:
    for metadata in (
        {},
        {"scores": [1, 2]},
        {"scores": {"NLL": {"after": ["1", "0", "2"]}}},
        {"scores": {"NLL": {"after": [10**400, 0, 10**401]}}},
        {"scores": {"NLL": {"after": [True, False, True]}}, "n_test": -3},
        {"scores": {"odd": {"after": [1.0, 0.0, 2.0]}}, "n_test": "9"},
    ):
        assert recorded_scores(metadata) == ({}, None), metadata


@pytest.mark.long
def test_intervals_of_a_change_hold_the_truth() -> None:
    """Two samples of one population: a change of 0 lies in about 95 of 100 intervals, and nothing is claimed."""
    held = dict.fromkeys(SHOWN, 0)
    claims = 0
    runs = 40
    for run in range(runs):
        found = calibration_shift(rows(400, 2 * run), before=rows(600, 2 * run + 1))
        for key, score in found.scores.items():
            held[key] += score.change.low <= 0 <= score.change.high
        said = " ".join(verdict(found, "Temperature"))
        claims += (
            "No significant miscalibration" not in said
            or "No significant change since" not in said
            or "has changed" in said
        )
    assert all(count >= 0.85 * runs for count in held.values()), held
    assert claims <= 0.1 * runs


def test_words_when_it_has_become_overconfident() -> None:
    now = rows(3000, 7, excess=0.15)
    found = calibration_shift(now, now, rows(3000, 8))
    useless, first, changed, gain = verdict(found, "Temperature")
    assert useless.startswith("**Do not use it here**")  # one class is always predicted
    assert first.startswith("Temperature is **overconfident by 1")
    assert "confidence minus accuracy rose" in changed
    assert "NLL rose" in changed
    assert gain == "On the new data its NLL does not differ significantly from the raw model's."
    assert off(found)


@pytest.mark.parametrize(
    ("view", "value", "claim"),
    [
        (EVENT, 0.03, "Platt **overestimates the risk by 3.0 points**"),
        (EVENT, -0.03, "Platt **underestimates the risk by 3.0 points**"),
        (TOP_LABEL, 0.03, "Platt is **overconfident by 3.0 points**"),
        (PAIRS, -0.03, "Platt is **underconfident by 3.0 points**"),
    ],
)
def test_a_gap_is_described_with_its_sign_in_words(view: View, value: float, claim: str) -> None:
    gap = Interval(value, value - 0.02, value + 0.02)
    assert view.wording.describe_gap("Platt", gap) == f"{claim} on the new data (1.0 to 5.0)"


def test_right_on_average_but_nowhere_else_is_off() -> None:
    confidence = np.repeat([0.6, 0.9], 3000)
    correct = np.random.default_rng(0).random(6000) < 0.75
    of_label = np.where(correct, confidence, 1 - confidence)
    now = Evaluation(
        confidence,
        correct,
        np.zeros(6000, int),
        (~correct).astype(int),
        2,
        -np.log(of_label),
        of_label,
    )
    found = calibration_shift(now)
    assert off(found)
    said = " ".join(verdict(found, "Temperature"))
    assert "miscalibrated on the new data" in said
    assert "though not on average" in said


def test_words_for_the_raw_model_when_the_calibrator_does_harm() -> None:
    now, raw = rows(3000, 11, excess=0.2), rows(3000, 11, excess=0.2)
    better = Evaluation(
        raw.confidence - 0.2, raw.correct, raw.predicted, raw.labels, 2,
        -np.log(np.where(raw.correct, raw.confidence - 0.2, 1.2 - raw.confidence)), raw.row_brier,
    )  # fmt: skip
    assert "raw model is now significantly better" in " ".join(
        verdict(calibration_shift(now, better), "Temperature")
    )
    lower = " ".join(verdict(calibration_shift(better, now), "Temperature"))
    assert "Its NLL is below the raw model's" in lower and "still helps" not in lower


def test_a_calibrator_is_of_use_where_it_beats_class_frequencies() -> None:
    """A sharp model still helps; one whose probabilities are all the same does not, however calibrated it is."""
    generator = np.random.default_rng(3)
    risk = generator.uniform(0.02, 0.98, 2000)
    happened = (generator.random(2000) < risk).astype(int)
    logit = np.log(risk / (1 - risk))
    calibrated, extreme = (
        evaluate(np.stack([1 - p, p], axis=1), happened).seen(EVENT)
        for p in (risk, 1 / (1 + np.exp(-3 * logit)))
    )
    found = calibration_shift(calibrated, extreme)
    rate = happened.mean()
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    model = -np.log(np.where(happened, risk, 1 - risk)).mean()
    assert found.frequencies == pytest.approx(entropy, abs=2e-3)
    assert found.skill is not None and found.skill.value == pytest.approx(entropy - model, abs=2e-3)
    assert "It still helps" in " ".join(verdict(found, "Platt"))
    flat = np.full(2000, rate) + generator.normal(0, 0.01, 2000)
    useless = evaluate(np.stack([1 - flat, flat], axis=1), happened).seen(EVENT)
    sentences = verdict(calibration_shift(useless, extreme), "Platt")
    assert sentences[0].startswith(
        "**Do not use it here**: on the new data it is no better than giving every row"
    )
    assert "still helps" not in " ".join(sentences)


@pytest.mark.parametrize("n", [2, 9])
def test_a_few_rows_are_no_ground_for_any_claim(n: int) -> None:
    found: CalibrationShift = calibration_shift(rows(n, 14, excess=0.3), before=rows(500, 15))
    assert verdict(found, "Temperature") == [
        f"Whether Temperature is still calibrated cannot be said: {n} rows cannot tell, give at least 10."
    ]
    assert not off(found)


def event_rows(n: int, seed: int, factor: float) -> Evaluation:
    """Risks of an event that happens ``factor`` times as often as they say, in the event view."""
    generator = np.random.default_rng(seed)
    risk = generator.uniform(0.02, 0.3, n)
    labels = (generator.random(n) < factor * risk).astype(int)
    probs = np.stack([1 - risk, risk], axis=1)
    return evaluate(probs, labels).seen(replace(EVENT, event_name="default"))


def test_of_an_event_the_means_are_those_of_its_probability() -> None:
    now = event_rows(2000, 0, 1.8)
    found = calibration_shift(now, before=event_rows(2000, 1, 1.0))
    said, happened = now.pair
    assert (found.predicted, found.observed) == pytest.approx((said.mean(), happened.mean()))
    first = verdict(found, "Platt")[1]
    assert "underestimates the risk" in first
    assert percent(happened.mean()) in first
    assert "confiden" not in " ".join(verdict(found, "Platt"))
