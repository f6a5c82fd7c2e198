"""Quadratic scaling and splines: maximum likelihood where it is allowed, and maps that never fall."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from calib.calibrators import spline as splines
from calib.calibrators._folds import FOLDS, fold_of_rows
from calib.calibrators.platt import PlattScaling
from calib.calibrators.pooled_scores import group_ties
from calib.calibrators.quadratic import QuadraticScaling
from calib.calibrators.spline import RIDGE, STRENGTHS, Basis, SplineCalibration, Sums, least_slope, spline
from calib.numerics import one_vs_rest_log_odds
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

TOY = np.array([0.05, 0.1, 0.2, 0.25, 0.35, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97]), [0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1]


@pytest.mark.parametrize("monotone", [True, False])
def test_quadratic_is_the_maximum_likelihood_that_another_solver_found(monotone):
    """Twelve rows; coefficients of an independent float64 optimum of the same likelihood."""
    p, labels = TOY
    log_odds = np.log(p) - np.log1p(-p)
    probs = learned(QuadraticScaling(monotone=monotone), log_odds, np.array(labels), log_odds)
    a, b, c = 0.08665596561, 0.7866121331, -0.02422603248
    np.testing.assert_allclose(probs, expit(a + b * log_odds + c * log_odds**2), atol=1e-6)
    np.testing.assert_allclose(probs[:3], [0.080209173, 0.146957507, 0.259152544], atol=1e-6)


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
    free = learned(QuadraticScaling(monotone=False), log_odds, labels, np.sort(log_odds))
    assert (np.diff(free) < 0).any()
    probs = learned(QuadraticScaling(), log_odds, labels, log_odds)
    assert loss_of(np.log(probs) - np.log1p(-probs), labels) == pytest.approx(reference.fun, rel=1e-5)


@given(st.integers(0, 1000), st.integers(2, 40))
def test_quadratic_never_falls_inside_or_beyond_the_data(seed, n):
    log_odds, labels = binary(n, seed, digits=9, slope=-0.3)
    test = np.linspace(-500, 500, 5001)
    assert (np.diff(learned(QuadraticScaling(), log_odds, labels, test)) >= 0).all()


def test_quadratic_goes_on_as_a_line_beyond_the_data():
    log_odds, labels = curved(500)
    low, high = log_odds.min(), log_odds.max()
    test = np.array([low - 2, low - 1, low, high, high + 1, high + 2])
    probs = learned(QuadraticScaling(), log_odds, labels, test)
    score = np.log(probs) - np.log1p(-probs)
    assert score[1] - score[0] == pytest.approx(score[2] - score[1])
    assert score[4] - score[3] == pytest.approx(score[5] - score[4])


def test_equal_scores_get_the_base_rate_from_a_parabola():
    labels = np.array([0, 1, 0, 0, 1])
    np.testing.assert_allclose(learned(QuadraticScaling(), np.full(5, 2.0), labels, np.array([2.0])), 0.4)


# -- splines -------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(2, 9))
@settings(max_examples=50)
def test_the_spline_is_scipys_natural_one_with_lines_beyond(seed, size):
    generator = np.random.default_rng(seed)
    knots = np.cumsum(generator.uniform(0.2, 2, size))
    reference = CubicSpline(knots, generator.normal(size=size), bc_type="natural")
    values, curvatures = reference(knots), reference(knots, 2)
    test = np.linspace(knots[0], knots[-1], 200)
    np.testing.assert_allclose(spline(knots, values, curvatures, test), reference(test), atol=1e-10)
    assert least_slope(knots, values, curvatures) == pytest.approx(
        reference(np.linspace(*knots[[0, -1]], 4001), 1).min(), abs=1e-2
    )
    for end, way in ((0, -1), (-1, 1)):
        expected = values[end] + way * 3 * reference(knots[end], 1)
        assert spline(knots, values, curvatures, knots[end] + way * 3.0) == pytest.approx(expected)


def test_the_penalty_is_the_integral_of_the_squared_second_derivative():
    log_odds, labels = curved(200)
    pools = group_ties(log_odds, labels.astype(float))
    knots = np.quantile(log_odds, [0, 0.2, 0.5, 0.7, 1])
    basis = Basis.from_knots(knots, pools)
    weights = np.array([0.3, 2.0, 0.7, -0.4, 1.1])
    values, curvatures = basis.at_knots(weights)
    curve = CubicSpline((knots - basis.centre) / basis.spread, values, bc_type="natural")
    np.testing.assert_allclose(curve(curve.x, 2) / basis.spread**2, curvatures, atol=1e-10)
    roughness = sum(quad(lambda t: curve(t, 2) ** 2, a, b)[0] for a, b in zip(curve.x[:-1], curve.x[1:], strict=True))
    assert roughness == pytest.approx(weights[2:] @ weights[2:])
    np.testing.assert_allclose(
        basis.design @ weights, curve((pools.log_odds - basis.centre) / basis.spread), atol=1e-10
    )


def best_weights(log_odds: np.ndarray, labels: np.ndarray, basis: Basis, strength: float) -> np.ndarray:
    """The penalised optimum by an optimiser that knows no curvature."""
    design = np.array([
        spline(basis.knots, *basis.at_knots(unit), log_odds) for unit in np.eye(len(basis.knots))
    ]).T  # fmt: skip
    weight = np.append([RIDGE, RIDGE], np.full(len(basis.knots) - 2, strength))

    def objective(w: np.ndarray) -> float:
        return loss_of(design @ w, labels) + 0.5 * float(weight @ (w - basis.start) ** 2)

    return minimize(objective, basis.start, method="BFGS", options={"gtol": 1e-8}).x


def test_a_spline_has_the_penalty_of_the_least_loss_in_folds_and_is_refitted_to_all_rows():
    log_odds, labels = curved(600)
    fitted = SplineCalibration(n_knots=5, monotone=False).fit(as_logits(log_odds), labels)
    state = fitted.maps_[0]
    pools = group_ties(log_odds, labels.astype(float))
    basis = Basis.from_knots(state["knots"], pools)
    fold = fold_of_rows(len(labels), random_state=0)
    losses = np.zeros(len(STRENGTHS))
    for place, strength in enumerate(STRENGTHS[::3]):  # each third, to save time
        for number in range(FOLDS):
            weights = best_weights(log_odds[fold != number], labels[fold != number], basis, strength)
            values, curvatures = basis.at_knots(weights)
            inside = fold == number
            losses[3 * place] += loss_of(spline(basis.knots, values, curvatures, log_odds[inside]), labels[inside])
    tried = {}
    for strength in STRENGTHS:
        weights = basis.fitted(Sums(pools.counts.astype(float), pools.positives), strength, basis.start)
        tried[strength] = np.abs(basis.at_knots(weights)[0] - state["values"]).max()
    chosen = min(tried, key=tried.__getitem__)
    assert tried[chosen] < 1e-6
    best = STRENGTHS[::3][int(np.argmin(losses[::3]))]
    assert abs(np.log10(chosen / best)) <= 1.01  # next to the best of those tried here
    np.testing.assert_allclose(
        basis.at_knots(best_weights(log_odds, labels, basis, chosen))[0], state["values"], atol=1e-3
    )


def test_a_curve_is_found_and_a_line_is_left_a_line():
    test = np.linspace(-6, 6, 101)
    log_odds, labels = curved(4000)
    errors = [
        np.abs(learned(made, log_odds, labels, test) - expit(bent(test))).max()
        for made in (SplineCalibration(), PlattScaling())
    ]
    assert errors[0] < errors[1] / 2
    log_odds, labels = binary(4000, digits=9)
    spline_probs, line = (learned(made, log_odds, labels, test) for made in (SplineCalibration(), PlattScaling()))
    np.testing.assert_allclose(spline_probs, line, atol=0.02)


@given(st.integers(0, 1000), st.integers(2, 60))
@settings(max_examples=40)
def test_a_monotone_spline_never_falls(seed, n):
    generator = np.random.default_rng(seed)
    log_odds = np.round(3 * generator.normal(size=n), 1)
    labels = (generator.random(n) < 0.5 + 0.4 * np.sin(2 * log_odds)).astype(int)  # goes up and down
    probs = learned(SplineCalibration(), log_odds, labels, np.linspace(-50, 50, 4001))
    assert (np.diff(probs) >= -1e-15).all()


def test_labels_against_the_scores_give_the_base_rate():
    log_odds, labels = binary(300, slope=-1.0)
    fitted = SplineCalibration().fit(as_logits(log_odds), labels)
    np.testing.assert_allclose(fitted.predict_proba(as_logits(log_odds))[:, 1], labels.mean(), atol=1e-3)


def test_few_rows_get_a_line_and_it_is_said():
    log_odds, labels = binary(9)
    fitted = SplineCalibration().fit(as_logits(log_odds), labels)
    score = spline(*(fitted.maps_[0][name] for name in ("knots", "values", "curvatures")), np.linspace(-9, 9, 50))
    np.testing.assert_allclose(np.diff(score, 2), 0, atol=1e-12)
    assert "straight line" in fitted.notes()[-1]


def test_flattening_is_the_isotonic_fit_of_the_spline():
    log_odds, labels = curved(200)
    pools = group_ties(log_odds, labels.astype(float))
    knots = np.quantile(log_odds, [0, 0.4, 0.6, 1])
    curve = CubicSpline(knots, [-2.0, 1.0, 0.0, 3.0], bc_type="natural")
    points, values = splines.flattened(knots, curve(knots), curve(knots, 2), pools)
    np.testing.assert_allclose(points, np.sort(log_odds))
    reference = IsotonicRegression().fit_transform(np.sort(log_odds), expit(curve(np.sort(log_odds))))
    np.testing.assert_allclose(expit(values), reference, atol=1e-9)


def test_pooled_scores_give_the_same_spline(monkeypatch):
    log_odds, labels = curved(3000)
    exact = learned(SplineCalibration(), log_odds, labels, np.linspace(-6, 6, 101))
    monkeypatch.setattr(splines, "MOST_POOLS", 300)
    pooled = learned(SplineCalibration(), log_odds, labels, np.linspace(-6, 6, 101))
    np.testing.assert_allclose(pooled, exact, atol=0.01)  # folds may choose the next penalty


def test_pairs_of_a_row_stay_in_one_fold():
    logits, labels = simulate(40, 3)
    made = SplineCalibration()
    made._count(40, 120)
    positives = (np.eye(3)[labels] == 1).ravel()
    log_odds = one_vs_rest_log_odds(logits).ravel()
    rank = np.argsort(np.argsort(log_odds))
    for part in made._folds(rank, positives, 120):
        of_rows = part.counts[rank].reshape(40, 3)
        assert set(of_rows.sum(axis=1)) <= {0, 3}
        assert part.positives.sum() == part.counts.sum() / 3


def test_rows_of_a_cluster_stay_in_one_fold_of_a_spline():
    made, clusters = SplineCalibration(), np.repeat(np.arange(30), 10)
    made._clusters = clusters
    made._count(300, 300)
    for part in made._folds(np.arange(300), clusters % 2 == 1, 300):
        assert set(part.counts.reshape(30, 10).sum(axis=1)) <= {0, 10}


def test_copies_of_a_row_make_a_spline_no_rougher_where_they_are_a_cluster():
    """Copies in other folds tell the answer, so that folds of rows prefer a curve through each of them."""
    log_odds, labels = (np.repeat(values, 10) for values in binary(30, seed=1))
    clusters = np.repeat(np.arange(30), 10)

    def roughness(**extras) -> float:
        return float(
            np.abs(
                SplineCalibration(monotone=False).fit(as_logits(log_odds), labels, **extras).maps_[0]["curvatures"]
            ).max()
        )

    assert roughness() > 2 * roughness(clusters=clusters)
    few = SplineCalibration().fit(as_logits(log_odds), labels, clusters=clusters % 4)
    assert len(few.maps_[0]["knots"]) == 2
    assert "5 clusters" in few.notes()[-1]
    assert not hasattr(few, "_clusters")


@pytest.mark.parametrize("far", [1e20, pytest.param(-1e20, marks=pytest.mark.long), 1e99])
def test_a_spline_is_fitted_beside_one_score_very_far_away(far):
    log_odds = np.append(np.random.default_rng(0).normal(size=200), far)
    positives = np.arange(201) % 3 == 0
    probs = SplineCalibration().fit(as_logits(log_odds), positives.astype(int)).predict_proba(as_logits(log_odds))
    assert np.isfinite(probs).all()
    assert (np.diff(probs[np.argsort(log_odds), 1]) >= 0).all()
