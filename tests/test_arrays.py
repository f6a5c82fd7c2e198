"""What users hand over is taken as it is meant, or refused in a sentence that says what to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib
from calib.arrays import as_array
from calib.errors import CalibrationError
from calib.numerics import midranks, softmax

LOGITS = np.array([[0.5, -1.0, 2.0], [1.5, 0.0, -2.0], [0.25, 3.0, 1.0], [-1.0, 0.5, 0.75]])
LABELS = np.array([2, 0, 1, 1])


@pytest.mark.parametrize(
    "given",
    [
        LOGITS.astype(np.float16),
        pd.DataFrame(LOGITS).convert_dtypes(),
        (4 * LOGITS).astype(int),
    ],
    ids=["float16", "nullable", "integers"],
)
def test_any_array_of_numbers_is_taken(given):
    fitted = calib.calibrator("temperature").fit(given, pd.Series(LABELS))
    expected = calib.calibrator("temperature").fit(np.asarray(as_array(given), float), LABELS)
    np.testing.assert_array_equal(
        fitted.predict_proba(given), expected.predict_proba(np.asarray(as_array(given), float))
    )


def test_a_tensor_is_taken_of_a_type_that_numpy_has_not_and_that_needs_a_gradient():
    moved = SimpleNamespace(
        is_floating_point=lambda: True, element_size=lambda: 2, float=lambda: LOGITS
    )
    tensor = SimpleNamespace(detach=lambda: SimpleNamespace(cpu=lambda: moved))
    np.testing.assert_array_equal(as_array(tensor), LOGITS)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.ma.masked_greater(LOGITS, 2.5), "1 of the outputs are masked"),
        ([[1.0, 2.0], [3.0]], "cannot be read as an array"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), "must be numbers"),
        (LOGITS.astype(complex), "must be numbers"),
    ],
)
def test_what_holds_no_logits_is_refused_in_a_sentence(given, says):
    with pytest.raises(CalibrationError, match=says):
        calib.calibrator("temperature").fit(given, LABELS[: len(given)])


def test_probabilities_are_fitted_as_their_logits():
    probs = softmax(LOGITS).astype(np.float16)
    fitted = calib.calibrator("temperature").fit(probs, LABELS)
    assert fitted.outputs_.kind == "probabilities"
    assert fitted.temperature_ == pytest.approx(
        calib.calibrator("temperature").fit(LOGITS, LABELS).temperature_, rel=0.01
    )


def test_logits_are_the_logarithms_of_probabilities():
    probs = softmax(LOGITS)
    np.testing.assert_allclose(softmax(calib.logits(probs)), probs, rtol=1e-14)
    np.testing.assert_allclose(
        softmax(calib.logits([0.2, 0.7])), [[0.8, 0.2], [0.3, 0.7]], rtol=1e-14
    )
    for hard in ([[0.0, 1.0]], [1.0], np.array([[1 + 1e-7, -1e-7]], np.float32)):
        assert softmax(calib.logits(hard)).max() == pytest.approx(0.9995, abs=1e-4)


def half_precision() -> list[tuple[Any, Any]]:
    """Probabilities that were computed in half precision, in types of NumPy, JAX and PyTorch, and their values."""
    exact = softmax(np.random.default_rng(0).normal(size=(400, 100)))
    coarse = (exact.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    moved = SimpleNamespace(
        is_floating_point=lambda: True, element_size=lambda: 2, float=lambda: coarse
    )
    tensor = SimpleNamespace(
        detach=lambda: SimpleNamespace(cpu=lambda: moved), dtype="torch.bfloat16"
    )
    return [(exact.astype(np.float16), exact), (coarse.astype(bfloat16), coarse), (tensor, coarse)]


def test_half_precision_widens_what_sums_may_miss_and_rows_are_divided_by_them():
    labels = np.arange(400) % 100
    for given, values in half_precision():
        divided = values / values.sum(axis=1, keepdims=True, dtype=float)
        assert calib.ece(given, labels) == pytest.approx(calib.ece(divided, labels), abs=1e-4)
        np.testing.assert_allclose(softmax(calib.logits(given)), divided, rtol=1e-2)
        fitted = calib.calibrator("temperature").fit(given, labels)
        assert fitted.outputs_.kind == "probabilities"
    with pytest.raises(CalibrationError, match="do not sum to one"):
        calib.ece(half_precision()[1][1], labels)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (LOGITS, "lie between 0 and 1"),
        (np.full((3, 4), 0.5), "3 of 3 rows of probabilities do not sum to one"),
        (
            np.array([[0.5, 0.5014]]),
            r"1 of 1 rows of probabilities do not sum to one \(the first to 1.001",
        ),
        (np.full((3, 1), 1.0), "shape"),
        (["a", "b"], "must be numbers"),
        ([np.nan, 0.5], "lie between 0 and 1"),
    ],
)
def test_what_is_no_probability_is_refused(given, says):
    with pytest.raises(CalibrationError, match=says):
        calib.logits(given)


def test_midranks_are_those_of_scipy(rng):
    from scipy.stats import rankdata

    for values in (rng.normal(size=500), rng.integers(0, 7, 500) / 7, np.zeros(3), np.empty(0)):
        np.testing.assert_array_equal(midranks(values), rankdata(values))
