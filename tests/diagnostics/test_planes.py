"""Planes on which one input is drawn: true distances in the one, never longer ones in the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib import geometry
from calib.diagnostics.planes import DecidingPlane, principal_plane

POINTS = st.integers(1, 6).flatmap(lambda d: arrays(float, (3, d), elements=st.floats(-5, 5, width=16)))


@given(POINTS)
def test_distances_among_the_three_are_true(points) -> None:
    feature, same, other = points
    assume(np.linalg.norm(same - other) > 1e-3)
    plane = DecidingPlane.through(feature, same, other)
    assert np.linalg.norm(plane.same) == pytest.approx(np.linalg.norm(same - feature), abs=1e-8)
    assert np.linalg.norm(plane.other) == pytest.approx(np.linalg.norm(other - feature), abs=1e-8)
    assert np.linalg.norm(plane.same - plane.other) == pytest.approx(np.linalg.norm(same - other), abs=1e-8)
    assert plane.same[0] < plane.other[0]
    gap = ((feature - other) ** 2).sum() - ((feature - same) ** 2).sum()
    assert plane.border == pytest.approx(gap / (2 * np.linalg.norm(same - other)), abs=1e-8)


def test_the_border_is_the_exact_separation_of_the_pair_that_decides(rng) -> None:
    train, labels = rng.normal(size=(80, 5)), np.arange(80) % 3
    training = geometry.TrainingSet.of(train, labels)
    for feature in rng.normal(size=(20, 5)):
        why = geometry.explain_among(training, feature, 1)
        plane = DecidingPlane.through(feature, train[why.deciding_same_row], train[why.deciding_other_row])
        assert plane.border == pytest.approx(why.exact, abs=1e-9)


@pytest.mark.parametrize("shape", [(200, 5), (30, 90)])
def test_components_are_those_of_scikit_learn(rng, shape) -> None:
    from sklearn.decomposition import PCA

    features = rng.normal(size=shape) * np.linspace(3, 0.1, shape[1])
    plane = principal_plane(geometry.TrainingSet.of(features, np.arange(len(features)) % 2))
    fitted = PCA(2, svd_solver="full").fit(features)
    assert plane.kept == pytest.approx(fitted.explained_variance_ratio_.sum())
    np.testing.assert_allclose(np.abs(plane.places), np.abs(fitted.transform(features)), atol=1e-8)
    np.testing.assert_allclose(plane.place(features), plane.places, atol=1e-8)


def test_places_are_never_farther_apart_than_the_inputs(rng) -> None:
    features = rng.normal(size=(50, 8))
    plane = principal_plane(geometry.TrainingSet.of(features, np.arange(50) % 2))
    others = rng.normal(size=(40, 8))
    apart = np.linalg.norm(others[:, None] - features, axis=2)
    drawn = np.linalg.norm(plane.place(others)[:, None] - plane.places, axis=2)
    assert np.all(drawn <= apart + 1e-9)


@pytest.mark.parametrize("features", [np.zeros((1, 3)), np.zeros((5, 4)), np.arange(6.0)[:, None]])
def test_data_of_fewer_dimensions_have_zeros_for_the_rest(features) -> None:
    plane = principal_plane(geometry.TrainingSet.of(features, np.zeros(len(features), dtype=int)))
    assert plane.places.shape == (len(features), 2)
    assert np.all(plane.places[:, 1] == 0)
    assert plane.kept == pytest.approx(1.0)


def test_of_many_inputs_a_seeded_draw_is_shown(rng) -> None:
    training = geometry.TrainingSet.of(rng.normal(size=(3000, 2)), np.arange(3000) % 2)
    first, second = principal_plane(training), principal_plane(training)
    assert len(first.rows) == len(np.unique(first.rows)) == 1000
    np.testing.assert_array_equal(first.rows, second.rows)
    np.testing.assert_allclose(first.place(training.features[first.rows]), first.places, atol=1e-9)
