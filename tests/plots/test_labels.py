from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calib.plots.annotations import spread

places = st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=12)


@given(places)
def test_labels_keep_their_distance_order_and_room(wanted: list[float]) -> None:
    placed = spread(wanted, 0.05, 0.0, 1.0)
    order = np.argsort(wanted, kind="stable")
    assert np.all(np.diff(placed[order]) >= 0.05 - 1e-9)
    assert placed.min() >= -1e-9
    assert placed.max() <= 1 + 1e-9


@given(places)
def test_more_labels_than_room_share_it(wanted: list[float]) -> None:
    placed = np.sort(spread(wanted, 0.5, 0.0, 1.0))
    expected = min(0.5, 1.0 / max(1, len(wanted) - 1))
    assert np.all(np.diff(placed) >= expected - 1e-9)


def test_labels_far_apart_do_not_move() -> None:
    np.testing.assert_allclose(spread([0.9, 0.1, 0.5], 0.05, 0, 1), [0.9, 0.1, 0.5])


def test_two_labels_in_one_place_move_equally() -> None:
    np.testing.assert_allclose(spread([0.5, 0.5], 0.1, 0, 1), [0.45, 0.55])
