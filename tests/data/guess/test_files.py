"""What several files are given for: by their names, else by what they hold."""

from __future__ import annotations

import numpy as np
import pytest

from calib.data.guess.files import FileInfo, look_at, roles_of_files
from tests.conftest import npz_bytes
from tests.data.conftest import csv_bytes

OUTPUTS, LABELS = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 3


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["logits.npy", "labels.npy"], ["source", "labels"]),
        (["y.npy", "probs.npy"], ["labels", "source"]),
        (["val_logits.npy", "val_labels.npy", "test_logits.npy", "test_labels.npy"],
         ["source", "labels", "test", "test_labels"]),

        (["val.npz", "test.npz"], ["source", "test"]),
        (["outputs.npz", "features.npy", "x_train.npy", "y_train.npy"],
         ["source", "features", "train_features", "train_labels"]),
        (["outputs.npz", "train.npz"], ["source", ""]),

        (["y1.npy", "y2.npy", "p1.npy", "p2.npy"], ["labels", "", "source", ""]),
        (["y.npy", "p.npy", "p_test.npy", "p_valid.npy"], ["labels", "source", "test", ""]),
    ],
)  # fmt: skip
def test_names_say_what_files_are(names, expected):
    looked = [FileInfo(name) for name in names]
    assert list(roles_of_files(looked)) == expected


def test_a_table_of_ids_and_labels_is_told_from_outputs():
    outputs = csv_bytes(id=range(50), **{f"p_{k}": OUTPUTS[:, k] for k in range(3)})
    labels = csv_bytes(id=range(50), species=[("ash", "oak", "elm")[k] for k in LABELS])
    assert roles_of_files(look_at((("a.csv", labels), ("b.csv", outputs)))) == ("labels", "source")


def test_of_whole_tables_one_is_read_unless_names_say_more():
    animals = [("cat", "dog", "cow")[k] for k in LABELS]
    table = csv_bytes(label=animals, cat=OUTPUTS[:, 0], dog=OUTPUTS[:, 1], cow=OUTPUTS[:, 2])
    for names, expected in (
        (("2023.csv", "2024.csv"), ("source", "")),
        (("train.csv", "holdout.csv"), ("", "source")),
        (("val.csv", "test.csv"), ("source", "test")),
    ):
        assert roles_of_files(look_at(tuple((name, table) for name in names))) == expected


@pytest.mark.parametrize("labels", [LABELS, LABELS.astype(float), np.eye(3, dtype=int)[LABELS]])
def test_shapes_say_what_names_leave_open(labels):
    files = [("a.npz", npz_bytes(a=labels)), ("b.npz", npz_bytes(b=OUTPUTS))]
    assert roles_of_files(look_at(tuple(files))) == ("labels", "source")
    assert roles_of_files(look_at(tuple(files[::-1]))) == ("source", "labels")
