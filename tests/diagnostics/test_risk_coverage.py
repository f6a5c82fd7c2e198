"""Risk-coverage curves against loops over rows, closed forms, and the truth of simulations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.diagnostics.risk_coverage import answerable, risk_coverage, usual_error
from calib.errors import CalibrationError
from calib.metrics.bootstrap import wilson_interval

# Few different values, so that ties are common.
PAIRS = st.lists(
    st.tuples(st.sampled_from([0.3, 0.5, 0.8, 0.9, 1.0]), st.booleans()), min_size=1, max_size=7
)


@given(PAIRS)
def test_curve_is_that_of_answering_where_confidence_reaches_a_threshold(pairs) -> None:
    confidence, correct = (np.array(part) for part in zip(*pairs, strict=True))
    curve = risk_coverage(confidence, correct)
    assert curve.threshold.tolist() == sorted(set(confidence.tolist()), reverse=True)
    for entry, threshold in enumerate(curve.threshold):
        answered = confidence >= threshold
        assert curve.answered[entry] == answered.sum()
        assert curve.coverage[entry] == answered.mean()
        assert curve.risk[entry] == pytest.approx(np.mean(~correct[answered]))


@given(PAIRS)
def test_no_order_is_better_than_the_best(pairs) -> None:
    confidence, correct = zip(*pairs, strict=True)
    curve = risk_coverage(np.array(confidence), np.array(correct))
    assert (curve.best_risk(curve.coverage) <= curve.risk + 1e-12).all()


def test_band_is_wilsons_at_each_threshold(rng) -> None:
    confidence = rng.random(50)
    curve = risk_coverage(confidence, rng.random(50) < confidence)
    np.testing.assert_array_equal(
        (curve.low, curve.high), wilson_interval(curve.wrong, curve.answered)
    )


@given(PAIRS, st.floats(0, 1))
def test_answerable_is_the_largest_share_within_the_accepted_error(pairs, accepted) -> None:
    confidence, correct = (np.array(part) for part in zip(*pairs, strict=True))
    found = answerable(risk_coverage(confidence, correct), accepted)
    shares = [
        np.mean(confidence >= t)
        for t in set(confidence.tolist())
        if np.mean(~correct[confidence >= t]) <= accepted
    ]
    assert found.coverage.value == pytest.approx(max(shares, default=0.0))
    assert found.coverage.low <= found.coverage.value <= found.coverage.high
    if shares:
        assert np.mean(confidence >= found.threshold) == found.coverage.value
    else:
        assert np.isnan(found.threshold)


@pytest.mark.parametrize(
    ("accepted", "n"), [(0.05, 300), pytest.param(0.1, 1500, marks=pytest.mark.long)]
)
def test_intervals_of_the_share_hold_the_truth(accepted: float, n: int) -> None:
    """Confidence c uniform on [0.6, 1] and right with probability c: answering down to t has the risk (1 - t) / 2."""
    generator = np.random.default_rng(1)
    truth = min(1.0, 2 * accepted / 0.4)
    held = below = 0
    for _ in range(300):
        confidence = generator.uniform(0.6, 1.0, n)
        low, high = answerable(
            risk_coverage(confidence, generator.random(n) < confidence), accepted
        ).coverage[1:]
        held += low <= truth <= high
        below += low <= truth
    assert held / 300 >= 0.92
    assert below / 300 >= 0.95


def test_a_curve_needs_rows() -> None:
    with pytest.raises(CalibrationError, match="no rows"):
        risk_coverage(np.array([]), np.array([], dtype=bool))


def test_of_a_useless_model_nobody_is_asked_to_accept_every_error():
    # Decide opened at an accepted error of 100 %.
    assert usual_error(risk_coverage([0.9, 0.8, 0.7, 0.6], [False, False, False, True])) == 0.5


@given(PAIRS, st.integers(0, 1000))
def test_whole_weights_are_rows_so_often(pairs, seed) -> None:
    confidence, correct = (np.array(part) for part in zip(*pairs, strict=True))
    weights = np.random.default_rng(seed).integers(0, 4, len(pairs))
    weights[0] = 1
    curve = risk_coverage(confidence, correct, weights=weights)
    repeated = risk_coverage(np.repeat(confidence, weights), np.repeat(correct, weights))
    for name in ("threshold", "coverage", "risk"):
        np.testing.assert_allclose(getattr(curve, name), getattr(repeated, name))
    assert curve.n == (weights > 0).sum() and curve.answered[-1] == curve.n
