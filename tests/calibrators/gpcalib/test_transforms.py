"""The transforms of parameters: what they map onto, and that a fit leaves nothing behind."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tensorflow.python.framework.func_graph import FuncGraph

from calib import calibrator
from calib.calibrators.gpcalib.transforms import above, between, triangular


@pytest.mark.parametrize(("transform", "low", "high"), [(above(0.25), 0.25, np.inf), (between(0.5, 3.0), 0.5, 3.0)])
def test_stays_inside_and_has_an_inverse(transform, low, high):
    values = np.linspace(-8.0, 8.0, 33)
    mapped = transform.forward(values).numpy()
    assert (mapped > low).all()
    assert (mapped < high).all()
    assert (np.diff(mapped) > 0).all()
    np.testing.assert_allclose(transform.inverse(mapped).numpy(), values, atol=1e-9)


def test_softplus_is_the_closed_form():
    values = np.array([-30.0, -1.0, 0.0, 2.0, 40.0])
    np.testing.assert_allclose(above(0.1).forward(values).numpy(), np.logaddexp(0.0, values) + 0.1, rtol=1e-12)


def test_triangular_holds_each_number_once():
    values = np.arange(1.0, 7.0)
    matrix = triangular().forward(values).numpy()
    np.testing.assert_array_equal(matrix, np.tril(matrix))
    np.testing.assert_array_equal(np.sort(matrix[np.tril_indices(3)]), values)


@pytest.mark.parametrize("variational", ["diagonal", "full"])
@pytest.mark.parametrize("inputs", ["logits", "probs"])
def test_a_fit_leaves_no_graph_behind(inputs, variational):
    def graphs():
        gc.collect()
        return sum(isinstance(thing, FuncGraph) for thing in gc.get_objects())

    logits = np.random.default_rng(0).normal(size=(40, 3))
    before = graphs()
    calibrator("gpcalib", inputs=inputs, variational=variational, max_iter=3).fit(logits, np.arange(40) % 3)
    assert graphs() <= before
