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
NAMES = ["cat", "dog", "eel"]


@pytest.mark.parametrize("source", [(PROBS, LABELS), (PROBS, LABELS, PROBS)])
def test_a_tuple_of_arrays_is_no_file(source):
    with pytest.raises(calib.DataError, match="tuple"):
        calib.load(source)


@pytest.mark.parametrize("outputs", [LOGITS, PROBS, LOGITS.astype(np.float32), PROBS[:, 0]])
def test_arrays_are_read_as_from_a_file(outputs):
    labels = LABELS if outputs.ndim == 2 else LABELS == 0
    filed = calib.load(("outputs.npz", npz_bytes(outputs=outputs, labels=labels)))
    loaded = calib.load({"outputs": outputs, "labels": labels})
    assert loaded.sha256 == filed.sha256
    assert (loaded.kind, loaded.class_names, loaded.floor) == (filed.kind, filed.class_names, filed.floor)


def test_what_was_given_is_not_written_to():
    zeros = np.where(PROBS.argmin(axis=1)[:, None] == np.arange(3), 0.0, PROBS)
    zeros /= zeros.sum(axis=1, keepdims=True)
    before = zeros.copy()
    assert from_outputs(zeros, LABELS).floor is not None
    np.testing.assert_array_equal(zeros, before)


def test_columns_of_a_frame_name_the_classes():
    shuffled = [2, 0, 1]
    frame = pd.DataFrame(PROBS[:, shuffled], columns=np.array(NAMES)[shuffled])
    data = from_outputs(frame, pd.Series(NAMES)[LABELS])
    assert data.class_names == ("eel", "cat", "dog")
    assert data.accuracy == (PROBS.argmax(axis=1) == LABELS).mean()
    assert not [finding for finding in data.findings if finding.level == "warning"]


def test_a_pair_a_frame_and_a_file_are_taken_alone(tmp_path):
    frame = pd.DataFrame({"outcome": LABELS == 0, "risk": PROBS[:, 0]})
    path = tmp_path / "risks.csv"
    frame.to_csv(path, index=False)
    pair, table, file = from_outputs((LOGITS, LABELS)), from_outputs(frame), from_outputs(path)
    assert pair.sha256 == from_outputs(LOGITS, LABELS).sha256
    assert table.kind == file.kind == "binary_probability"
    assert (table.name, file.name, from_outputs(path, name="mine").name) == ("predictions", "risks", "mine")
    assert from_outputs(file) == file or from_outputs(file).sha256 == file.sha256


@pytest.mark.parametrize(
    ("outputs", "labels", "said"),
    [
        ([[1.0], [2.0, 3.0]], [0, 1], "outputs is of the type list"),
        (LOGITS, LABELS[:7], "7"),
        (LOGITS, [object()] * 300, "labels is of the type list"),
        (LOGITS.astype(complex), LABELS, "complex"),
    ],
)
def test_what_is_no_array_is_refused_in_a_sentence(outputs, labels, said):
    with pytest.raises(calib.DataError, match=said):
        from_outputs(outputs, labels)


@pytest.mark.parametrize("outputs", [PROBS, LOGITS.round().astype(int)])
def test_masked_outputs_are_missing_whatever_stands_below(outputs):
    masked = np.ma.masked_array(outputs, np.arange(300)[:, None] + np.zeros(3, int) < 5)
    findings = inspect({"outputs": masked, "labels": LABELS}).findings
    assert (
        findings[0].code
        == inspect({"outputs": np.where(masked.mask, np.nan, outputs), "labels": LABELS}).findings[0].code
    )
    assert findings[0].level == "error" and "5 rows of 300" in findings[0].reason


@pytest.mark.parametrize("name", ["{}", "p_{}"])
def test_columns_named_by_numbers_are_the_classes_of_labels_beside_them(name):
    """Sorted as text, 10 stands before 2; the labels were taken for places of columns."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(12, 0.2), size=400)
    labels = np.array([rng.choice(12, p=row) for row in probs])
    table = pd.DataFrame(probs, columns=[name.format(k) for k in range(12)])
    table = table[sorted(table.columns)]
    data = calib.from_outputs(table, labels)
    assert data.accuracy == pytest.approx((probs.argmax(axis=1) == labels).mean())
    assert data.class_names[:3] == ("0", "1", "10")
    assert calib.from_outputs(table.to_numpy(), labels).accuracy < 0.3  # without names labels are places
