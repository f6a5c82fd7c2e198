from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.active_learning.uncertainty import UNCERTAINTY, least_confidence, normalised_entropy, small_margin
from calib.numerics import softmax

LOGITS = arrays(float, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=st.floats(-30, 30))


@pytest.mark.parametrize("measure", UNCERTAINTY.values(), ids=UNCERTAINTY)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_from_certain_to_uniform(measure, n_classes):
    rows = np.array([np.eye(n_classes)[0], np.full(n_classes, 1 / n_classes)])
    np.testing.assert_allclose(measure(rows), [0.0, 1.0], atol=1e-12)


@given(LOGITS)
def test_it_stays_between_them_and_knows_no_class(logits):
    probs = softmax(logits)
    for measure in UNCERTAINTY.values():
        values = measure(probs)
        assert values.shape == (len(probs),)
        assert (values >= -1e-12).all() and (values <= 1 + 1e-9).all()
        np.testing.assert_allclose(measure(probs[:, ::-1]), values, atol=1e-12)


@given(LOGITS)
def test_entropy_against_its_definition(logits):
    from scipy.stats import entropy

    probs = softmax(logits)
    expected = [entropy(row) / np.log(len(row)) for row in probs]
    np.testing.assert_allclose(normalised_entropy(probs), expected, atol=1e-9)


def test_the_other_two_by_hand():
    probs = np.array([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25]])
    np.testing.assert_allclose(least_confidence(probs), [0.4 * 1.5, 0.6 * 1.5])
    np.testing.assert_allclose(small_margin(probs), [0.7, 0.95])
