"""Success by separation, draws of inputs where the training set is large, and what decides one input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.calibrators.geometric.search import DISTANCES, TrainingSet, exact, nearest
from calib.diagnostics import separation
from calib.diagnostics.separation import (
    EXACT,
    LEAST,
    NEIGHBOURS,
    Sides,
    explain,
    listed,
    measured_separation,
    neighbourhood,
    success_rates,
    within_finite,
)

VALUES = st.one_of(st.floats(-3, 3, width=32), st.sampled_from([0.0, 1.0, -1.0, np.inf, -np.inf]))


@st.composite
def rows(draw) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 60))
    return draw(arrays(float, n, elements=VALUES)), draw(arrays(bool, n))


@given(rows())
def test_sides_are_what_counting_finds(given_rows) -> None:
    values, right = given_rows
    sides = Sides.from_separations(values, right)
    assert sides.everyone.rows == len(right)
    assert sides.safe.rows == sum(value > 0 for value in values)
    assert sides.safe.rows + sides.dangerous.rows == len(right)
    assert sides.dangerous.right == sum(
        bool(r) for value, r in zip(values, right, strict=True) if not value > 0
    )
    assert sides.inside.rows == sum(value >= sides.threshold for value in values)
    assert sides.inside.rows >= len(right) / 2
    assert sides.threshold in values
    for share in (sides.everyone, sides.safe, sides.dangerous, sides.inside):
        if share.rows:
            assert share.rate.low <= share.rate.value == share.right / share.rows <= share.rate.high
        else:
            assert np.isnan(share.rate.value)


def test_bins_hold_equally_many_and_infinite_values_take_the_ends() -> None:
    values = np.r_[np.arange(98.0), -np.inf, np.inf]
    assert success_rates(values, np.ones(100, dtype=bool), 10).count.tolist() == [10] * 10
    np.testing.assert_array_equal(
        within_finite(np.array([np.inf, 2.0, -1.0, -np.inf])), [2, 2, -1, -1]
    )
    np.testing.assert_array_equal(within_finite(np.array([np.inf, -np.inf])), [1, -1])


@pytest.fixture(scope="module")
def searched() -> tuple[TrainingSet, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    training = TrainingSet.from_arrays(generator.normal(size=(60, 3)), np.arange(60) % 3)
    return training, *training.queries(
        generator.normal(size=(150, 3)), generator.integers(0, 3, 150)
    )


@pytest.mark.parametrize("kind", [*DISTANCES, EXACT])
def test_all_inputs_are_measured_in_their_order_or_a_seeded_draw_of_a_few(
    searched, monkeypatch, kind
) -> None:
    training, features, predicted = searched
    found = measured_separation(training, features, predicted, kind)
    np.testing.assert_array_equal(found.rows, np.arange(150))
    if kind == EXACT:
        expected = exact(training, features, predicted).exact
    else:
        expected = nearest(training, features, predicted, kind).fast
    np.testing.assert_allclose(found.separation, expected, rtol=1e-12)
    monkeypatch.setitem(separation.SEARCHED, kind, 0.0)
    few, again = (measured_separation(training, features, predicted, kind) for _ in range(2))
    other = measured_separation(training, features, predicted, kind, random_state=1)
    assert len(few.rows) == LEAST < few.n == 150
    np.testing.assert_array_equal(few.rows, again.rows)
    assert set(few.rows) != set(other.rows)
    np.testing.assert_allclose(few.separation, expected[few.rows], rtol=1e-9)
    assert len(measured_separation(training, features[:9], predicted[:9], kind).rows) == 9


def test_an_input_is_explained_by_the_training_rows_that_give_its_separations(rng) -> None:
    train, labels = rng.normal(size=(80, 5)), np.arange(80) % 3
    training = TrainingSet.from_arrays(train, labels)
    for feature in rng.normal(size=(20, 5)):
        why = explain(training, feature, 1)
        away = np.linalg.norm(train - feature, axis=1)
        assert why.same_row == np.flatnonzero(labels == 1)[away[labels == 1].argmin()]
        assert why.other_row == np.flatnonzero(labels != 1)[away[labels != 1].argmin()]
        assert why.fast == pytest.approx((away[why.other_row] - away[why.same_row]) / 2)
        assert labels[why.deciding_same_row] == 1 != labels[why.deciding_other_row]
        same, other = train[why.deciding_same_row], train[why.deciding_other_row]
        normal = (other - same) / np.linalg.norm(other - same)
        assert why.exact == pytest.approx(normal @ ((same + other) / 2 - feature), abs=1e-9)
        assert why.safe == (why.fast > 0)


def test_rows_are_listed_in_the_order_asked_for() -> None:
    right = np.array([False, True, False, True, False])
    given = np.array([0.1, -0.2, 0.3, np.inf, -0.5]), right, np.array([0.6, 0.9, 0.8, 1.0, 0.7])
    assert listed("Lowest separation", *given).tolist() == [4, 1, 0, 2, 3]
    assert listed("Wrong and most confident", *given).tolist() == [2, 4, 0]
    assert listed("Wrong though safe", *given).tolist() == [2, 0]


@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_a_neighbourhood_has_the_nearest_of_both_sides_at_their_distances(rng, n_features) -> None:
    train, labels = rng.normal(size=(300, n_features)), rng.integers(0, 3, 300)
    feature = rng.normal(size=n_features)
    around = neighbourhood(TrainingSet.from_arrays(train, labels), feature, 1, [7, 8])
    away = np.array([sum((row - feature) ** 2) ** 0.5 for row in train])
    expected = {7, 8}
    for side in (labels == 1, labels != 1):
        limit = sorted(away[side])[NEIGHBOURS - 1]
        expected |= {row for row in range(300) if side[row] and away[row] <= limit}
    assert set(around.rows.tolist()) == expected
    assert around.same.tolist() == [labels[row] == 1 for row in around.rows]
    np.testing.assert_allclose(np.linalg.norm(around.places, axis=1), away[around.rows], rtol=1e-12)
    if n_features <= 2:
        assert around.share == pytest.approx(1.0)


def test_a_neighbourhood_in_two_dimensions_is_the_plane_itself(rng) -> None:
    train, labels = rng.normal(size=(50, 2)), rng.integers(0, 2, 50)
    around = neighbourhood(TrainingSet.from_arrays(train, labels), np.array([0.2, 0.1]), 0)
    inputs = train[around.rows]
    np.testing.assert_allclose(
        np.linalg.norm(around.places[:, None] - around.places, axis=2),
        np.linalg.norm(inputs[:, None] - inputs, axis=2),
        atol=1e-12,
    )


def test_a_neighbourhood_lies_along_its_principal_axes(rng) -> None:
    train = rng.normal(size=(30, 4)) * [0.01, 3.0, 0.02, 1.0]
    labels = np.arange(30) % 2
    around = neighbourhood(TrainingSet.from_arrays(train, labels), np.zeros(4), 0)
    gaps = train[around.rows]
    _, vectors = np.linalg.eigh(np.cov(gaps.T))
    plane = gaps @ vectors[:, [-1, -2]]
    share = (plane**2).sum() / (gaps**2).sum()
    plane /= np.linalg.norm(plane, axis=1, keepdims=True)
    directions = around.places / np.linalg.norm(around.places, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(directions), np.abs(plane), atol=1e-9)
    assert around.share == pytest.approx(share)
    assert (around.places[0] >= 0).all()
