"""Texts as arrays: their bytes and letters, and how many differ."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data import inspect
from calib.data.limits import MAX_CLASSES
from calib.data.read.arrays import plain_text
from calib.data.read.base import distinct
from tests.data.conftest import npz_bytes


def packed(n=None, **arrays):
    """A packed npz of two classes, with further arrays."""
    n = n or len(next(iter(arrays.values())))
    return "a.npz", npz_bytes(**{"probs": np.full((n, 2), 0.5), "labels": np.arange(n) % 2, **arrays})


@pytest.mark.parametrize("form", ["npz", "csv", "json"])
def test_more_labels_than_classes_are_refused_before_they_are_sorted(form):
    n = MAX_CLASSES + 1
    names = np.char.add("k", np.arange(n).astype(str))
    lines = {"csv": ("{},.5,.5\n", "label,p_0,p_1\n"), "json": ('{{"label": "{}", "p_0": 0.5, "p_1": 0.5}}\n', "")}
    if form == "npz":
        upload = packed(labels=names)
    else:
        line, head = lines[form]
        upload = f"a.{form}", (head + "".join(map(line.format, names.tolist()))).encode()
    choices = {"roles": {"outcome": "label", "outputs": ["p_0", "p_1"]}} if form != "npz" else {}
    error = inspect(upload, **choices).findings[0]
    assert error.code == "label_too_large" and "more than 100,000 different labels" in error.message


@pytest.mark.parametrize("kind", ["U3", ">U3", "f8", "i8", "b", "nan"])
def test_different_values_are_those_of_numpy(kind):
    numbers = np.random.default_rng(0).integers(0, 300, 200_000)
    values = np.where(numbers < 9, np.nan, numbers / 8) if kind == "nan" else (numbers % 100).astype("U3").astype(kind)
    found, positions = distinct(values)
    expected, places = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found[positions], values)
    np.testing.assert_array_equal(positions, places.reshape(-1))


def test_bytes_are_read_as_utf8():
    texts = np.array([[b"cat", "né".encode()], [b"\xff", b""]], dtype="S90")
    read = plain_text(texts)
    assert read.tolist() == [["cat", "né"], ["\ufffd", ""]] and read.dtype == "<U3"
    data = inspect(packed(labels=np.array(["é".encode(), b"b"] * 30), class_names=np.array(["é".encode(), b"b"])))
    assert data.predictions.class_names == ("é", "b")
