"""Files with the top k of very many classes, which are read as pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calib
from calib.data import inspect
from calib.data.loading import APART
from calib.numerics import softmax
from tests.conftest import npz_bytes
from tests.data.conftest import parquet_bytes

N, K, LEFT = 300, 500, 8


def outputs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits of all classes, and labels."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(scale=4.0, size=(N, K))
    return logits, np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)


def arrays(seed: int = 0) -> dict[str, Any]:
    """What a language model's program saves, in float32 and with rising values."""
    logits, labels = outputs(seed)
    order = np.argsort(logits, axis=1)
    rising = np.take_along_axis(logits, order, axis=1)
    return {
        "values": rising[:, -LEFT:].astype(np.float32),
        "indices": order[:, -LEFT:],
        "rest": np.log(np.exp(rising[:, :-LEFT]).sum(axis=1)).astype(np.float32),
        "labels": labels,
        "class_names": np.array([f"token {k}" for k in range(K)]),
    }


def npz(held: dict[str, Any]) -> tuple[str, bytes]:
    return "model.npz", npz_bytes(**held)


def parquet(held: dict[str, Any]) -> tuple[str, bytes]:
    columns = {
        name: list(array) if array.ndim == 2 else array
        for name, array in held.items()
        if len(array) == N
    }
    return "model.parquet", parquet_bytes(pa.table(columns))


def errors(held: dict[str, Any], **choices: Any) -> list[str]:
    """Codes of the errors of a file."""
    found = inspect(npz(held), **choices)
    return [finding.code for finding in found.findings if finding.level == "error"]


@pytest.mark.parametrize(("write", "isolate"), [(npz, False), (parquet, APART)])
def test_pairs_are_the_probability_of_the_first_choice_and_whether_it_is_the_label(write, isolate):
    logits, labels = outputs()
    held = arrays() | {
        "split": np.arange(N) % 3 == 0,
        "group": np.array(["a", "b"])[np.arange(N) % 2],
    }
    data = calib.load(write(held), isolate=isolate)
    assert (
        data.kind == "pairs"
        and set(data.groups) == {"a", "b"}
        and data.class_names == ("wrong", "correct")
    )
    np.testing.assert_allclose(data.confidence, softmax(logits).max(axis=1), atol=1e-6)
    np.testing.assert_array_equal(data.correct, logits.argmax(axis=1) == labels)
    assert [finding.code for finding in data.findings if finding.level == "warning"] == []
    first, second = data.split()
    assert (len(first), len(second)) == (100, 200)


def test_what_was_inferred_reads_the_file_again():
    found = inspect(npz(arrays()))
    assert found.predictions is not None and {array.name for array in found.arrays} >= {
        "confidence",
        "correct",
    }
    again = inspect(npz(arrays()), choices=found.choices)
    assert again.predictions is not None and again.predictions.sha256 == found.predictions.sha256


def test_labels_and_test_rows_may_have_files_of_their_own():
    held, other = arrays(), arrays(1)
    whole, test = calib.load(npz(held)), calib.load(npz(other))
    labels = ("labels.npz", npz_bytes(labels=held.pop("labels")))
    assert calib.load(npz(held), labels=labels).sha256 == whole.sha256
    both = calib.load(npz(arrays()), test=npz(other))
    np.testing.assert_array_equal(
        both.confidence, np.concatenate([whole.confidence, test.confidence])
    )
    np.testing.assert_array_equal(both.correct, np.concatenate([whole.correct, test.correct]))
    assert both.given_split.sum() == N


def test_rows_without_a_label_or_a_number_are_left_out():
    held = arrays()
    held["labels"][3] = -100
    held["values"][7, 2] = np.nan
    found = inspect(npz(held))
    assert found.predictions is not None and len(found.predictions) == N - 2
    left_out = " ".join(
        finding.reason for finding in found.findings if finding.code == "rows_left_out"
    )
    assert "(row 4)" in left_out and "(row 8)" in left_out


def test_tokens_of_several_texts_are_rows():
    held = {
        name: array.reshape(30, 10, *array.shape[1:])
        for name, array in arrays().items()
        if name != "class_names"
    }
    assert calib.load(npz(held)).sha256 == calib.load(npz(arrays())).sha256


def test_log_probabilities_need_no_rest_and_logits_without_one_are_warned_of():
    logits, _ = outputs()
    held = arrays()
    del held["rest"]
    found = inspect(npz(held))
    assert found.predictions is not None
    (warning,) = (finding for finding in found.findings if finding.level == "warning")
    assert warning.code == "top_k" and "too high" in warning.reason
    np.testing.assert_allclose(
        found.predictions.confidence, softmax(held["values"]).max(axis=1), atol=1e-6
    )
    held["values"] = held["values"] - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    data = calib.load(npz(held))
    np.testing.assert_allclose(data.confidence, softmax(logits).max(axis=1), atol=1e-6)
    assert "log-probabilities" in " ".join(finding.reason for finding in data.findings)


def test_what_cannot_be_is_refused(monkeypatch):
    held = arrays()
    total = np.log(np.exp(outputs()[0]).sum(axis=1))
    for changes, code in (
        ({"rest": total}, "top_k_rest"),  # of all logits, not of the others
        ({"rest": held["rest"][1:]}, "top_k_rest"),
        ({"labels": held["labels"][1:]}, "top_k_labels"),
        ({"labels": np.array(["a"] * N)}, "top_k_labels"),
    ):
        assert errors({**held, **changes}) == [code]
    assert errors({name: array for name, array in held.items() if name != "labels"}) == [
        "no_labels"
    ]
    monkeypatch.setattr("calib.data.read.base.MAX_BYTES", 1_000)
    assert errors(held) == ["too_large"]


def test_an_exported_calibrator_takes_the_same_files(tmp_path):
    from calib.cli import main

    held = arrays()
    np.savez(tmp_path / "outputs.npz", **held)
    del held["labels"]
    np.savez(tmp_path / "new.npz", **held)
    calibrator, out = tmp_path / "calibrator.npz", tmp_path / "calibrated.npz"
    assert (
        main(["fit", str(tmp_path / "outputs.npz"), "--method", "platt", "--out", str(calibrator)])
        == 0
    )
    assert main(["apply", str(calibrator), str(tmp_path / "new.npz"), "--out", str(out)]) == 0
    data = calib.load(tmp_path / "outputs.npz")
    with np.load(out) as calibrated:
        expected = calib.runtime.load(calibrator).predict_confidence(data.confidence)
        np.testing.assert_allclose(calibrated["confidence"], expected, atol=1e-12)
