"""Calibrators from somebody else: whatever a file holds, a calibrator or one sentence comes out."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calib
from calib.decisions import AnswerAbove
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import rule_state
from calib.diagnostics.shift_data import read_uploaded
from calib.errors import CalibrationError
from calib.export import writer
from calib.records import flatten, npz_of
from tests.conftest import assert_same, simulate
from tests.forged_records import opened, sealed

SETS = PredictionSets(alpha=0.1, quantiles=np.full(4, 0.8), n_rows=300)


def refused(content: bytes, name: str = "calibrator.npz") -> str:
    with pytest.raises(CalibrationError) as caught:
        read_uploaded((name, io.BytesIO(content)))
    said = str(caught.value)
    assert said.endswith(".")
    assert "Traceback" not in said
    assert len(said) < 400
    return said


class Bomb:
    """Unpickling it would be noticed."""

    def __reduce__(self):
        return (pytest.fail, ("something was unpickled",))


def test_files_come_from_a_process_of_their_own_and_nothing_is_computed_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server made the calibrator of its arrays once more, and ran its steps on a row."""
    logits, labels = simulate(n=300)
    fitted = calib.calibrator("isotonic").fit(logits, labels)
    more = {
        "base_rate": np.full(4, 0.25),
        "decision": AnswerAbove(threshold=0.75),
        "sets": SETS,
    }
    npz = writer.to_bytes("npz", fitted, {"class_names": list("abcd"), **more})
    here = read_uploaded(("a.npz", io.BytesIO(npz)))
    with monkeypatch.context() as server:
        for name in ("run", "Calibrator"):
            server.setattr(
                f"calib.export.predict.{name}", lambda *given: pytest.fail("it was computed here")
            )
        found = read_uploaded(("a.npz", io.BytesIO(npz)), isolate=True)
    np.testing.assert_allclose(found.calibrator.predict_proba(logits), fitted.predict_proba(logits))
    (outline, arrays), (same, others) = flatten(found), flatten(here)
    assert outline == same
    assert_same(arrays, others)
    assert (
        rule_state(found.decision) == rule_state(more["decision"])
        and found.sets.quantiles.tolist() == SETS.quantiles.tolist()
    )


@pytest.mark.parametrize("name", ["calibrator.pkl", "calibrator.npz", "calibrator"])
def test_a_pickle_is_refused_whatever_its_name(name: str) -> None:
    assert "pickle, which can run code" in refused(pickle.dumps(Bomb(), protocol=4), name)


def test_other_members_of_a_bundle_are_left_alone(made) -> None:
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("calibrator.pkl", pickle.dumps(Bomb()))
        archive.writestr("calibrator.npz", made.npz)
    assert read_uploaded(("b.zip", io.BytesIO(bundle.getvalue()))).method == "temperature"


def test_a_member_that_is_no_array_and_one_that_nothing_names(made) -> None:
    packed = io.BytesIO(made.npz)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("more.txt", "hello")
    refused(packed.getvalue())
    record, arrays = opened(made.npz)
    assert "holds arrays it does not name" in refused(
        npz_of(sealed(record, arrays | {"more": np.zeros(3)}))
    )


def test_no_array_is_named_twice() -> None:
    record, arrays = opened(
        writer.to_bytes("npz", calib.calibrator("isotonic").fit(*simulate(n=300)))
    )
    record["steps"] = record["steps"] * 2
    refused(npz_of(sealed(record, arrays)))


@pytest.mark.parametrize("key", ["step", "\\u0073tep"])
def test_more_steps_than_any_export_has_are_refused(made, key: str) -> None:
    """Of 100,000 steps, 6 kB, each block of rows took seconds."""
    record, arrays = opened(made.npz)
    record["steps"] = [{"step": "softmax"}] * 100_000
    text = json.dumps(record).replace('"step"', f'"{key}"')
    content = npz_of({**arrays, "record": np.frombuffer(text.encode(), np.uint8)})
    assert "The calibrator has 100,000 steps, and no export over 80" in refused(content)
    record["steps"] = [{"step": "mix", "weights": [1.0], "parts": [[{"step": "softmax"}] * 80]}]
    assert "81 steps" in refused(npz_of(sealed(record, arrays)))


def test_classes_of_which_no_data_are_read(made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calib.diagnostics.shift_data.MAX_CLASSES", 3)
    assert "4 classes, and data of up to 3 are read" in refused(made.npz)


@pytest.mark.parametrize("dtype", ["S3", "g"])
def test_arrays_of_types_that_no_export_has(dtype: str) -> None:
    if np.dtype(dtype).itemsize == 8:
        pytest.skip("long doubles are doubles here")
    record, arrays = opened(
        writer.to_bytes("npz", calib.calibrator("vector").fit(*simulate(n=300)))
    )
    first = next(iter(arrays))
    assert "which no export does" in refused(
        npz_of(sealed(record, arrays | {first: np.ones(4, dtype)}))
    )


HOT = {"step": "affine", "scale": "hot"}
CHANGES = {
    "unknown method": {"method": "magic"},
    "method is a list": {"method": ["temperature"]},
    "params are a list": {"params": [1]},
    "unknown kind": {"kind": "magic"},
    "kind is a number": {"kind": 3},
    "binary kind of four classes": {"kind": "binary_log_odds"},
    "too many names": {"class_names": ["a"] * 9},
    "names are a number": {"class_names": 3},
    "half a character": {"class_names": ["a", "b", "c", "\ud800"]},
    "metadata are a list": {"metadata": [1, 2]},
    "floor is text": {"floor": "x"},
    "floor above one": {"floor": 7.0},
    "unknown scale": {"scale": "magic"},
    "a newer format": {"format": 99},
    "steps are a number": {"steps": 3},
    "no steps": {"steps": []},
    "an unknown step": {"steps": [{"step": "__import__"}]},
    "a step with another argument": {"steps": [{"step": "softmax", "evil": 1}]},
    "a step with text": {"steps": [HOT, {"step": "softmax"}]},
    "a step that gives NaN": {
        "steps": [{"step": "affine", "scale": float("nan")}, {"step": "softmax"}]
    },
    "no probabilities": {"steps": [{"step": "affine", "offset": 5.0}]},
    "sums of two": {"steps": [{"step": "softmax"}, {"step": "affine", "scale": 0.5}]},
    "a class count that is huge": {"n_columns": 10**12},
    "a class count of a thousand digits": {"n_columns": 10**1000},
    "a negative class count": {"n_columns": -4},
    "an array that is not there": {"steps": [{"step": "affine", "scale": {"$array": "nowhere"}}]},
    "a decision of another class": {"decision": {"rule": "cut", "cut": 0.2, "column": 9}},
    "notes are a number": {"notes": 3},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_record_that_was_changed_and_signed_again(made, change: dict) -> None:
    record, arrays = opened(made.npz)
    refused(npz_of(sealed(record | change, arrays)))


@pytest.mark.parametrize(
    "text", ["{", "{}", "[]", '{"format": 1}', "{" * 5000, "[" * 100_000 + "]" * 100_000, "\xff"]
)
def test_a_record_that_is_none(text: str) -> None:
    refused(npz_of({"record": np.frombuffer(text.encode("latin-1"), np.uint8)}))


@settings(max_examples=60)
@given(st.data())
def test_damaged_bytes_are_one_sentence(made, data) -> None:
    content = bytearray(made.npz)
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)))]
    try:
        assert read_uploaded(("a.npz", io.BytesIO(bytes(content)))).method == "temperature"
    except CalibrationError as error:
        assert len(str(error)) < 400
