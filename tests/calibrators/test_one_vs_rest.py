"""How binary maps are carried to many classes, seen through a map that only counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import calib
from calib.calibrators.one_vs_rest import OneVsRest, filled_in_proportion
from calib.errors import CalibrationError
from calib.numerics import argmax_with_ties, one_vs_rest_log_odds, softmax
from tests.conftest import simulate


@dataclass(frozen=True, eq=False)
class Given:
    """What a map was fitted to; it says the share of positives everywhere."""

    log_odds: np.ndarray
    positives: np.ndarray
    weights: np.ndarray | None
    share: float

    def apply(self, log_odds):
        return np.full(log_odds.shape, self.share)


@dataclass(eq=False, repr=False, kw_only=True)
class Recording(OneVsRest):
    """Keeps what it was given."""

    map_type = Given

    def _fit_map(self, log_odds, positives, weights):
        return Given(log_odds, positives, weights, float(np.average(positives, weights=weights)))


@dataclass(frozen=True, eq=False)
class Jump:
    """One above a log-odds, else zero."""

    at: float

    def apply(self, log_odds):
        return (log_odds > self.at).astype(float)


@dataclass(eq=False, repr=False, kw_only=True)
class Step(OneVsRest):
    """One above a log-odds of zero, else zero; it cannot weigh rows."""

    map_type = Jump
    weighted = False

    def _fit_map(self, log_odds, positives, weights):
        return Jump(0.0)


def data(n_classes: int = 3, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    return simulate(n, n_classes, scale=1.0, seed=3)


def test_shared_maps_see_all_pairs_of_all_classes_with_the_weights_of_their_rows():
    (logits, labels), weights = data(), np.linspace(1, 2, 60)
    (found,) = Recording().fit(logits, labels, weights=weights).maps_
    odds = one_vs_rest_log_odds(logits)
    expected = sorted((odds[n, k], labels[n] == k, weights[n]) for n in range(60) for k in range(3))
    assert sorted(zip(found.log_odds, found.positives, found.weights, strict=True)) == expected
    assert Recording().fit(logits, labels).maps_[0].weights is None


def test_class_wise_maps_see_their_class_against_the_rest():
    (logits, labels), weights = data(), np.linspace(1, 2, 60)
    calibrator = Recording(share_classes=False).fit(logits, labels, weights=weights)
    odds = one_vs_rest_log_odds(logits)
    assert len(calibrator.maps_) == 3
    for k, found in enumerate(calibrator.maps_):
        np.testing.assert_array_equal(found.log_odds, odds[:, k])
        np.testing.assert_array_equal(found.positives, labels == k)
        np.testing.assert_array_equal(found.weights, weights)
    frequency = np.bincount(labels, weights) / weights.sum()
    np.testing.assert_allclose(calibrator.predict_proba(logits), np.tile(frequency, (60, 1)))


@pytest.mark.parametrize("share_classes", [True, False])
def test_two_classes_have_one_map_and_its_complement(share_classes):
    logits, labels = data(2)
    calibrator = Recording(share_classes=share_classes).fit(logits, labels)
    (found,) = calibrator.maps_
    np.testing.assert_array_equal(found.log_odds, logits[:, 1] - logits[:, 0])
    np.testing.assert_array_equal(found.positives, labels == 1)
    share = (labels == 1).mean()
    np.testing.assert_allclose(
        calibrator.predict_proba(logits), np.tile([1 - share, share], (60, 1))
    )


@pytest.mark.parametrize("normalize", [True, False])
def test_rows_that_sum_to_zero_keep_the_raw_probabilities(normalize):
    logits, labels = data()
    logits[:4] = [0.1, 0.2, 0.3]  # no class has more than half
    calibrator = Step(normalize=normalize).fit(logits, labels)
    empty = (one_vs_rest_log_odds(logits) <= 0).all(axis=1)
    assert empty.sum() >= 4
    probs = calibrator.predict_proba(logits)
    np.testing.assert_allclose(probs[empty], softmax(logits)[empty])
    assert set(np.unique(probs[~empty])) == {0.0, 1.0}


def test_a_class_absent_from_class_wise_maps_keeps_what_temperature_gives_it():
    logits, labels = data()
    kept = labels != 1
    calibrator = Recording(share_classes=False, normalize=False).fit(logits[kept], labels[kept])
    probs = calibrator.predict_proba(logits)
    temperature = calib.calibrator("temperature").fit(logits[kept], labels[kept])
    np.testing.assert_allclose(probs[:, 1], temperature.predict_proba(logits)[:, 1])
    assert calibrator.unmapped_classes_ == 1
    assert "1 of 3 classes" in calibrator.notes()[0]
    assert f"T = {temperature.temperature_:.3g}" in calibrator.notes()[0]
    assert [calibrator.has_class_map(k) for k in range(3)] == [True, False, True]
    assert Recording().fit(logits[kept], labels[kept]).notes() == []


# -- the predicted class alone -------------------------------------------------------------------------


def in_proportion(probs: np.ndarray, confidence: float) -> np.ndarray:
    """One row: the largest entry replaced, the others scaled, and what rises above it taken down again and again."""
    filled, top = np.zeros(len(probs)), int(probs.argmax())
    filled[top] = confidence
    free = [k for k in range(len(probs)) if k != top]
    while free:
        left = 1 - filled.sum()
        shares = {k: left * probs[k] / sum(probs[j] for j in free) for k in free}
        above = [k for k in free if shares[k] > confidence + 1e-12]
        for k in above or free:
            filled[k] = confidence if above else shares[k]
        free = [k for k in above and free if k not in above]
    return filled


@pytest.mark.parametrize("confidence", [0.0, 0.25, 0.3, 0.45, 0.8, 1.0])
def test_the_other_classes_share_the_rest_in_proportion_below_the_predicted_one(confidence):
    logits, _ = data(4, 200)
    probs = filled_in_proportion(logits, np.full(200, confidence))
    expected = [in_proportion(row, max(confidence, 0.25)) for row in softmax(logits)]
    np.testing.assert_allclose(probs, expected, atol=1e-12)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(argmax_with_ties(probs, logits), logits.argmax(axis=1))


def test_the_sure_and_the_tied_keep_their_shares():
    logits = np.array(
        [[2000.0, 1.0, 0.0], [3.0, 3.0, 1.0]]
    )  # the first row's confidence is exactly 1
    probs = filled_in_proportion(logits, np.array([0.7, 0.6]))
    others = np.array([np.e, 1]) / (np.e + 1)
    np.testing.assert_allclose(probs[0], [0.7, *(0.3 * others)])
    assert probs[1, 0] == probs[1, 1]  # equal logits get equal probabilities
    share = np.exp(2) / (np.exp(2) + 1)
    np.testing.assert_allclose(probs[1], [(0.6 + 0.4 * share) / 2] * 2 + [0.4 * (1 - share)])


def test_the_map_of_the_top_class_learns_from_its_confidence_and_whether_it_is_right():
    logits, labels = data()
    calibrator = Recording(classes="top").fit(logits, labels)
    (found,) = calibrator.maps_
    np.testing.assert_allclose(found.log_odds, one_vs_rest_log_odds(logits).max(axis=1))
    np.testing.assert_array_equal(found.positives, logits.argmax(axis=1) == labels)
    right = (logits.argmax(axis=1) == labels).mean()
    np.testing.assert_allclose(calibrator.predict_confidence(logits), right)
    assert calibrator.variant(3) == "top class"
    assert not calibrator.has_class_map(0)


@pytest.mark.parametrize("name", ["platt", "isotonic", "histogram", "venn_abers"])
def test_a_method_on_the_top_class_of_two_is_its_map_of_the_confidence(name):
    """Of two classes the confidence is a binary score as any other, and never is below one half."""
    logits, labels = data(2, 300)
    probs = calib.calibrator(name, classes="top").fit(logits, labels).predict_proba(logits)
    score = np.stack([np.zeros(300), np.abs(logits[:, 1] - logits[:, 0])], axis=1)
    right = (logits.argmax(axis=1) == labels).astype(int)
    as_binary = calib.calibrator(name).fit(score, right).predict_proba(score)[:, 1]
    np.testing.assert_allclose(probs.max(axis=1), np.maximum(as_binary, 0.5))


# -- weights -------------------------------------------------------------------------------------------


def test_methods_whose_maps_cannot_weigh_rows_name_those_that_can():
    logits, labels = data()
    assert "weights" not in Step.takes
    with pytest.raises(CalibrationError, match=r"takes no weights; .*platt"):
        Step().fit(logits, labels, weights=np.arange(60.0))


# -- what is stored ------------------------------------------------------------------------------------


def test_what_no_fit_can_have_learned_is_refused():
    fitted, knots = calib.calibrator("isotonic").fit(*data()), np.array([0.0, 1.0])
    for maps in (
        None,
        ["map"],
        [{"knots": knots}],
        [{"knots": knots, "values": knots, "more": 1.0}],
    ):
        with pytest.raises(CalibrationError, match="cannot be used"):
            calib.calibrator("isotonic").set_state({**fitted.get_state(), "maps_": maps})


def test_each_of_very_many_maps_gets_many_rows_at_once(monkeypatch):
    """A map works number by number, so that predictions of rows in any blocks are the same."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2000, 300))
    fitted = calib.calibrator("platt", share_classes=False).fit(logits, np.arange(2000) % 300)
    one_by_one = np.concatenate([fitted.predict_proba(logits[[row]]) for row in range(20)])
    sizes = []
    plain = type(fitted.maps_[0]).apply
    monkeypatch.setattr(
        type(fitted.maps_[0]), "apply", lambda own, of: sizes.append(of.size) or plain(own, of)
    )
    np.testing.assert_allclose(fitted.predict_proba(logits)[:20], one_by_one, rtol=1e-12)
    assert sizes == [2000] * 300
