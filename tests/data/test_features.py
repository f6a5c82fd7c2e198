"""Features of every shape and type, and what is no feature: kept as they are, or left out without a loss elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes

from calib.data import inspect, load
from calib.data.assemble.features import alike, as_features, bad_feature_rows, mean_and_scale, row_hashes
from calib.data.options import Choices
from calib.numerics import blocks
from tests.conftest import ROOT
from tests.data.conftest import cases, the


def read(array, name="features"):
    step = as_features(np.asarray(array), name)
    return step.value, [f.code for f in step.findings]


def counted(*shape, dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


# -- shapes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept", "codes"),
    [
        ((9,), (9, 1), []),
        ((9, 5), (9, 5), []),
        ((9, 8, 6), (9, 8, 6), []),
        ((9, 8, 6, 1), (9, 8, 6, 1), []),
        ((9, 8, 6, 3), (9, 8, 6, 3), []),
        ((9, 3, 3, 3), (9, 3, 3, 3), []),
        ((9, 3, 8, 6), (9, 8, 6, 3), ["channels_first"]),
        ((9, 1, 8, 6), (9, 8, 6, 1), ["channels_first"]),
        ((9, 1, 8, 3), (9, 8, 3, 1), ["channels_first"]),
        ((9, 1, 5), (9, 5), ["features_flattened"]),
        ((9, 5, 1), (9, 5), ["features_flattened"]),
        ((9, 512, 1, 1), (9, 512), ["features_flattened"]),
        ((9, 7, 7, 4), (9, 196), ["features_flattened"]),
        ((9, 2, 3, 2, 2), (9, 24), ["features_flattened"]),
    ],
)
def test_shapes(given, kept, codes):
    array = counted(*given)
    features, found = read(array)
    assert features.shape == kept and found == codes
    expected = np.moveaxis(array, 1, -1) if codes == ["channels_first"] else array
    np.testing.assert_array_equal(features.reshape(9, -1), expected.reshape(9, -1))


@given(array_shapes(min_dims=2, max_dims=6, max_side=4))
def test_no_number_is_lost_and_rows_stay_rows(shape):
    array = counted(*shape)
    features, _ = read(array)
    assert features.ndim in (2, 3, 4) and features.flags.c_contiguous
    for row, given_row in zip(features, array, strict=True):
        np.testing.assert_array_equal(np.sort(row, axis=None), np.sort(given_row, axis=None))


def test_channels_are_turned_as_a_picture_says():
    """A red image stays red."""
    red = np.zeros((2, 3, 4, 5), np.uint8)
    red[:, 0] = 200
    features, _ = read(red)
    np.testing.assert_array_equal(features[..., 0], 200)
    assert not features[..., 1:].any()


# -- types ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        (np.uint8, np.uint8),
        (np.bool_, np.uint8),
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int16, np.float32),
        (np.int64, np.float64),
        (">f4", np.float32),
        (">f8", np.float64),
    ],
)
def test_types(dtype, kept):
    array = np.array([[0, 1], [1, 1]]).astype(dtype)
    features, _ = read(array)
    assert features.dtype == kept
    np.testing.assert_array_equal(features, array)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5, 4), (5, 8, 8), (5, 8, 8, 3), (5, 1, 8, 8)])
def test_nothing_is_copied_without_need(dtype, shape):
    array = np.zeros(shape, dtype)
    assert np.shares_memory(read(array)[0], array)


def test_two_types_meet_in_float32():
    for first, second in [(np.uint8, np.float64), (np.float32, np.float64), (np.uint8, np.float32)]:
        pair = alike(counted(3, 4, dtype=first), counted(2, 4, dtype=second)).value
        assert [array.dtype for array in pair] == [np.float32] * 2
    same = counted(3, 4, dtype=np.uint8), counted(2, 4, dtype=np.uint8)
    assert alike(*same).value == same


# -- what is left out ----------------------------------------------------------------------------------

HOSTILE = [
    ("objects", lambda m: np.array([None] * 300), "object_dtype"),
    ("lists of different lengths", lambda m: np.array([[1], [1, 2]] * 150, dtype=object), "object_dtype"),
    ("records", lambda m: np.zeros(300, dtype=[("a", "f4"), ("b", "f4")]), "structured_dtype"),
    ("strings", lambda m: np.array(["left", "right"] * 150), "dtype"),
    ("complex numbers", lambda m: np.ones((300, 2), complex), "complex"),
    ("dates", lambda m: np.zeros((300, 2), "datetime64[s]"), "dtype"),
    ("no columns", lambda m: np.zeros((300, 0)), "features"),
    ("no pixels", lambda m: np.zeros((300, 8, 0, 3)), "features"),
    ("one number", lambda m: np.float64(3), "rows_differ_beside"),
    ("fewer rows", lambda m: np.zeros((299, 4)), "rows_differ_beside"),
    ("columns by rows", lambda m: np.zeros((4, 300)), "rows_differ_beside"),
    ("nothing but NaN", lambda m: np.full((300, 2), np.nan), "features_not_finite"),
    ("one column of NaN", lambda m: np.c_[np.ones(300), np.full(300, np.nan)], "features_not_finite"),
]


@cases("build, code", HOSTILE)
@pytest.mark.parametrize("drop", [None, True])
def test_what_is_no_feature_is_left_out_and_the_rest_stays(make, build, code, drop):
    data = load(make.both(features=build(make)), drop_bad_rows=drop)
    assert data.features is None
    np.testing.assert_array_equal(data.logits, make.logits)
    finding = the(data, code)
    assert finding.level == "warning" and finding.action
    assert "features" in finding.message


@pytest.mark.parametrize(
    ("build", "fragment"),
    [
        (lambda m: np.zeros((4, 6)), "train_features has the shape (4, 6) but train_labels has the shape (3,)"),
        (lambda m: np.array([None] * 3), "train_features in outputs.npz holds Python objects"),
        (lambda m: np.zeros((3, 0)), "train_features has the shape (3, 0)"),
        (lambda m: np.full((3, 6), np.inf), "3 hold NaN, infinite or far too large values"),
    ],
)
def test_a_training_set_that_cannot_be_used_leaves_the_features(make, build, fragment):
    features = np.random.default_rng(0).normal(size=(300, 6))
    path = make.both(features=features, train_features=build(make), train_labels=np.arange(3))
    data = load(path)
    np.testing.assert_array_equal(data.features, features)
    assert data.train_features is None and data.train_labels is None
    assert any(fragment in f.message and f.level == "warning" for f in data.findings), data.findings


def test_a_huge_header_is_refused_before_memory_is_taken(make):
    """300 rows of 10 GB in 128 bytes, in a file of their own."""
    bomb = make.file("bomb.npy", make.header((300, 1_250_000_000)))
    found = inspect(make.both(), features=bomb)
    warning = the(found, "too_large")
    assert "bomb.npy would take 3,000 GB" in warning.message and warning.level == "warning"
    np.testing.assert_array_equal(found.predictions.logits, make.logits)


def test_features_beyond_the_allowance_are_left_out(make, monkeypatch):
    monkeypatch.setattr("calib.data.read.base.MAX_BYTES", 100_000)
    data = load(make.both(features=np.zeros((300, 60))))
    assert data.features is None and len(data) == 300
    assert next(f for f in data.findings if f.level == "warning").code == "too_large"


# -- rows of NaN ---------------------------------------------------------------------------------------


def test_rows_with_nan_are_counted_and_left_out_in_one_click(make, rng):
    features = rng.normal(size=(300, 3))
    features[[2, 5, 299], 1] = np.nan, np.inf, -np.inf
    path = make.both(features=features)
    found = inspect(path)
    warning = the(found, "features_not_finite")
    assert "3 rows of 300 in features hold NaN, infinite or far too large values" in warning.message
    assert found.predictions.features is None and len(found.predictions) == 300
    mended = load(path, **warning.fix)
    keep = np.delete(np.arange(300), [2, 5, 299])
    np.testing.assert_array_equal(mended.features, features[keep])
    np.testing.assert_array_equal(mended.logits, make.logits[keep])
    np.testing.assert_array_equal(mended.labels, make.labels[keep])


def test_bad_rows_are_found_in_every_block(monkeypatch):
    monkeypatch.setattr("calib.data.assemble.features.blocks", partial(blocks, entries=10))
    features = np.zeros((50, 2, 2), np.float32)
    features[[0, 7, 49], 1, 0] = np.nan, np.inf, -np.inf
    np.testing.assert_array_equal(np.flatnonzero(bad_feature_rows(features)), [0, 7, 49])
    assert not bad_feature_rows(np.full((5, 2), 255, np.uint8)).any()


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 3e38), (np.float64, 1e308)])
@pytest.mark.parametrize("standardise", [None, True])
def test_values_whose_squares_overflow_are_no_features(make, rng, dtype, large, standardise):
    features = rng.normal(size=(300, 3)).astype(dtype)
    features[0], features[1] = large, -large
    arrays = {"train_features": features[20:60] + 1, "train_labels": np.arange(40) % 4}
    found = inspect(make.both(features=features, **arrays), choices=Choices(standardise=standardise))
    assert "2 rows of 300 in features" in the(found, "features_not_finite").message
    assert found.predictions.features is None
    small = arrays["train_features"][np.arange(300) % 40]
    path = make.both(features=small, train_features=features[:40], train_labels=arrays["train_labels"])
    turned = inspect(path, choices=Choices(standardise=standardise))
    assert "2 rows of 40 in train_features" in the(turned, "train_not_finite").message


# -- hashes and scales ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 8, 65])
def test_hashes_are_equal_where_rows_are(dtype, width, monkeypatch):
    """Small whole numbers, whose last bits as floats are all zero."""
    generator = np.random.default_rng(width)
    rows = generator.integers(0, 4, size=(3000, width)).astype(dtype)
    _, same = np.unique(rows, axis=0, return_inverse=True)
    hashes = row_hashes(rows)
    assert len(np.unique(hashes)) == same.max() + 1
    _, as_hashed = np.unique(hashes, return_inverse=True)
    pairs = set(zip(same.reshape(-1).tolist(), as_hashed.tolist(), strict=True))
    assert len(pairs) == same.max() + 1, "one hash for each row that differs"
    monkeypatch.setattr("calib.data.assemble.features.blocks", partial(blocks, entries=100))
    np.testing.assert_array_equal(row_hashes(rows), hashes)


def test_mean_and_scale_are_those_of_numpy(rng):
    features = rng.normal(3, 10, size=(500, 4, 2)).astype(np.float32)
    features[:, 1, 1] = 0.1  # never varies
    mean, scale = mean_and_scale(features)
    exact = features.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(axis=0), rtol=1e-12)
    expected = exact.std(axis=0)
    expected[1, 1] = 1
    np.testing.assert_allclose(scale, expected, rtol=1e-10)


# -- memory --------------------------------------------------------------------------------------------

MEASURE = """
import re, sys
from pathlib import Path
from calib.data import load
data = load(sys.argv[1])
assert data.features.dtype == "uint8" and data.train_features.shape == (16000, 32, 32, 3), data.findings
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from Linux's /proc")
def test_images_are_never_copied_as_floats(make):
    """32,000 colour images of 98 MB: a copy of half of them as float32 alone would take 197 MB."""
    images = np.random.default_rng(0).integers(0, 256, (16_000, 32, 32, 3), dtype=np.uint8)
    logits = np.eye(4, dtype=np.float32)[np.arange(16_000) % 4] * 2 - 1
    labels = np.arange(16_000) % 4
    path = make.both(logits, labels, features=images, train_features=images[::-1] ^ 1, train_labels=labels)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 270 * 1024
