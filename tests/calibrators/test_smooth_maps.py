"""Quadratic scaling and splines: maximum likelihood where it is allowed, and maps that never fall."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit

from calib.calibrators import spline as splines
from calib.calibrators.isotonic import Tally
from calib.calibrators.logistic import fit_logistic
from calib.calibrators.quadratic import QuadraticScaling
from calib.calibrators.spline import STRENGTHS, Problem, SplineCalibration, SplineMap, spline_map
from calib.calibrators.step_maps import shares_below
from tests.calibrators.conftest import as_logits, binary, learned
from tests.conftest import simulate


def loss_of(score: np.ndarray, targets: np.ndarray) -> float:
    return float(np.sum(np.logaddexp(0, score) - targets * score))


def curved(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds whose true ones follow a curve with two bends."""
    generator = np.random.default_rng(seed)
    log_odds = 3 * generator.normal(size=n)
    return log_odds, (generator.random(n) < expit(bent(log_odds))).astype(int)


def bent(log_odds: np.ndarray) -> np.ndarray:
    return 3 * np.tanh(log_odds / 2) + 0.1 * log_odds


# -- quadratic -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_quadratic_with_its_slope_held_up_is_the_best_that_rises(seed):
    log_odds, labels = binary(200, seed, digits=9)
    at = 7.0 if seed % 2 else -7.0  # rows far out that pull the parabola down
    log_odds = np.concatenate([log_odds, np.full(40, at)])
    labels = np.concatenate([labels, np.full(40, at < 0, dtype=int)])
    if seed > 1:
        labels = 1 - labels  # nothing rises at all
    ends = np.array([[0, 1, 2 * log_odds.min()], [0, 1, 2 * log_odds.max()]])
    reference = minimize(
        lambda w: loss_of(w[0] + w[1] * log_odds + w[2] * log_odds**2, labels),
        [0.0, 1.0, 0.0],
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: ends @ w},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    free, _ = fit_logistic(np.stack([log_odds, log_odds**2]), labels.astype(float))
    assert (ends[:, 1:] @ free).min() < 0  # so that something has to be held up
    probs = learned(QuadraticScaling(), log_odds, labels, log_odds)
    assert loss_of(np.log(probs) - np.log1p(-probs), labels) == pytest.approx(
        reference.fun, rel=1e-5
    )


@given(st.integers(0, 1000), st.integers(2, 40))
def test_quadratic_never_falls_inside_or_beyond_the_data(seed, n):
    log_odds, labels = binary(n, seed, digits=9, slope=-0.3)
    test = np.linspace(-500, 500, 5001)
    assert (np.diff(learned(QuadraticScaling(), log_odds, labels, test)) >= 0).all()


# -- splines -------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(2, 9))
def test_a_spline_is_the_integral_of_its_slope_with_lines_beyond(seed, size):
    generator = np.random.default_rng(seed)
    knots = np.cumsum(generator.uniform(0.2, 2, size))
    made = SplineMap(knots, np.maximum(generator.normal(size=size), 0.0), float(generator.normal()))
    test = np.linspace(made.knots[0] - 3, made.knots[-1] + 3, 60)
    slope = partial(np.interp, xp=made.knots, fp=made.slopes)  # constant beyond the knots
    expected = [
        made.intercept + quad(slope, made.knots[0], x, points=made.knots, limit=200)[0]
        for x in test
    ]
    np.testing.assert_allclose(made.score(test), expected, atol=1e-7)
    assert (np.diff(made.score(test)) >= 0).all()
    np.testing.assert_allclose(made.score(made.knots), made.values, atol=1e-12)


@pytest.mark.parametrize("strength", [0.01, 1.0, 1000.0])
def test_the_fit_is_the_bounded_optimum_of_another_solver(strength):
    log_odds, labels = curved(300, 3)
    labels = np.where(log_odds > 4, 0, labels)  # falls at the end, where the slope is held at zero
    knots = np.quantile(log_odds, [0, 0.1, 0.3, 0.5, 0.8, 1])
    problem = Problem.of(knots, log_odds, 0.0, 1.0)
    found = problem.fitted(np.ones(300), labels.astype(float), strength, problem.identity)

    def objective(at: np.ndarray) -> float:
        made = SplineMap(knots, at[1:], at[0])
        ridge = (
            made.score(np.zeros(1))[0] ** 2 + (made.slopes.mean() - 1) ** 2
        )  # of the distance from the identity
        bends = 5 * np.sum(np.diff(made.slopes) ** 2)
        return loss_of(made.score(log_odds), labels) + 0.5 * (strength * bends + 0.01 * ridge)

    bounds = [(None, None)] + [(0, None)] * 6
    reference = minimize(objective, problem.identity, method="L-BFGS-B", bounds=bounds,
                         options={"ftol": 1e-15, "gtol": 1e-9, "maxfun": 10**5})  # fmt: skip
    assert (found[1:] >= 0).all()
    assert objective(found) == pytest.approx(reference.fun, rel=1e-6)
    if strength < 1:
        assert 0 in found


def test_a_spline_has_the_penalty_of_the_least_loss_in_folds_and_is_refitted_to_all_rows():
    log_odds, labels = curved(400)
    folds = np.arange(400) % 5
    found = spline_map(log_odds, labels == 1, folds=folds)
    tally = Tally.of(log_odds, labels == 1)
    below = shares_below(tally)
    middle = (below + np.append(below[1:], 1.0)) / 2
    low, centre, high = np.interp([0.16, 0.5, 0.84], middle, tally.scores)
    spread = (high - low) / 2
    problem = Problem.of(
        (found.knots - centre) / spread, (log_odds - centre) / spread, centre, spread
    )
    losses = []
    for strength in STRENGTHS:
        at = [
            problem.fitted((folds != f) * 1.0, (folds != f) * labels, strength, problem.identity)
            for f in range(5)
        ]
        losses.append(
            sum(loss_of((problem.design @ at[f])[folds == f], labels[folds == f]) for f in range(5))
        )
    best = STRENGTHS[int(np.argmin(losses))]
    expected = problem.fitted(np.ones(400), labels.astype(float), best, problem.identity)
    np.testing.assert_allclose(found.score(log_odds), problem.design @ expected, atol=1e-4)


def test_a_few_scores_that_stand_for_zeros_do_not_make_a_spline_stiff():
    """Log-odds of -700 are those of probabilities of 0; a parabola or a line is as steep there as elsewhere."""
    log_odds, labels = curved(1000)
    zeros = np.arange(1000) % 50 == 0
    log_odds, labels = (
        np.where(zeros, -700.0, log_odds),
        np.where(zeros, np.arange(1000) % 100 == 0, labels),
    )
    test = np.linspace(-4, 4, 81)
    assert (
        np.abs(learned(SplineCalibration(), log_odds, labels, test) - expit(bent(test))).max()
        < 0.15
    )


def test_few_rows_get_a_line():
    log_odds, labels = binary(9)
    fitted = SplineCalibration().fit(as_logits(log_odds), labels)
    np.testing.assert_allclose(np.diff(fitted.maps_[0].slopes), 0, atol=1e-3)


def test_pairs_of_a_row_and_rows_of_a_cluster_stay_in_one_fold(monkeypatch):
    given, line = [], SplineMap(np.arange(2.0), np.ones(2), 0.0)
    monkeypatch.setattr(splines, "spline_map", lambda *args: given.append(args[-1]) or line)
    logits, labels = simulate(40, 3)
    clusters = np.repeat(np.arange(20), 2)
    SplineCalibration().fit(logits, labels)
    SplineCalibration().fit(logits, labels, clusters=clusters)
    SplineCalibration().fit(logits, labels, clusters=clusters % 4)
    rows, of_clusters, few = given
    assert (np.ptp(rows.reshape(40, 3), axis=1) == 0).all()
    assert (np.ptp(of_clusters.reshape(20, 6), axis=1) == 0).all()
    assert set(rows) == set(of_clusters) == set(range(5))
    assert few is None  # fewer clusters than folds


@pytest.mark.parametrize("far", [1e20, pytest.param(-1e20, marks=pytest.mark.long), 1e99])
def test_a_spline_is_fitted_beside_one_score_very_far_away(far):
    log_odds = np.append(np.random.default_rng(0).normal(size=200), far)
    positives = np.arange(201) % 3 == 0
    probs = (
        SplineCalibration()
        .fit(as_logits(log_odds), positives.astype(int))
        .predict_proba(as_logits(log_odds))
    )
    assert np.isfinite(probs).all()
    assert (np.diff(probs[np.argsort(log_odds), 1]) >= 0).all()


def test_weights_of_any_size_beside_one_give_the_spline_of_the_heavy_rows():
    """Of 1e18 on nothing was left of the penalty beside the rows, and the equations could not be solved."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        log_odds, labels = binary(100, seed)
        heavy = generator.random(100) < (0.02, 0.1, 0.5)[seed]
        fits = [
            SplineCalibration().fit(as_logits(log_odds), labels, weights=np.where(heavy, each, 1.0))
            for each in (1e18, 1e30, 1e99)
        ]
        first, *others = (fitted.predict_proba(as_logits(log_odds)) for fitted in fits)
        for probs in others:
            np.testing.assert_allclose(probs, first, atol=1e-6)


def test_scores_that_rounding_parts_have_the_spline_of_equal_ones():
    """Noise of 1e-13 on log-odds of 0 made other rows of them, and so other folds: up to .14 in a probability."""
    for seed, digits, n in [(0, 0, 60), (1, 0, 60), (2, 1, 200), (3, 1, 600)]:
        log_odds, labels = binary(n, seed, digits=digits)
        moved = log_odds + 1e-13 * np.random.default_rng(seed).normal(size=n)
        expected = learned(SplineCalibration(), log_odds, labels, log_odds)
        np.testing.assert_allclose(
            learned(SplineCalibration(), moved, labels, moved), expected, atol=1e-4
        )


@pytest.mark.parametrize("calibrator", [QuadraticScaling(), SplineCalibration()])
def test_scores_so_near_that_a_slope_between_them_is_infinite_have_the_map_of_equal_ones(
    calibrator,
):
    log_odds, labels = binary(60, 0)
    at = np.array([-2.0, 0.0, 1e-310, 3.0])
    expected = learned(calibrator, 0 * log_odds, labels, at)
    assert np.isfinite(expected).all()
    for scale in (1e-320, 1e-310, 1e-305, 1e-101):
        np.testing.assert_allclose(
            learned(calibrator, scale * log_odds, labels, at), expected, atol=1e-12
        )
    assert np.isfinite(learned(calibrator, 1e-99 * log_odds, labels, 1e-99 * at)).all()
