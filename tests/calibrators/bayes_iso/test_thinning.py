from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators.thinning import TOLERANCE, thin


@given(st.lists(st.floats(1e-9, 1 - 1e-9), min_size=1, max_size=60))
def test_what_is_left_says_nearly_the_same(values):
    values = np.sort(np.array(values))
    knots = np.cumsum(np.random.default_rng(0).random(len(values)) + 0.01)
    kept = thin(knots, values)
    assert (np.diff(kept) > 0).all()
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    off = np.interp(knots, knots[kept], values[kept]) - values
    assert (off**2 <= TOLERANCE * values * (1 - values) * (1 + 1e-9)).all()


def test_a_line_needs_its_ends_and_a_bend_one_more():
    knots = np.linspace(0, 1, 1001)
    np.testing.assert_array_equal(thin(knots, 0.2 + 0.5 * knots), [0, 1000])
    np.testing.assert_array_equal(thin(knots, 0.2 + 0.5 * np.maximum(knots, 0.4)), [0, 400, 1000])


def test_a_smooth_map_of_many_knots_keeps_few():
    knots = np.linspace(-8, 8, 100_000)
    assert len(thin(knots, 1 / (1 + np.exp(-knots)))) < 200
