"""The automatic mean: its weights against brute force and naive sums, its folds, and what it promises and exports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib
from calib.base import NEEDS_CLASSES, POSITIVE, ROWS_SUM_TO_ONE
from calib.calibrators import auto
from calib.calibrators._folds import deal, row_units
from calib.calibrators.auto import (
    ALONE,
    N_DRAWS,
    PSEUDO_BMA,
    SMALLEST_WEIGHT,
    STACKING,
    candidates,
    pseudo_bma_weights,
    stacking_weights,
)
from calib.errors import CalibrationError
from calib.records import flatten, unflatten
from calib.registry import METHODS
from tests.conftest import simulate

CHEAP = ["temperature", "beta", "platt"]


@pytest.fixture
def cheap(monkeypatch):
    """Three quick members in place of all."""
    monkeypatch.setattr(auto, "candidates", lambda *_: CHEAP)


def likelihoods(n=60, m=4, seed=0, spread=1.0):
    return -np.random.default_rng(seed).gamma(1.0, spread, size=(n, m))


# -- the weights -------------------------------------------------------------------------------------------


@given(
    st.integers(1, 40), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0])
)
def test_stacking_weights_meet_the_conditions_of_the_optimum(n, m, seed, spread):
    values = likelihoods(n, m, seed, spread)
    importance = np.random.default_rng(seed).gamma(1.0, size=n) + 1e-3
    weights = stacking_weights(values, importance)
    assert weights.min() >= 0
    assert abs(weights.sum() - 1) < 1e-12
    # Karush, Kuhn and Tucker: the derivative is 1 for members with a weight, and no larger for the others.
    lifted = np.exp(values - values.max(axis=1, keepdims=True))
    gradient = np.average(lifted / (lifted @ weights)[:, None], axis=0, weights=importance)
    assert gradient.max() < 1 + 1e-6
    np.testing.assert_allclose(gradient[weights > 1e-3], 1, atol=1e-4)


def naive_pseudo_bma(values, random_state):
    """Draw by draw, of sorted rows; a Dirichlet of ones is a vector of exponential variables over its sum."""
    values = np.array(sorted(values.tolist()))
    generator = np.random.default_rng(random_state)
    weights = []
    for _ in range(N_DRAWS):
        share = generator.standard_exponential(len(values))
        share /= share.sum()
        summed = [
            len(values) * sum(a * value for a, value in zip(share, column, strict=True))
            for column in values.T
        ]
        top = max(summed)
        raised = [np.exp(each - top) for each in summed]
        weights.append([each / sum(raised) for each in raised])
    return np.mean(weights, axis=0)


def test_pseudo_bma_weights_against_a_naive_sum():
    values = likelihoods(n=12, m=3, spread=0.3)
    np.testing.assert_allclose(
        pseudo_bma_weights(values, random_state=5), naive_pseudo_bma(values, 5), atol=1e-12
    )


# -- the members -------------------------------------------------------------------------------------------


def test_members_are_declared_and_fit_for_a_mean():
    for method in METHODS.values():
        if method.member:
            made = method.cls()
            assert POSITIVE in made.traits and made.gives_probabilities and not made.needs
            assert all(ROWS_SUM_TO_ONE in made.promises(n_classes) for n_classes in (2, 5))
    assert {"isotonic", "histogram", "imax", "geometric", "identity", "auto"}.isdisjoint(
        candidates(3)
    )
    assert candidates(3)[0] == candidates(2)[0] == "temperature"
    assert {"temperature", "beta", "vector"} <= set(candidates(3))
    assert not any(NEEDS_CLASSES in METHODS[name].cls.traits for name in candidates(2))
    weighted = candidates(3, weighted=True)
    assert {"temperature", "platt", "beta"} <= set(weighted)
    assert all("weights" in METHODS[name].cls.takes for name in weighted)


# -- the fit -----------------------------------------------------------------------------------------------


def outside_predictions(logits, labels, folds, name, **of_rows):
    """Log-probability of each label by the fit to the other folds, with what the method takes."""
    values = np.zeros(len(labels))
    for fold in set(folds):
        given = {
            key: array[folds != fold]
            for key, array in of_rows.items()
            if key in METHODS[name].cls.takes
        }
        fitted = calib.calibrator(name).fit(logits[folds != fold], labels[folds != fold], **given)
        for row in np.flatnonzero(folds == fold):
            values[row] = np.log(fitted.predict_proba(logits[row : row + 1])[0, labels[row]])
    return values


@pytest.mark.parametrize(("stacked_from", "rule"), [(30, STACKING), (31, PSEUDO_BMA)])
def test_the_weights_are_those_of_the_folds(cheap, monkeypatch, stacked_from, rule):
    monkeypatch.setattr(auto, "STACKED_FROM", stacked_from)
    logits, labels = simulate(30, 3)
    fitted = calib.calibrator("auto", random_state=4).fit(logits, labels)
    folds = deal(row_units(30), 4, 3)
    values = np.column_stack([outside_predictions(logits, labels, folds, name) for name in CHEAP])
    expected = (
        stacking_weights(values) if rule == STACKING else pseudo_bma_weights(values, random_state=4)
    )
    expected = np.where(expected < SMALLEST_WEIGHT, 0, expected)
    expected /= expected.sum()
    assert fitted.rule_ == rule
    found = fitted.parts()
    np.testing.assert_allclose([found.get(name, 0.0) for name in CHEAP], expected, atol=1e-6)
    by_name = {member["method"]: member for member in fitted.judged_}
    np.testing.assert_allclose([by_name[name]["nll"] for name in CHEAP], -values.mean(axis=0))
    np.testing.assert_allclose(
        [by_name[name]["error"] for name in CHEAP], values.std(axis=0, ddof=1) / np.sqrt(30)
    )
    # The members are fitted on all rows, and the prediction is their mean.
    probs = sum(
        found.get(name, 0) * calib.calibrator(name).fit(logits, labels).predict_proba(logits)
        for name in CHEAP
    )
    np.testing.assert_allclose(fitted.predict_proba(logits), probs, atol=1e-12)


@pytest.mark.parametrize("stacked_from", [100, 1000])
def test_members_that_are_one_map_count_once(monkeypatch, stacked_from):
    """The uniform distribution and weights by rank change nothing here; each of the three had 28 % of the mean."""
    monkeypatch.setattr(auto, "STACKED_FROM", stacked_from)
    logits, labels = simulate(150, 5, seed=1)
    monkeypatch.setattr(auto, "candidates", lambda *_: ["temperature", "beta"])
    once = calib.calibrator("auto").fit(logits, labels)
    same = ["ensemble_temperature", "order_preserving"]
    monkeypatch.setattr(auto, "candidates", lambda *_: ["temperature", "beta", *same])
    thrice = calib.calibrator("auto").fit(logits, labels)
    assert thrice.parts() == once.parts()
    assert {member["method"] for member in thrice.judged_} == {"temperature", "beta", *same}
    assert thrice.notes()[-1] == (
        "Temperature, Ensemble temperature and Order-preserving give the same probabilities, and count as Temperature "
        "alone."
    )


def test_clusters_stay_whole_and_weights_reach_the_likelihoods(cheap):
    logits, labels = simulate(60, 3)
    clusters = np.repeat(list("abcdefghijkl"), 5)
    weights = np.random.default_rng(0).gamma(1.0, size=60)
    fitted = calib.calibrator("auto").fit(logits, labels, clusters=clusters, weights=weights)
    folds = deal(row_units(60, clusters), 0, 3)
    assert all(len(set(folds[clusters == name])) == 1 for name in clusters)
    values = np.column_stack(
        [
            outside_predictions(logits, labels, folds, name, clusters=clusters, weights=weights)
            for name in CHEAP
        ]
    )
    by_cluster = np.array(
        [(weights[:, None] * values)[clusters == name].sum(axis=0) for name in "abcdefghijkl"]
    )
    expected = pseudo_bma_weights(by_cluster)
    np.testing.assert_allclose(
        [fitted.parts().get(name, 0) for name in CHEAP], expected, atol=0.011
    )
    nll = {member["method"]: member["nll"] for member in fitted.judged_}
    np.testing.assert_allclose(
        [nll[name] for name in CHEAP], -np.average(values, axis=0, weights=weights)
    )
    assert "60 rows in 12 clusters" in fitted.notes()[0]


def test_few_clusters_or_small_weights_count_as_few_rows(cheap, monkeypatch):
    monkeypatch.setattr(auto, "STACKED_FROM", 40)
    logits, labels = simulate(60, 3)
    for extras, rule in [
        ({}, STACKING),
        ({"clusters": np.arange(60) // 2}, PSEUDO_BMA),
        ({"weights": np.full(60, 7.0)}, STACKING),
        ({"weights": np.full(60, 0.6)}, PSEUDO_BMA),
        ({"weights": np.full(60, 0.3)}, ALONE),
        ({"clusters": np.arange(60) // 15}, ALONE),
    ]:
        assert calib.calibrator("auto").fit(logits, labels, **extras).rule_ == rule


def test_a_member_that_fails_is_left_out_and_named(cheap, monkeypatch):
    def fail(self, *arguments, **extras):
        raise CalibrationError("There is not enough of anything.")

    monkeypatch.setattr(METHODS["beta"].cls, "_fit", fail)
    fitted = calib.calibrator("auto").fit(*simulate(60, 3))
    assert set(fitted.parts()) <= {"temperature", "platt"}
    assert fitted.notes()[-1] == "Beta was left out: There is not enough of anything."
    monkeypatch.setattr(auto, "candidates", lambda *_: ["beta"])
    with pytest.raises(CalibrationError, match="No method could be fitted"):
        calib.calibrator("auto").fit(*simulate(60, 3))


@pytest.mark.parametrize(("n", "tried"), [(80, True), (79, False)])
def test_a_matrix_over_many_classes_is_tried_on_enough_rows(monkeypatch, n, tried):
    monkeypatch.setattr(auto, "candidates", lambda *_: ["temperature", "structured_matrix"])
    fitted = calib.calibrator("auto").fit(*simulate(n, 40))
    assert ("structured_matrix" in {member["method"] for member in fitted.judged_}) == tried
    assert (
        any(
            "too many numbers for so few rows: Structured matrix" in note for note in fitted.notes()
        )
        != tried
    )


# -- what is learned ---------------------------------------------------------------------------------------


def test_members_that_no_fit_can_have_are_refused(cheap):
    logits, labels = simulate(60, 4)
    fitted = calib.calibrator("auto").fit(logits, labels)
    state = fitted.get_state()

    def changed(**attributes):
        return calib.calibrator("auto").set_state(unflatten(*flatten(state | attributes)))

    vector = calib.calibrator("vector").fit(logits, labels)
    member = {"method": "vector", "params": vector.get_params(), "state": vector.get_state()}
    assert changed(members_=[member], weights_=np.ones(1)).parts() == {"vector": 1.0}
    other = calib.calibrator("temperature").fit(*simulate(60, 3))
    for wrong in [
        {"members_": [member]},
        {"members_": [], "weights_": np.ones(0)},
        {"members_": [member | {"method": "nonsense"}], "weights_": np.ones(1)},
        {"members_": [member | {"state": {}}], "weights_": np.ones(1)},
        {"members_": [member | {"method": "temperature", "params": {}, "state": other.get_state()}],
         "weights_": np.ones(1)},
    ]:  # fmt: skip
        with pytest.raises(CalibrationError):
            changed(**wrong)
