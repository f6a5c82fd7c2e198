"""What several files are given for: by their names, else by what they hold."""

from __future__ import annotations

import io

import numpy as np
import pytest

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
        (["outputs.npz", "train.npz"], ["source", ""]),
        (["one.npz", "two.npz"], ["source", ""]),
        (["y1.npy", "y2.npy", "p1.npy", "p2.npy"], ["labels", "", "source", ""]),
        (["y.npy", "p.npy", "p_test.npy", "p_valid.npy"], ["labels", "source", "test", ""]),
    ],
)  # fmt: skip
def test_names_say_what_files_are(names, expected):
    looked = [Looked(name) for name in names]
    assert list(roles_of_files(looked)) == expected


def test_a_table_of_ids_and_labels_is_told_from_outputs():
    outputs = csv_bytes(id=range(50), **{f"p_{k}": OUTPUTS[:, k] for k in range(3)})
    labels = csv_bytes(id=range(50), species=[("ash", "oak", "elm")[k] for k in LABELS])
    assert roles_of_files(look_at((("a.csv", labels), ("b.csv", outputs)))) == ("labels", "source")


def test_a_file_that_cannot_be_opened_stands_by_its_name():
    looked = look_at((("logits.npz", npz_bytes(logits=OUTPUTS)), ("labels.npy", b"broken")))
    assert roles_of_files(looked) == ("source", "labels")


def whole_table() -> bytes:
    return csv_bytes(label=[("cat", "dog", "cow")[k] for k in LABELS], cat=OUTPUTS[:, 0], dog=OUTPUTS[:, 1],
                     cow=OUTPUTS[:, 2])  # fmt: skip


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("2023.csv", "2024.csv"), ("source", "")),
        (("holdout.csv", "train.csv"), ("source", "")),
        (("train.csv", "holdout.csv"), ("", "source")),
        (("val.csv", "test.csv"), ("source", "test")),
    ],
)
def test_of_whole_tables_one_is_read_unless_names_say_more(names, expected):
    assert roles_of_files(look_at(tuple((name, whole_table()) for name in names))) == expected


@pytest.mark.parametrize(
    "labels", [LABELS, LABELS.astype(float), np.eye(3, dtype=int)[LABELS]], ids=["numbers", "floats", "one-hot"]
)
@pytest.mark.parametrize("turned", [False, True])
def test_shapes_say_what_names_leave_open(labels, turned):
    files = [("a.npy", npy(labels)), ("b.npy", npy(OUTPUTS))]
    roles = roles_of_files(look_at(tuple(files[::-1] if turned else files)))
    assert roles == (("source", "labels") if turned else ("labels", "source"))
