"""The formulas from which other languages are written, computed by NumPy, against the methods themselves."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from benchmarks.exports import fits, near_steps, simulated
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.prediction import predict_draws
from calib.calibrators.order_preserving import gap_probs
from calib.calibrators.top_class import filled_in_proportion, top_log_odds
from calib.errors import CalibrationError
from calib.export import predict
from calib.export.formulas import STEPS, formula
from calib.export.graph import OPERATIONS, Piecewise, in_order, side_by_side
from calib.export.provenance import exported
from calib.numerics import log_softmax, one_vs_rest_log_odds, sigmoid, softmax, softplus
from calib.registry import METHODS


def naive_piecewise(x, of):
    """One entry at a time, by the definition."""
    breaks, origins = np.atleast_2d(of.breaks), np.atleast_2d(of.origins)
    coefficients = of.coefficients.reshape(of.degree + 1, *origins.shape)
    result = np.empty(x.shape)
    for (row, column), value in np.ndenumerate(x):
        k = column if len(breaks) > 1 else 0
        before = breaks[k] <= value if of.right else breaks[k] < value
        i = int(before.sum())
        result[row, column] = sum(c * (value - origins[k, i]) ** d for d, c in enumerate(coefficients[:, k, i]))
    return result


def draws(x, mass, of):
    grid = Grid(of.low, of.low + of.spacing * (of.growth.shape[1] - 1), of.growth.shape[1], of.order)
    with np.errstate(divide="ignore"):
        return predict_draws(x, np.log(mass), grid, np.log(of.growth))


IN_NUMPY = {
    "constant": lambda of: of.numbers,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "exp": np.exp,
    "log": np.log,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "less": np.less,
    "equal": np.equal,
    "where": np.where,
    "row_sum": lambda a: a.sum(axis=1, keepdims=True),
    "row_max": lambda a: a.max(axis=1, keepdims=True),
    "columns": lambda a, which: a[:, list(which)],
    "join": lambda *parts: np.concatenate(parts, axis=1),
    "product": lambda a, b: a @ b.T,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "log_odds": one_vs_rest_log_odds,
    "top_log_odds": lambda a: top_log_odds(a)[:, None],
    "in_proportion": lambda a, b: filled_in_proportion(a, b[:, 0]),
    "gaps": lambda a, of: gap_probs(a, of.numbers[0]),
    "draws": draws,
    "piecewise": naive_piecewise,
}


def computed(given, outputs):
    """What the formula of an exported calibrator gives for (n, m) outputs."""
    known = {}
    for value in in_order(formula(given)):
        parts = [known.get(id(part), part) for part in value.of]
        more = [] if value.given is None else [value.given]
        with np.errstate(divide="ignore"):
            known[id(value)] = outputs if value.op == "input" else IN_NUMPY[value.op](*parts, *more)
    return known[id(value)]


def test_the_operations_are_those_that_are_described():
    assert {*IN_NUMPY, "input"} == set(OPERATIONS)


def test_every_step_has_its_operations():
    assert set(STEPS) == set(predict.STEPS)


@pytest.mark.parametrize(
    ("method", "n_classes"),
    [
        pytest.param(name, k, marks=[pytest.mark.long] * (k == 4 and name in ("bayes_iso", "gpcalib")))  # slow fits
        for name in METHODS
        if not METHODS[name].needs
        for k in (2, 4)
    ],
)
def test_formulas_give_what_the_methods_give(method, n_classes):
    for _, params, given, rows in fits(n_classes, [method], n=200):
        rows = rows[::23]
        probs = computed(given, rows.reshape(len(rows), -1))
        known = ~near_steps(given, given.to_logits(rows, given.kind))
        assert known.sum() > 400, params
        np.testing.assert_allclose(probs[known], given.calibrate(rows, given.kind)[known], rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["temperature", "gpcalib", "isotonic"])
@pytest.mark.parametrize(
    "kind, scale", [("probabilities", None), ("probabilities", "percent"), ("log_probabilities", None)]
)
def test_outputs_of_every_kind_are_taken_as_they_were_uploaded(method, kind, scale):
    logits, labels = simulated(200, 3)
    probs = np.array(softmax(logits))
    probs[:5, 0] = 0
    probs[:5] /= probs[:5].sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        outputs = probs * (100 if scale else 1) if kind == "probabilities" else np.log(probs)
    fitted = calib.calibrator(method).fit(logits, labels)
    given = exported(fitted, {"kind": kind, "scale": scale, "floor": 1e-6})
    np.testing.assert_allclose(computed(given, outputs), given.calibrate(outputs, kind), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["binary_probability", "pairs", "binary_log_odds"])
def test_single_columns_are_taken_as_they_were_uploaded(kind):
    logits, labels = simulated(200, 2)
    score = logits[:, 1] - logits[:, 0]
    column = score if kind == "binary_log_odds" else np.append(sigmoid(score[2:]), [0.0, 1.0])
    given = exported(calib.calibrator("beta").fit(logits, labels), {"kind": kind})
    np.testing.assert_allclose(computed(given, column[:, None]), given.calibrate(column, kind), rtol=0, atol=1e-12)


def test_outputs_that_no_other_language_converts_are_refused():
    fitted = calib.calibrator("temperature").fit(*simulated(50, 3))
    with pytest.raises(CalibrationError, match="odds"):
        formula(exported(fitted, {"kind": "probabilities", "scale": "odds"}))


def test_maps_side_by_side_are_the_maps_of_their_columns():
    rng = np.random.default_rng(0)
    maps = [
        Piecewise(np.sort(rng.normal(size=m)), rng.normal(size=m + 1), rng.normal(size=(3, m + 1))) for m in (0, 1, 4)
    ]
    x = rng.normal(size=(50, 3))
    each = np.column_stack([naive_piecewise(x[:, k : k + 1], one) for k, one in enumerate(maps)])
    np.testing.assert_array_equal(naive_piecewise(x, side_by_side(maps)), each)
