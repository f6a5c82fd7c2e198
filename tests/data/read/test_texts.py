"""Texts as arrays: their bytes and letters, and how many differ."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data import inspect
from calib.data.findings import MAX_CLASSES
from calib.data.read.base import distinct, plain_text
from tests.conftest import npz_bytes
from tests.data.conftest import csv_bytes


@pytest.mark.parametrize("form", ["npz", "csv"])
def test_more_labels_than_classes_are_refused_before_they_are_sorted(form):
    names = [f"k{j}" for j in range(MAX_CLASSES + 1)]
    halves = np.full((len(names), 2), 0.5)
    content = {
        "npz": lambda: npz_bytes(probs=halves, labels=np.array(names)),
        "csv": lambda: csv_bytes(label=names, p_0=halves[:, 0], p_1=halves[:, 1]),
    }[form]
    choices = {} if form == "npz" else {"roles": {"outcome": "label", "outputs": ["p_0", "p_1"]}}
    error = inspect((f"a.{form}", content()), **choices).findings[0]
    assert error.code == "label_too_large" and "more than 100,000 different labels" in error.message


@pytest.mark.parametrize("kind", [">U3", "f8", "b", "nan"])
def test_different_values_are_those_of_numpy(kind):
    numbers = np.random.default_rng(0).integers(0, 300, 200_000)
    values = (
        np.where(numbers < 9, np.nan, numbers / 8)
        if kind == "nan"
        else (numbers % 100).astype("U3").astype(kind)
    )
    found, positions = distinct(values)
    expected, places = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found[positions], values)
    np.testing.assert_array_equal(positions, places.reshape(-1))


def test_bytes_are_read_as_utf8():
    texts = np.array([[b"cat", "né".encode()], [b"\xff", b""]], dtype="S90")
    read = plain_text(texts)
    assert read.tolist() == [["cat", "né"], ["\ufffd", ""]] and read.dtype == "<U3"
    names = np.array(["é".encode(), b"b"])
    content = npz_bytes(probs=np.full((60, 2), 0.5), labels=np.tile(names, 30), class_names=names)
    assert inspect(("a.npz", content)).predictions.class_names == ("é", "b")
