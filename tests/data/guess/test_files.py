"""What several files are given for: by their names, else by what they hold."""

from __future__ import annotations

import io

import numpy as np
import pytest

from calib.data import inspect
from calib.data.guess.files import Looked, look_at, roles_of_files
from tests.data.conftest import csv_bytes, npz_bytes

OUTPUTS, LABELS = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 3


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["logits.npy", "labels.npy"], ["source", "labels"]),
        (["y.npy", "probs.npy"], ["labels", "source"]),
        (["val_logits.npy", "val_labels.npy", "test_logits.npy", "test_labels.npy"],
         ["source", "labels", "test", "test_labels"]),
        (["test_logits.npy", "test_labels.npy"], ["source", "labels"]),
        (["val.npz", "test.npz"], ["source", "test"]),
        (["outputs.npz", "features.npy", "x_train.npy", "y_train.npy"],
         ["source", "features", "train_features", "train_labels"]),
        (["outputs.npz", "train.npz"], ["source", "train_features"]),
        (["one.npz", "two.npz"], ["source", "labels"]),
    ],
)  # fmt: skip
def test_names_say_what_files_are(names, expected):
    looked = [Looked(name, None, "") for name in names]
    assert list(roles_of_files(looked)) == expected


@pytest.mark.parametrize("turned", [False, True])
def test_shapes_say_what_names_leave_open(turned):
    files = [("a.npy", npy(OUTPUTS)), ("b.npy", npy(LABELS))]
    files = files[::-1] if turned else files
    roles = roles_of_files(look_at(tuple(files)))
    assert sorted(roles) == ["labels", "source"]
    given = dict(zip(roles, files, strict=True))
    found = inspect(given["source"], labels=given["labels"]).predictions
    assert found is not None
    np.testing.assert_array_equal(found.labels, LABELS)


def test_a_table_of_ids_and_labels_is_told_from_outputs():
    outputs = csv_bytes(id=range(50), **{f"p_{k}": OUTPUTS[:, k] for k in range(3)})
    labels = csv_bytes(id=range(50), species=[("ash", "oak", "elm")[k] for k in LABELS])
    assert roles_of_files(look_at((("a.csv", labels), ("b.csv", outputs)))) == ("labels", "source")


def test_a_file_that_cannot_be_opened_stands_by_its_name():
    looked = look_at((("logits.npz", npz_bytes(logits=OUTPUTS)), ("labels.npy", b"broken")))
    assert roles_of_files(looked) == ("source", "labels")


def test_new_outputs_leave_aside_what_is_open_and_other_new_files_join_it():
    first, other = Looked("first.npz", False, ""), Looked("other.npz", False, "")
    assert roles_of_files([first, other], n_read=1) == ("", "source")
    assert roles_of_files([first, Looked("features.npy", False, "")], n_read=1) == ("source", "features")
