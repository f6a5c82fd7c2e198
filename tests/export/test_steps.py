"""The steps of every method and form give what the method gives, and each word does what it says."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from benchmarks.exports import FORMS, fits, near_steps, simulated
from calib.calibrators.order_preserving import gap_probs
from calib.calibrators.steps import lines, side_by_side, table
from calib.calibrators.top_class import filled_in_proportion, top_log_odds
from calib.errors import CalibrationError
from calib.export import predict
from calib.export.npz import checked_steps
from calib.export.predict import run
from calib.numerics import log_softmax, one_vs_rest_log_odds, sigmoid, softmax
from calib.registry import METHODS

OFFERED = [name for name, method in METHODS.items() if not method.needs]


@pytest.mark.parametrize(
    ("method", "n_classes"),
    [
        pytest.param(name, k, marks=[pytest.mark.long] * (k > 2 and name in ("bayes_iso", "gpcalib")))  # slow fits
        for name in OFFERED
        for k in (2, 4)
    ],
)
def test_steps_give_what_the_methods_give(method, n_classes):
    """10,000 rows with ties, calibration rows and logits of +-1e3; the last of four classes has no rows."""
    for _, params, given, rows in fits(n_classes, [method], n=200):
        logits = given.to_logits(rows, given.kind)
        probs = predict.probabilities(given.calibrator.steps(), logits)
        known = ~near_steps(given, logits)
        assert known.sum() > 9_000, params
        np.testing.assert_allclose(probs[known], given.calibrator.predict_proba(logits)[known], rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["dirichlet", "vector", "structured_matrix", "isotonic"])
def test_two_absent_classes_keep_what_temperature_gives(method):
    logits, labels = simulated(300, 5)
    params = {"share_classes": False} if method == "isotonic" else {}
    made = calib.calibrator(method, **params).fit(logits, np.minimum(labels, 2))
    np.testing.assert_allclose(run(made.steps(), logits), made.predict_proba(logits), rtol=0, atol=1e-10)


def test_what_has_no_steps_says_so_and_that_the_pickle_is_there():
    assert {name for name, method in METHODS.items() if method.needs} == {"geometric"}
    assert set(FORMS) <= set(METHODS)
    for way in ("delta", "mc"):
        made = calib.calibrator("gpcalib", prediction=way, max_iter=3).fit(*simulated(60, 3))
        with pytest.raises(CalibrationError, match=r"'draws' or 'mean'.*\.pkl"):
            made.steps()


def test_steps_that_give_something_else_are_not_written(monkeypatch):
    made = calib.calibrator("temperature").fit(*simulated(60, 3))
    monkeypatch.setattr(type(made), "steps", lambda self: [{"step": "affine", "scale": 9.0}, {"step": "softmax"}])
    with pytest.raises(CalibrationError, match=r"give other probabilities than it does .*\.pkl"):
        checked_steps(made)


# -- words -----------------------------------------------------------------------------------------------


@pytest.fixture
def x():
    rows = np.random.default_rng(0).normal(size=(60, 4)) * 3
    rows[:20] = rows[:20].round()
    rows[20:24] = [[1e3, -1e3, 0, 0], [0, 0, 0, 0], [1e3, 1e3, 0, -1e3], [-1e3, 0, 0, 0]]
    return rows


def test_words_of_softmax(x):
    np.testing.assert_allclose(run([{"step": "softmax"}], x), softmax(x), atol=1e-15)
    np.testing.assert_allclose(run([{"step": "log_softmax"}], x), log_softmax(x), atol=1e-12)
    np.testing.assert_allclose(run([{"step": "sigmoid"}], x), sigmoid(x), atol=1e-15)
    np.testing.assert_allclose(np.exp(run([{"step": "log_sigmoid"}], x)), sigmoid(x), atol=1e-15)
    kept = run([{"step": "log_softmax"}, {"step": "softmax", "among": np.array([0, 2]), "kept": np.array([1, 3])}], x)
    np.testing.assert_allclose(kept, softmax(x), atol=1e-12)


def test_words_of_zeros():
    logs = run([{"step": "log"}, {"step": "finite", "low": -9.0}], np.array([[0.0, 1.0], [-1e-9, 0.5]]))
    np.testing.assert_allclose(logs, [[-9.0, 0.0], [-9.0, np.log(0.5)]])


def test_log_odds_ranks_and_the_top_are_those_of_the_library(x):
    np.testing.assert_allclose(predict.log_odds(x), one_vs_rest_log_odds(x), rtol=1e-12, atol=1e-12)
    weights = np.array([0.5, 2.0, 0.0])
    np.testing.assert_allclose(softmax(predict.ranks(x, weights)), gap_probs(x, weights), atol=1e-14)
    half = [{"step": "affine", "scale": 0.5, "offset": -1.0}, {"step": "sigmoid"}]
    expected = filled_in_proportion(x, sigmoid(0.5 * top_log_odds(x) - 1.0))
    np.testing.assert_allclose(predict.top(x, half), expected, atol=1e-12)


def test_a_row_of_zeros_becomes_the_softmax(x):
    never = [{"step": "affine", "scale": 0.0}]
    np.testing.assert_allclose(predict.one_vs_rest(x, never), softmax(x), atol=1e-15)


def test_tables_lines_and_maps_side_by_side():
    edges, values = np.array([-1.0, 2.0]), np.array([0.1, 0.5, 0.9])
    at = np.array([[-2.0], [-1.0], [0.0], [2.0], [3.0]])
    np.testing.assert_array_equal(run([table(edges, values)], at)[:, 0], [0.1, 0.5, 0.5, 0.9, 0.9])
    knots, heights = np.array([0.0, 1.0, 3.0]), np.array([0.2, 0.4, 0.8])
    np.testing.assert_allclose(run([lines(knots, heights)], at)[:, 0], np.interp(at[:, 0], knots, heights))
    both = side_by_side([[lines(knots, heights)], [lines(edges, values[:2])]])
    wide = np.column_stack([at[:, 0], at[:, 0]])
    expected = np.column_stack([np.interp(at[:, 0], knots, heights), np.interp(at[:, 0], edges, values[:2])])
    np.testing.assert_allclose(run(both, wide), expected)


@pytest.mark.parametrize("order", [1, 3])
def test_draws_are_a_mean_over_functions(order):
    rng = np.random.default_rng(0)
    growth, x = np.exp(0.3 * rng.normal(size=(30, 5))), rng.normal(size=(20, 3)) * 4
    nodes = -5.0 + 0.5 * np.arange(30)
    at_nodes = nodes[rng.integers(1, 28, size=(20, 3))]  # there the functions are known
    mean = np.mean(
        [softmax(at_nodes + np.log(growth[:, q])[((at_nodes + 5) / 0.5).round().astype(int)]) for q in range(5)], axis=0
    )
    np.testing.assert_allclose(predict.draws(at_nodes, growth, -5.0, 0.5, order), mean, atol=1e-12)
    assert np.allclose(predict.draws(x, growth, -5.0, 0.5, order).sum(axis=1), 1)
