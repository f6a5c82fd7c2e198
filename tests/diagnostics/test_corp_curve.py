"""Isotonic reliability curves: steps of pooled rows, and the score's decomposition beside them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib import metrics
from calib.diagnostics.corp import corp_curve
from calib.numerics import softmax

rows = st.lists(st.tuples(st.sampled_from(np.linspace(0, 1, 21).tolist()), st.booleans()), min_size=1, max_size=60)


@given(rows)
def test_steps_are_the_isotonic_regression(rows):
    confidence, correct = np.array([c for c, _ in rows]), np.array([r for _, r in rows])
    curve = corp_curve(confidence, correct)
    fit = IsotonicRegression().fit(confidence, correct)
    np.testing.assert_allclose(curve.accuracy, fit.predict(curve.confidence), atol=1e-12)
    assert (np.diff(curve.confidence) > 0).all() and (np.diff(curve.accuracy) >= 0).all()
    for level in np.unique(curve.accuracy):
        pooled = np.isclose(fit.predict(confidence), level, atol=1e-12)
        step = curve.accuracy == level
        assert (curve.count[step] == pooled.sum()).all()
        assert curve.confidence[step].min() == confidence[pooled].min()
        assert curve.confidence[step].max() == confidence[pooled].max()
        assert correct[pooled].mean() == pytest.approx(level)


def test_parts_are_the_decomposition_and_classes_are_pairs(overconfident):
    logits, labels = overconfident
    probs = softmax(logits)
    curve = corp_curve(probs, labels, target=1)
    assert curve.parts == metrics.corp(probs[:, 1], labels == 1)
    np.testing.assert_array_equal(curve.accuracy, corp_curve(probs[:, 1], labels == 1).accuracy)


def test_many_steps_stay_few_points(rng):
    confidence = rng.random(300_000)
    curve = corp_curve(confidence, rng.random(300_000) < confidence)
    assert 100 < len(curve.confidence) <= 200
    assert curve.confidence[0] == confidence.min() and curve.confidence[-1] == confidence.max()
    assert (np.diff(curve.accuracy) >= 0).all()
