"""Content of several files: by their names."""

from __future__ import annotations

import pytest

from calib.data.guess.files import holds_features, roles_of_files


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["logits.npy", "labels.npy"], ["source", "labels"]),
        (["y.npy", "probs.npy"], ["labels", "source"]),
        (["resnet50_labels.npy", "resnet50_logits.npy"], ["labels", "source"]),
        (["y_pred.csv", "y_true.csv"], ["source", "labels"]),
        (["val_logits.npy", "val_labels.npy", "test_logits.npy", "test_labels.npy"],
         ["source", "labels", "test", "test_labels"]),

        (["val.npz", "test.npz"], ["source", "test"]),
        (["outputs.npz", "features.npy", "x_train.npy", "y_train.npy"], ["source", "", "", ""]),
        (["outputs.npz", "train.npz"], ["source", ""]),

        (["2023.csv", "2024.csv"], ["source", ""]),
        (["train.csv", "holdout.csv"], ["", "source"]),
        (["y1.npy", "y2.npy", "p1.npy", "p2.npy"], ["labels", "", "source", ""]),
        (["y.npy", "p.npy", "p_test.npy", "p_valid.npy"], ["labels", "source", "test", ""]),
    ],
)  # fmt: skip
def test_names_say_what_files_are(names, expected):
    assert list(roles_of_files(names)) == expected


def test_new_outputs_leave_files_that_were_read_before_aside():
    assert roles_of_files(["logits.npy", "labels.npy", "other.npz"], n_read=2) == ("", "", "source")
    assert roles_of_files(["logits.npy", "labels.npy"], n_read=1) == ("source", "labels")


def test_files_of_features_are_told_from_all_others():
    assert all(map(holds_features, ("features.npy", "X_test.npy", "bert_embeddings.npy")))
    assert not any(map(holds_features, ("logits.npy", "y_test.npy", "val.csv", "outputs.npz")))
