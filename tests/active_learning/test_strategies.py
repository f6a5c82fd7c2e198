"""The uncertainty that labels are asked by, and the settings of a plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.active_learning.simulation import Plan, latent_uncertainty, normalised_entropy
from calib.errors import CalibrationError
from calib.numerics import softmax
from calib.registry import calibrator
from tests.conftest import simulate

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


def test_latent_uncertainty_is_the_spread_of_a_probability_over_drawn_functions():
    logits, labels = simulate(400, 4)
    gp = calibrator("gpcalib").fit(logits, labels)
    rows = logits[:30]
    inputs, prior = gp.kernel_inputs(rows)
    draws = [softmax(prior + gp.grid().interpolate(draw, inputs)) for draw in gp.shift_draws_]
    own = rows.argmax(axis=1)
    probs = np.array([each[np.arange(30), own] for each in draws])
    np.testing.assert_allclose(latent_uncertainty(gp, rows), probs.std(axis=0), atol=2e-4)
    assert latent_uncertainty(gp, 40 * np.eye(4)).max() < 0.01, "certain rows have none"
