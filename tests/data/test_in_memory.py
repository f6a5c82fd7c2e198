"""Arrays, DataFrames and tensors are read as a file with the same content would be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib
from calib.data import inspect
from calib.data.load import from_outputs
from calib.numerics import softmax
from tests.conftest import simulate
from tests.data.conftest import npz_bytes

LOGITS, LABELS = simulate(n=300, n_classes=3)
PROBS = softmax(LOGITS)


def test_a_tuple_of_arrays_is_no_file():
    with pytest.raises(calib.DataError, match="tuple"):
        calib.load((PROBS, LABELS))


def test_arrays_are_read_as_from_a_file_and_not_written_to():
    zeros = np.where(PROBS.argmin(axis=1)[:, None] == np.arange(3), 0.0, PROBS)
    for outputs in (LOGITS, zeros / zeros.sum(axis=1, keepdims=True), LOGITS.astype(np.float32), PROBS[:, 0]):
        labels = LABELS if outputs.ndim == 2 else LABELS == 0
        before = outputs.copy()
        filed = calib.load(("outputs.npz", npz_bytes(outputs=outputs, labels=labels)))
        loaded = calib.load({"outputs": outputs, "labels": labels})
        assert loaded.sha256 == filed.sha256
        assert (loaded.kind, loaded.class_names, loaded.floor) == (filed.kind, filed.class_names, filed.floor)
        np.testing.assert_array_equal(outputs, before)


def test_a_pair_a_frame_and_a_file_are_taken_alone(tmp_path):
    frame = pd.DataFrame({"outcome": LABELS == 0, "risk": PROBS[:, 0]})
    path = tmp_path / "risks.csv"
    frame.to_csv(path, index=False)
    pair, table, file = from_outputs((LOGITS, LABELS)), from_outputs(frame), from_outputs(path)
    assert pair.sha256 == from_outputs(LOGITS, LABELS).sha256
    assert table.kind == file.kind == "binary_probability"
    assert (table.name, file.name, from_outputs(path, name="mine").name) == ("predictions", "risks", "mine")
    assert from_outputs(file) == file or from_outputs(file).sha256 == file.sha256


def test_what_is_no_array_is_refused_in_a_sentence():
    for outputs, labels, said in (
        ([[1.0], [2.0, 3.0]], [0, 1], "outputs is of the type list"),
        (LOGITS, LABELS[:7], "7"),
        (LOGITS, [object()] * 300, "labels is of the type list"),
        (LOGITS.astype(complex), LABELS, "complex"),
    ):
        with pytest.raises(calib.DataError, match=said):
            from_outputs(outputs, labels)


def test_masked_outputs_are_missing_whatever_stands_below():
    for outputs in (PROBS, LOGITS.round().astype(int)):
        masked = np.ma.masked_array(outputs, np.arange(300)[:, None] + np.zeros(3, int) < 5)
        finding = inspect({"outputs": masked, "labels": LABELS}).findings[0]
        assert (finding.level, finding.code) == ("error", "not_finite") and "5 rows of 300" in finding.reason


def test_columns_named_by_numbers_are_the_classes_of_labels_beside_them():
    """Sorted as text, 10 stands before 2; the labels were taken for places of columns."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(12, 0.2), size=400)
    labels = np.array([rng.choice(12, p=row) for row in probs])
    table = pd.DataFrame(probs, columns=[f"p_{k}" for k in range(12)])
    table = table[sorted(table.columns)]
    data = calib.from_outputs(table, labels)
    assert data.accuracy == pytest.approx((probs.argmax(axis=1) == labels).mean())
    assert data.class_names[:3] == ("0", "1", "10")
    assert calib.from_outputs(table.to_numpy(), labels).accuracy < 0.3  # without names labels are places
