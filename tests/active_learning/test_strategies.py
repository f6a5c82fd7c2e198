"""The uncertainty that labels are asked by, and the settings of a plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.active_learning.simulation import Plan, normalised_entropy
from calib.errors import CalibrationError
from calib.numerics import softmax

LOGITS = arrays(float, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=st.floats(-30, 30))


@given(LOGITS)
def test_entropy_against_its_definition(logits):
    from scipy.stats import entropy

    probs = softmax(logits)
    expected = [entropy(row) / np.log(len(row)) for row in probs]
    np.testing.assert_allclose(normalised_entropy(probs), expected, atol=1e-9)
    ends = np.array([np.eye(probs.shape[1])[0], np.full(probs.shape[1], 1 / probs.shape[1])])
    np.testing.assert_allclose(normalised_entropy(ends), [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classifier", "oracle"),
        ("calibrator", "identity"),
        ("calibrator", "geometric"),
        ("threshold", 1.5),
        ("batch", 0),
        ("budget", -1),
    ],
)
def test_what_is_out_of_range_is_named(name, value):
    with pytest.raises(CalibrationError, match=name):
        Plan(**{name: value})
