"""Maps by group: a naive reference, the two limits of the shrinkage, and rows that no map has seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp

import calib
from calib.calibrators.by_group import PROTECTED, depart, fit_departures
from calib.errors import CalibrationError
from calib.metrics import nll


def simulated(n: int, spread: float, seed: int = 0, n_groups: int = 8):
    """Raw probabilities of an event, outcomes, groups of unequal size and their true departures."""
    rng = np.random.default_rng(seed)
    departures = rng.normal(0.0, spread, n_groups)
    share = np.arange(1, n_groups + 1) / np.arange(1, n_groups + 1).sum()
    group = rng.choice(n_groups, size=n, p=share)
    score = rng.normal(-1.0, 1.2, n)
    event = rng.random(n) < expit(-0.3 + 0.7 * score + departures[group])
    return expit(score), event.astype(int), np.array([f"g{k}" for k in range(n_groups)])[group]


def naive_departure(log_probs, labels, weights, spread):
    """Slope and offsets of one group, by a general optimiser of the penalised likelihood."""
    k = log_probs.shape[1]

    def loss(theta):
        scores = log_softmax((1.0 + theta[0]) * log_probs + theta[1:], axis=1)
        fit = -(weights * scores[np.arange(len(labels)), labels]).sum()
        return fit + (theta @ theta) / (2.0 * spread**2)

    return minimize(loss, np.zeros(1 + k), method="BFGS", options={"gtol": 1e-8}).x


@pytest.mark.parametrize("k", [2, 4])
def test_departures_minimise_the_penalised_likelihood(k):
    rng = np.random.default_rng(k)
    logits = rng.normal(size=(300, k))
    labels = np.array([rng.choice(k, p=np.exp(row - logsumexp(row))) for row in logits])
    weights, code = rng.uniform(0.5, 2.0, 300), rng.integers(-1, 3, 300)
    log_probs = log_softmax(1.4 * logits, axis=1)
    maps = fit_departures(log_probs, labels, weights, code, 0.4)
    for group, fitted in enumerate(maps):
        rows = code == group
        expected = naive_departure(log_probs[rows], labels[rows], weights[rows], 0.4)
        np.testing.assert_allclose([fitted.slope - 1.0, *fitted.offsets], expected, atol=1e-5)
    np.testing.assert_array_equal(
        depart(log_probs, code, maps)[code == -1], log_softmax(log_probs[code == -1], axis=1)
    )


def test_without_shrinkage_each_group_has_its_own_logistic_curve_and_with_all_of_it_the_shared_one():
    probs, event, groups = simulated(4000, 0.6)
    code = np.unique(groups, return_inverse=True)[1]
    shared = np.log(calib.calibrator("platt").fit(probs, event).predict_proba(probs))
    alone = depart(shared, code, fit_departures(shared, event, np.ones(4000), code, 1e4))
    none = depart(shared, code, fit_departures(shared, event, np.ones(4000), code, 1e-6))
    np.testing.assert_allclose(none, shared, atol=1e-8)
    for group in range(2, 8):
        rows = code == group
        own = calib.calibrator("platt").fit(probs[rows], event[rows]).predict_proba(probs[rows])
        np.testing.assert_allclose(np.exp(alone[rows]), own, atol=1e-5)


def test_the_strength_is_that_of_the_least_loss_outside_the_fit():
    probs, event, groups = simulated(1000, 0.8, n_groups=3)
    made = calib.calibrator("by_group").fit(probs, event, groups=groups)
    code = np.unique(groups, return_inverse=True)[1]
    fold = np.random.default_rng(0).permutation(1000) % 5
    losses = []
    for spread in (0.0, 0.0625, 0.125, 0.25, 0.5, 1.0):
        total = 0.0
        for k in range(5):
            rest = fold != k
            shared = calib.calibrator("platt").fit(probs[rest], event[rest]).predict_proba(probs)
            log_probs = np.log(shared)
            for group in range(3):
                rows, out = rest & (code == group), ~rest & (code == group)
                theta = np.zeros(3)
                if spread:
                    ones = np.ones(rows.sum())
                    theta = naive_departure(log_probs[rows], event[rows], ones, spread)
                scores = log_softmax((1.0 + theta[0]) * log_probs[out] + theta[1:], axis=1)
                total -= scores[np.arange(out.sum()), event[out]].sum()
        losses.append(total)
    assert made.spread_ == (0.0, 0.0625, 0.125, 0.25, 0.5, 1.0)[int(np.argmin(losses))] > 0


def test_groups_gain_on_other_rows_where_they_depart_and_lose_next_to_nothing_elsewhere():
    for spread in (0.9, 0.0):
        probs, event, groups = simulated(6000, spread, seed=1)
        first, rest = slice(0, 3000), slice(3000, None)
        made = calib.calibrator("by_group").fit(probs[first], event[first], groups=groups[first])
        shared = calib.calibrator("platt").fit(probs[first], event[first])
        gain = nll(shared.predict_proba(probs[rest]), event[rest]) - nll(
            made.predict_proba(probs[rest], groups=groups[rest]), event[rest]
        )
        assert gain > 0.01 if spread else abs(gain) < 0.002
        assert (PROTECTED in made.notes()) is bool(made.spread_)


def test_unknown_and_missing_groups_have_the_shared_map_and_no_groups_are_refused():
    probs, event, groups = simulated(2000, 0.9)
    groups[:50] = ""
    made = calib.calibrator("by_group", method="beta").fit(probs, event, groups=groups)
    shared = calib.calibrator("beta").fit(probs, event).predict_proba(probs[:3])
    for unknown in (["new"] * 3, [""] * 3, [None] * 3):
        np.testing.assert_allclose(made.predict_proba(probs[:3], groups=unknown), shared)
    assert not np.allclose(made.predict_proba(probs[:3], groups=["g0"] * 3), shared)
    with pytest.raises(CalibrationError, match="pass groups="):
        made.predict_proba(probs)
    with pytest.raises(CalibrationError, match="groups must have shape"):
        made.predict_proba(probs, groups=groups[:5])
    with pytest.raises(CalibrationError, match="takes groups"):
        calib.calibrator("by_group").fit(probs, event)
    with pytest.raises(CalibrationError, match=r"groups has 2,000 values.*few values"):
        calib.calibrator("by_group").fit(probs, event, groups=np.arange(2000))


def test_a_weight_of_two_is_the_row_twice():
    probs, event, groups = simulated(600, 0.9)
    twice = np.r_[np.arange(600), np.arange(600)]
    weighted = calib.calibrator("by_group").fit(
        probs, event, groups=groups, weights=np.full(600, 2.0)
    )
    doubled = calib.calibrator("by_group").fit(
        probs[twice], event[twice], groups=groups[twice], clusters=twice
    )
    assert weighted.spread_ == doubled.spread_
    np.testing.assert_allclose(weighted.offsets_, doubled.offsets_, atol=1e-6)


def test_predictions_hold_their_groups_and_a_column_chooses_among_several(tmp_path):
    probs, event, groups = simulated(1500, 0.9)
    rng = np.random.default_rng(0)
    path = tmp_path / "table.csv"
    lines = zip(probs, event, groups, rng.choice(["x", "y"], 1500), strict=True)
    rows = [f"{p:.4f},{y},{g},{c}" for p, y, g, c in lines]
    path.write_text("\n".join(["prediction,label,region,colour", *rows]))
    data = calib.load(path)
    made = calib.calibrator("by_group", column="region").fit(data)
    by_hand = calib.calibrator("by_group").fit(
        data.logits, data.labels, kind="logits", groups=data.group_values("region")
    )
    np.testing.assert_allclose(made.offsets_, by_hand.offsets_)
    np.testing.assert_allclose(
        made.predict_proba(data), made.predict_proba(data, groups=data.group_values("region"))
    )
    with pytest.raises(CalibrationError, match=r"no column 'place'.*region"):
        calib.calibrator("by_group", column="place").fit(data)
