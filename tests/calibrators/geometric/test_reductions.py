"""Each reduction is what its name says, learns from the training set alone and survives a round trip."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from calib.calibrators.geometric.reductions import (
    OF_IMAGES,
    REDUCTIONS,
    reduce_training,
    shrink_bilinear,
)
from calib.errors import CalibrationError


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 4), st.sampled_from(["mean", "max"]))
def test_pooling_is_the_mean_or_maximum_of_each_window(height, width, factor, kind):
    images = np.random.default_rng(height * 7 + width).normal(size=(3, height, width))
    statistic = {"mean": np.mean, "max": np.max}[kind]
    expected = [
        [[statistic(image[i : i + factor, j : j + factor]) for j in range(0, width, factor)]
         for i in range(0, height, factor)]
        for image in images
    ]  # fmt: skip
    np.testing.assert_allclose(
        OF_IMAGES[f"{kind}_pool"](images, factor), expected, rtol=1e-12, atol=1e-12
    )


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
def test_bilinear_interpolates_at_the_centres_of_the_coarse_grid(height, width, factor):
    images = np.random.default_rng(height * 9 + width).normal(size=(2, height, width))
    new = -(-height // factor), -(-width // factor)
    centres = [
        np.clip((np.arange(n) + 0.5) * size / n - 0.5, 0, size - 1)
        for n, size in zip(new, (height, width), strict=True)
    ]
    grid = np.meshgrid(*centres, indexing="ij")
    expected = [map_coordinates(image, grid, order=1) for image in images]
    np.testing.assert_allclose(shrink_bilinear(images, factor), expected, atol=1e-12)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(30, 8, 8), (30, 8, 8, 3), (30, 64)])
def test_the_training_set_shrinks_by_the_factor_squared_and_new_inputs_as_it_did(rng, name, shape):
    features, labels = rng.normal(size=shape).astype(np.float32), rng.integers(0, 3, 30)
    reduced = reduce_training(name, 2, features, labels, 0)
    n_numbers = int(np.prod(shape[1:])) if name == "none" else 64
    by_rows = name in ("kmeans", "random_set")
    by_numbers = not by_rows and name != "none"
    assert reduced.train_features.shape[1] == (16 if by_numbers else n_numbers)
    expected = sum(max(1, round(np.sum(labels == c) / 4)) for c in range(3)) if by_rows else 30
    assert len(reduced.train_features) == len(reduced.train_labels) == expected
    assert set(reduced.train_labels) == set(labels)
    assert reduced.train_features.dtype == np.float32
    if not by_rows:
        np.testing.assert_allclose(reduced.transform(features), reduced.train_features, atol=1e-5)
        np.testing.assert_allclose(
            reduced.transform(features[:1]), reduced.train_features[:1], atol=1e-5
        )
        np.testing.assert_array_equal(
            reduced.transform(features.reshape(30, -1)), reduced.transform(features)
        )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("crop", 2, np.ones((2, 4)), [0, 1]), "'crop' is not one of none"),
        (("pca", 0, np.ones((2, 4)), [0, 1]), "factor=0 must be at least 1"),
        (("max_pool", 2, np.ones((2, 5)), [0, 1]), "rows of 5 numbers are no square image"),
        (("pca", 2, np.ones((2, 4, 4, 2)), [0, 1]), "1, 3 or 4 channels"),
        (("pca", 2, np.ones((2, 4)), [0]), "training labels must be 2 integers"),
        (("none", 1, [[np.nan], [1.0]], [0, 1]), "hold NaN"),
    ],
)
def test_what_cannot_be_reduced_is_refused_in_a_sentence(arguments, words):
    with pytest.raises(CalibrationError, match=words):
        reduce_training(*arguments)
