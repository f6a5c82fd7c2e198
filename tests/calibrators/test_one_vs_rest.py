"""How binary maps are carried to many classes, seen through a map that only counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import calib
from calib.calibrators.one_vs_rest import OneVsRest
from calib.errors import CalibrationError
from calib.numerics import one_vs_rest_log_odds, softmax
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
