"""Separations under a time limit: what is reached equals what is asked of all, and the draw is seeded."""

from __future__ import annotations

import numpy as np
import pytest

from calib import geometry
from calib.diagnostics.timed import EXACT, LEAST, timed_separation


@pytest.fixture(scope="module")
def searched() -> tuple[geometry.TrainingSet, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    training = geometry.TrainingSet.of(generator.normal(size=(60, 3)), np.arange(60) % 3)
    return training, *training.queries(generator.normal(size=(150, 3)), generator.integers(0, 3, 150))


@pytest.mark.parametrize("kind", [*geometry.DISTANCES, EXACT])
def test_with_time_enough_all_rows_are_reached_in_their_order(searched, kind) -> None:
    training, features, predicted = searched
    timed = timed_separation(training, features, predicted, kind, 60.0)
    assert timed.whole
    np.testing.assert_array_equal(timed.rows, np.arange(150))
    distance = "l2" if kind == EXACT else kind
    np.testing.assert_allclose(timed.fast, geometry.nearest(training, features, predicted, distance).fast, rtol=1e-12)
    expected = geometry.exact(training, features, predicted).separation if kind == EXACT else timed.fast
    np.testing.assert_allclose(timed.separation, expected, rtol=1e-12)
    assert np.all(np.abs(timed.fast) <= np.abs(timed.separation))
    assert timed.per_second > 0


@pytest.mark.parametrize("kind", ["l1", EXACT])
def test_without_time_the_least_are_reached_in_a_seeded_order(searched, kind) -> None:
    training, features, predicted = searched
    timed = timed_separation(training, features, predicted, kind, 0.0)
    again = timed_separation(training, features, predicted, kind, 0.0)
    other = timed_separation(training, features, predicted, kind, 0.0, random_state=1)
    assert len(timed.rows) == LEAST
    assert timed_separation(training, features[:9], predicted[:9], kind, 0.0).whole
    assert not timed.whole
    assert timed.n == 150
    np.testing.assert_array_equal(timed.rows, again.rows)
    assert set(timed.rows) != set(other.rows)
    whole = timed_separation(training, features, predicted, kind, 60.0)
    np.testing.assert_allclose(timed.separation, whole.separation[timed.rows], rtol=1e-12)
