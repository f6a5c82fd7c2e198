"""Files with the top k of very many classes: how they are read, and which are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calib
from calib.data import inspect
from calib.data.findings import InvalidUpload
from calib.data.load import APART
from calib.errors import CalibrationError
from calib.top_k import TopK
from tests.conftest import npz_bytes
from tests.data.conftest import parquet_bytes

N, K, LEFT = 60, 500, 8


def arrays(seed: int = 0) -> dict[str, Any]:
    """Simulated outputs as a language model's program saves them, in float32 and in no order."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(scale=2.0, size=(N, K))
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    top = TopK.from_matrix(logits, LEFT, labels)
    return {
        "values": top.values[:, ::-1].astype(np.float32),
        "indices": top.indices[:, ::-1].astype(np.int64),
        "rest": top.rest.astype(np.float32),
        "label_logit": top.label_logit.astype(np.float32),
        "labels": labels,
        "n_classes": np.array(K),
    }


def npz(held: dict[str, Any]) -> tuple[str, bytes]:
    return "model.npz", npz_bytes(**held)


def parquet(held: dict[str, Any]) -> tuple[str, bytes]:
    columns = {name: list(array) if array.ndim == 2 else array for name, array in held.items() if array.ndim}
    return "model.parquet", parquet_bytes(pa.table({**columns, "n_classes": np.full(N, held["n_classes"])}))


def errors(held: dict[str, Any], **choices: Any) -> list[str]:
    """Codes of the errors of a file."""
    found = inspect(npz(held), **choices)
    return [finding.code for finding in found.findings if finding.level == "error"]


def warnings(held: dict[str, Any]) -> list[str]:
    found = inspect(npz(held))
    assert found.predictions is not None
    return [finding.code for finding in found.findings if finding.level == "warning"]


@pytest.mark.parametrize(("write", "isolate"), [(npz, False), (parquet, APART)])
def test_both_formats_give_the_same_data_set(write, isolate):
    held = arrays() | {"split": np.arange(N) % 3 == 0, "group": np.array(["a", "b"])[np.arange(N) % 2]}
    data = calib.load(write(held), isolate=isolate)
    assert data.kind == "topk" and set(data.groups) == {"a", "b"}
    assert (len(data), data.n_classes, data.logits.k, len(data.class_names)) == (N, K, LEFT, K)
    assert np.array_equal(data.logits.values, held["values"][:, ::-1].astype(np.float64))
    assert np.array_equal(data.logits.indices, held["indices"][:, ::-1])
    assert np.allclose(data.logits.rest, held["rest"])
    assert np.array_equal(data.labels, held["labels"])
    assert data.sha256 == calib.load(npz(held)).sha256
    first, second = data.split()
    assert isinstance(first.logits, TopK) and first.sha256 != second.sha256
    assert (len(first), len(second)) == (N // 3, N - N // 3)


def test_rows_that_cannot_be_are_left_out_with_their_number():
    held = arrays()
    held["labels"][3] = -100
    held["indices"][5, 0] = held["indices"][5, 1]
    held["indices"][6, 0] = K + 2**32
    held["values"][7, 2] = np.nan
    held["rest"][8] = 40.0
    inside = int(np.flatnonzero((held["indices"] == held["labels"][:, None]).any(axis=1) & (np.arange(N) > 10))[0])
    held["label_logit"][inside] += 1.0
    found = inspect(npz(held))
    assert found.predictions is not None
    assert len(found.predictions) == N - 6
    said = " ".join(finding.reason for finding in found.findings if finding.code == "rows_left_out")
    for row in (4, 6, 7, 8, 9, inside + 1):
        assert f"(row {row})" in said


def test_what_a_file_lacks_is_said():
    held = arrays()
    less = {gone: {name: array for name, array in held.items() if name != gone} for gone in held}
    assert "n_classes" in warnings(less["n_classes"])
    assert "label_logit" in warnings(less["label_logit"])
    known = (held["indices"] == held["labels"][:, None]).any(axis=1)
    few = {name: array[known] if array.ndim else array for name, array in less["label_logit"].items()}
    assert "label_logit" not in warnings(few)
    assert errors(less["rest"]) == ["top_k_rest"] and errors(less["labels"]) == ["no_labels"]
    assert errors({"logits": held["values"], "labels": held["labels"]}, kind="topk") == ["top_k_arrays"]


def test_log_probabilities_tell_their_rest():
    held = arrays()
    total = np.logaddexp(np.logaddexp.reduce(held["values"].astype(float), axis=1), held["rest"])
    held["values"] = held["values"] - total[:, None]
    held["label_logit"] = held["label_logit"] - total
    rest = held.pop("rest") - total
    data = calib.load(npz(held))
    assert np.allclose(data.logits.rest, rest, atol=1e-5)
    held["values"] = np.exp(held["values"])
    assert errors(held) == ["top_k_rest"]


def test_sizes_are_counted_before_memory_is_taken(monkeypatch):
    held = arrays()
    for changes, code in (
        ({"indices": held["indices"][:, 1:]}, "top_k_shape"),
        ({"n_classes": np.array(LEFT - 1)}, "too_many_classes"),
        ({"n_classes": np.array(2**40)}, "too_many_classes"),
        ({"labels": held["labels"][1:]}, "top_k_labels"),
        ({"rest": held["rest"][1:]}, "top_k_shape"),
    ):
        assert errors({**held, **changes}, kind="topk") == [code]
    monkeypatch.setattr("calib.data.read.base.MAX_BYTES", 1_000)
    assert errors(held) == ["too_large"]


def test_damage_after_an_isolated_reader_is_noticed():
    data = calib.load(npz(arrays()))
    data.check()
    outputs = data.logits
    for wrong in (
        replace(outputs, values=outputs.values[:, ::-1]),
        replace(outputs, indices=outputs.indices + K),
        replace(outputs, rest=outputs.rest + 50),
        replace(outputs, rest=outputs.rest[1:]),
    ):
        with pytest.raises(CalibrationError):
            wrong.check()
        with pytest.raises(InvalidUpload):
            replace(data, logits=wrong).check()
