"""Fast and exact separation equal their definitions, also where inputs coincide, tie or lack a class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators.geometric import exact_separation, fast_separation
from calib.calibrators.geometric.search import DISTANCES
from calib.errors import CalibrationError
from tests.calibrators.geometric import naive


@dataclass
class Case:
    train: np.ndarray
    labels: np.ndarray
    features: np.ndarray
    predicted: np.ndarray


@st.composite
def cases(draw, coincide: bool = True) -> Case:
    """Small sets on a coarse grid (ties and, if wanted, duplicates across classes) or off it, far or near."""
    seed, n, d = draw(st.integers(0, 2**32 - 1)), draw(st.integers(2, 18)), draw(st.integers(1, 5))
    n_classes = draw(st.integers(1, 4))
    generator = np.random.default_rng(seed)
    scale, offset = draw(st.sampled_from([(1.0, 0.0), (1e-3, 0.0), (1e3, 0.0), (1.0, 1e4)]))
    train, features = generator.normal(size=(n, d)) * 2, generator.normal(size=(5, d)) * 2
    if coincide and draw(st.booleans()):
        train, features = np.round(train), np.round(features)
    if draw(st.booleans()):
        features[:3] = train[generator.integers(0, n, 3)]
    predicted = generator.integers(
        0, n_classes + 1, len(features)
    )  # one class is not in the training set
    return Case(
        train * scale + offset,
        generator.integers(0, n_classes, n),
        features * scale + offset,
        predicted,
    )


def naive_of(function, case, *arguments):
    rows = zip(case.features.astype(float), case.predicted, strict=True)
    return np.array(
        [function(case.train.astype(float), case.labels, x, label, *arguments) for x, label in rows]
    )


def assert_same(values, expected, absolute=1e-9, relative=1e-12):
    assert values.dtype == np.float64
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(values[infinite], expected[infinite])
    np.testing.assert_allclose(values[~infinite], expected[~infinite], rtol=relative, atol=absolute)


@given(cases(), st.sampled_from(DISTANCES))
def test_fast_is_its_definition(case, distance):
    values = fast_separation(case.train, case.labels, case.features, case.predicted, distance)
    assert_same(values, naive_of(naive.fast, case, distance))


@given(cases())
def test_exact_is_its_definition(case):
    values = exact_separation(case.train, case.labels, case.features, case.predicted)
    assert_same(values, naive_of(naive.exact, case))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_varying", [20, 400])
def test_long_rows_of_overlapping_classes_give_their_definition(rng, dtype, n_varying):
    """400 numbers a row, of which 20 vary much or all do; rounding must rule out no pair that decides."""
    scale = np.where(np.arange(400) < n_varying, 1.0, 0.05)
    labels, predicted = rng.integers(0, 3, 120), rng.integers(0, 3, 8)
    centres = rng.normal(size=(3, 400)) * scale
    train = (rng.normal(size=(120, 400)) * scale + centres[labels]).astype(dtype)
    features = (rng.normal(size=(8, 400)) * scale + centres[predicted]).astype(dtype)
    values = exact_separation(train, labels, features, predicted)
    for x, label, value in zip(features.astype(float), predicted, values, strict=True):
        to, same = np.square(train - x).sum(axis=1), labels == label
        apart = np.linalg.norm(train[~same, None].astype(float) - train[same][None], axis=2)
        planes = (to[~same, None] - to[same]) / (2 * apart)
        assert value == pytest.approx(planes.max(axis=1).min(), rel=1e-9)


@given(cases(coincide=False), st.sampled_from([1e-19, 1e-21, 1e-24]))
def test_squares_too_small_for_float32_change_nothing(case, unit):
    case.train, case.features = ((a * unit).astype(np.float32) for a in (case.train, case.features))
    arguments = case.train, case.labels, case.features, case.predicted
    for function, by_definition in ((fast_separation, naive.fast), (exact_separation, naive.exact)):
        assert_same(function(*arguments) / unit, naive_of(by_definition, case) / unit)


@pytest.mark.parametrize("gap", [0.1, 1e-3, 1e-6])
def test_the_bound_of_proposition_3_is_tight_as_in_figure_4(gap):
    """x in 0, x'' behind an x' on one ray, another x' on the opposite side; and with the sides exchanged."""
    train = np.array([[-0.3], [1.0 - gap], [1.0]])
    for label, sign in ((0, 1), (1, -1)):
        arguments = train, np.array([0, 0, 1]), np.zeros((1, 1)), np.array([label])
        fast, exact = fast_separation(*arguments), exact_separation(*arguments)
        assert fast == pytest.approx([sign * 0.35])
        assert exact == pytest.approx([sign * (1.0 - gap / 2)], rel=1e-9)
        assert (1.0 + 0.3) / 2 - abs(exact - fast) == pytest.approx([gap / 2], rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_near_keeps_its_digits_far_from_the_origin(dtype):
    """|x|² is 10⁹ here, of which float32 keeps no distance at all."""
    base = np.full((1, 64), 4096.0, dtype)
    train = np.repeat(base, 2, axis=0)
    train[0, 0] += dtype(2**-10)
    train[1, 0] += dtype(2**-8)
    train = np.vstack([train, -base])
    values = fast_separation(train, [0, 1, 1], base, [0])
    assert values[0] == pytest.approx((2**-8 - 2**-10) / 2, rel=1e-12)
    assert fast_separation(train, [0, 1, 1], train, [0, 1, 1])[0] == pytest.approx(
        (2**-8 - 2**-10) / 2, rel=1e-12
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ([[0.0], [np.nan]], [0, 1], [[0.0]], [0]),
            "1 of 2 rows of the training features hold NaN",
        ),
        (([[0.0], [1.0]], [0, 1], [[np.inf]], [0]), "1 of 1 rows of the features hold NaN"),
        (([[0.0], [1e300]], [0, 1], [[0.0]], [0]), "far too large"),
        (([[0.0], [1.0]], [0], [[0.0]], [0]), "training labels must be 2 integers"),
        (([[0.0], [1.0]], [0.0, 1.0], [[0.0]], [0]), "training labels must be 2 integers"),
        (
            ([[0.0], [1.0]], [0, 1], [[0.0, 1.0]], [0]),
            "have 2 numbers a row but the training features have 1",
        ),
        (([[0.0], [1.0]], [0, 1], [[0.0]], [0, 1]), "predicted classes must be 1 integers"),
        (([0.0, 1.0], [0, 1], [[0.0]], [0]), "must be numbers of shape"),
        ((np.empty((0, 1)), np.empty(0, int), [[0.0]], [0]), "no rows"),
    ],
)
def test_unusable_arrays_are_refused_in_a_sentence(arguments, words):
    for separation in (fast_separation, exact_separation):
        with pytest.raises(CalibrationError, match=words):
            separation(*arguments)
