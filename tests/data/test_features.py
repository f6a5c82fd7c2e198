"""Features of every shape and type, and what is no feature: kept as they are, or left out without a loss elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data import load
from calib.data.build.features import as_features
from tests.data.conftest import cases, the


def counted(*shape, dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ((9,), (9, 1)),
        ((9, 8, 6, 3), (9, 8, 6, 3)),
        ((9, 3, 3, 3), (9, 3, 3, 3)),
        ((9, 3, 8, 6), (9, 8, 6, 3)),
        ((9, 512, 1, 1), (9, 512)),
    ],
)
def test_shapes(given, kept):
    array = counted(*given)
    features = as_features(array, "features")
    assert features.shape == kept
    channels_first = given == (9, 3, 8, 6)
    expected = np.moveaxis(array, 1, -1) if channels_first else array
    np.testing.assert_array_equal(features.reshape(9, -1), expected.reshape(9, -1))


def test_types():
    for dtype, kept in {
        "u1": "u1",
        "?": "u1",
        "f2": "f4",
        "i2": "f4",
        "i8": "f8",
        ">f4": "f4",
    }.items():
        array = np.array([[0, 1], [1, 1]]).astype(dtype)
        features = as_features(array, "features")
        assert features.dtype == kept
        np.testing.assert_array_equal(features, array)


HOSTILE = [
    ("objects", lambda m: np.array([None] * 300), "object_dtype"),
    ("strings", lambda m: np.array(["left", "right"] * 150), "dtype"),
    ("no columns", lambda m: np.zeros((300, 0)), "features"),
    ("one number", lambda m: np.float64(3), "rows_differ_beside"),
    ("columns by rows", lambda m: np.zeros((4, 300)), "rows_differ_beside"),
    ("nothing but NaN", lambda m: np.full((300, 2), np.nan), "features_not_finite"),
    (
        "one column of NaN",
        lambda m: np.c_[np.ones(300), np.full(300, np.nan)],
        "features_not_finite",
    ),
]


TRAINING = {"train_features": np.zeros((40, 3)), "train_labels": np.arange(40) % 4}
"""Without a training set no features are read."""


@cases("build, code", HOSTILE)
def test_what_is_no_feature_is_left_out_and_the_rest_stays(make, build, code):
    data = load(make.both(features=build(make), **TRAINING))
    assert data.features is None
    np.testing.assert_array_equal(data.logits, make.logits)
    finding = the(data, code)
    assert finding.level == "warning" and finding.action
    assert "features" in finding.message


def test_rows_with_nan_are_counted_and_cost_the_features_alone(make, rng):
    features = rng.normal(size=(300, 3))
    features[[2, 5, 299], 1] = np.nan, np.inf, -np.inf
    data = load(make.both(features=features, **TRAINING))
    warning = the(data, "features_not_finite")
    assert "3 rows of 300 in features hold NaN, infinite or far too large values" in warning.message
    assert "without these rows" in warning.action
    assert data.features is None and len(data) == 300


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 3e38), (np.float64, 1e308)])
def test_values_whose_squares_overflow_are_no_features(make, rng, dtype, large):
    features = rng.normal(size=(300, 3)).astype(dtype)
    features[0], features[1] = large, -large
    data = load(make.both(features=features, **TRAINING))
    assert (
        "2 rows of 300 in features" in the(data, "features_not_finite").message
        and data.features is None
    )
    small = features[20:60][np.arange(300) % 40] + 1
    path = make.both(features=small, train_features=features[:40], train_labels=np.arange(40) % 4)
    turned = load(path)
    assert "Of 40 rows of the training set 2 hold" in the(turned, "train_rows_bad").message
