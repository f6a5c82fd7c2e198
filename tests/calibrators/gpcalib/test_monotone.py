"""``monotone=True`` changes no predicted class: random posteriors, real fits, and the proof's own steps."""

from __future__ import annotations

import numpy as np
import pytest

from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.prediction import (
    SMALLEST_SLOPE,
    keep_predicted,
    monotone_shifts,
)
from calib.numerics import softmax


@pytest.mark.parametrize("space", ["logits", "probs"])
@pytest.mark.parametrize("size", [64, 2048])
def test_the_proof_holds_without_the_last_bit(space, size):
    """Between any two inputs, of one segment or of several: ``g`` and ``mu + log r`` rise by their least slope."""
    grid = Grid(-40.0, 40.0, size, order=1) if space == "logits" else Grid(0.0, 1.0, size, order=1)
    generator = np.random.default_rng(size)
    shifts = (
        np.cumsum(generator.normal(size=(5, size)), axis=1) * 30.0 * grid.spacing - 3.0 * grid.nodes
    )
    rising = monotone_shifts(shifts, grid, space)
    at = np.sort(np.concatenate([generator.uniform(grid.low, grid.high, 20_000), grid.nodes]))
    at = at[at > 0] if space == "probs" else at
    mu = at if space == "logits" else np.log(at)
    least = SMALLEST_SLOPE * np.diff(at) * (1.0 - 1e-6) - 1e-11
    for shift in rising:
        assert (np.diff(mu + grid.interpolate(shift, at)) > least).all()
    # Draws: exp(a) is interpolated, and added over draws with any positive weights.
    weights = generator.exponential(size=(50, 5)) ** 4
    for weight in weights:
        ratio = weight @ np.exp(rising - rising.max(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            assert (np.diff(mu + np.log(grid.interpolate(ratio, at))) > least).all()


def test_the_last_bit_moves_no_probability_and_no_ordered_row():
    generator = np.random.default_rng(0)
    logits = 3.0 * generator.normal(size=(500, 4))
    logits[:200, 1] = logits[:200, 0] * (1.0 + 1e-15 * generator.normal(size=200))
    grid = Grid(-10.0, 10.0, 2048, order=1)
    shift = monotone_shifts(-0.98 * grid.nodes, grid, "logits")
    probs = softmax(logits + grid.interpolate(shift, logits))
    kept = probs.copy()
    keep_predicted(kept, logits)
    assert np.abs(kept - probs).max() < 1e-12
    np.testing.assert_array_equal(kept[200:], probs[200:])
    assert (probs.argmax(axis=1) != logits.argmax(axis=1)).any()  # else there was nothing to keep
    np.testing.assert_array_equal(kept.argmax(axis=1), logits.argmax(axis=1))
