"""Calibrators from somebody else: whatever the files hold, a calibrator or one sentence comes out."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calib
from calib.diagnostics.shift_data import read_uploaded
from calib.errors import CalibrationError
from calib.export import writer
from calib.export.record_files import digest
from tests.conftest import simulate


def files(arrays: bytes, text: str | bytes, bundle: bytes | None = None) -> list[tuple[str, io.BytesIO]]:
    if bundle is not None:
        return [("calibrator.zip", io.BytesIO(bundle))]
    content = text.encode() if isinstance(text, str) else text
    return [("calibrator.npz", io.BytesIO(arrays)), ("calibrator.json", io.BytesIO(content))]


def signed(record: dict, arrays: bytes) -> str:
    """The record with a checksum that fits, as anybody can compute it."""
    record = {key: value for key, value in record.items() if key != "sha256"}
    return json.dumps({**record, "sha256": digest(record, arrays)})


def refused(given: list[tuple[str, io.BytesIO]]) -> str:
    with pytest.raises(CalibrationError) as caught:
        read_uploaded(given)
    said = str(caught.value)
    assert said.endswith(".")
    assert "Traceback" not in said
    assert len(said) < 400
    return said


def packed(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def of_maps(maps: list, arrays: dict[str, np.ndarray], **changes) -> tuple[bytes, str]:
    """An isotonic record with these maps, one for each of so many classes, and its npz."""
    fitted = calib.calibrator("isotonic", share_classes=len(maps) == 1).fit(*simulate(n=300))
    record, npz = json.loads(writer.to_npz_json(fitted)[1]), packed(**arrays)
    names = list("abcd") if len(maps) == 1 else [str(i) for i in range(len(maps))]
    state = record["state"] | {"maps_": maps, "n_classes_": len(names)}
    return npz, signed(record | {"state": state, "class_names": names} | changes, npz)


STEP = {"knots": {"$array": "knots"}, "values": {"$array": "values"}}
KNOTS = {"knots": np.arange(3.0), "values": np.array([0.1, 0.5, 0.9])}


def test_a_map_that_was_written_by_hand_is_read() -> None:
    assert read_uploaded(files(*of_maps([STEP], KNOTS))).method == "isotonic"


@pytest.mark.parametrize("n_maps", [2, 300])
def test_no_array_is_named_twice(n_maps: int) -> None:
    said = refused(files(*of_maps([STEP] * n_maps, KNOTS)))
    assert f"names {2 * n_maps:,} arrays and its npz holds 2, of which each must be named once" in said


def test_no_array_is_held_that_nothing_names() -> None:
    assert "names 2 arrays and its npz holds 3" in refused(files(*of_maps([STEP], KNOTS | {"more": np.zeros(9)})))


def test_names_are_counted_before_anything_is_done_for_each(made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(made.calibrator), "set_state", lambda *_: pytest.fail("it was tried"))
    state = {"n_classes_": 10**6, "temperature_": 1.0}
    assert "names 4" in refused(files(made.npz, signed(json.loads(made.json) | {"state": state}, made.npz)))


def test_classes_of_which_no_data_are_read(made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calib.diagnostics.shift_data.MAX_CLASSES", 3)
    assert "4 classes, and data of up to 3 are read" in refused(files(made.npz, made.json))


def test_many_files_are_no_calibrator(made) -> None:
    given = files(made.npz, made.json) * 20
    with pytest.raises(CalibrationError, match="40 files were given; give one calibrator"):
        read_uploaded(given, isolate=True)


def test_half_a_character_is_refused(made) -> None:
    changed = json.loads(made.json) | {"class_names": ["a", "b", "c", "\ud800"]}
    assert "not a calibrator's record" in refused(files(made.npz, signed(changed, made.npz)))


@pytest.mark.parametrize("dtype", ["S3", "g"])
def test_arrays_of_types_that_no_export_has(dtype: str) -> None:
    if np.dtype(dtype).itemsize == 8:
        pytest.skip("long doubles are doubles here")
    assert "which no export does" in refused(files(*of_maps([STEP], KNOTS | {"values": np.ones(3, dtype)})))


def test_what_a_reader_refuses_is_not_made_here(made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calib.diagnostics.shift_data.from_fields", lambda *_: pytest.fail("it was made"))
    record = json.loads(made.json)
    record["state"]["temperature_"] = -1.0
    with pytest.raises(CalibrationError, match="cannot be used"):
        read_uploaded(files(made.npz, signed(record, made.npz)), isolate=True)


class Bomb:
    """Unpickling it would be noticed."""

    def __reduce__(self):
        return (pytest.fail, ("something was unpickled",))


@pytest.mark.parametrize("method", ["temperature", pytest.param("isotonic", marks=pytest.mark.long)])
def test_records_with_and_without_arrays_come_from_a_process_of_their_own(method: str) -> None:
    logits, labels = simulate(n=300)
    fitted = calib.calibrator(method).fit(logits, labels)
    arrays, text = writer.to_npz_json(fitted, {"class_names": list("abcd"), "base_rate": np.full(4, 0.25)})
    given = [("a.npz", io.BytesIO(arrays)), ("a.json", io.BytesIO(text.encode()))]
    found = read_uploaded(given, isolate=True)
    np.testing.assert_allclose(found.predict_proba(logits), fitted.predict_proba(logits))


@pytest.mark.parametrize("name", ["temperature", "isotonic", "histogram", "beta", "vector", "imax", "bbq", "enir"])
def test_an_export_comes_back_and_predicts_the_same(name: str) -> None:
    logits, labels = simulate(n=300)
    fitted = calib.calibrator(name).fit(logits, labels)
    arrays, text = writer.to_npz_json(fitted)
    for parts in (files(arrays, text), files(b"", "", writer.to_bundle(fitted))):
        np.testing.assert_array_equal(
            read_uploaded(parts).calibrator.predict_proba(logits), fitted.predict_proba(logits)
        )


def test_the_files_may_have_any_names_and_order(made) -> None:
    given = [("b", io.BytesIO(made.json.encode())), ("a", io.BytesIO(made.npz))]
    assert read_uploaded(given).method == "temperature"


@pytest.mark.parametrize("name", ["calibrator.pkl", "calibrator.npz", "calibrator.json", "calibrator"])
def test_a_pickle_is_refused_whatever_its_name(name: str) -> None:
    said = refused([(name, io.BytesIO(pickle.dumps(Bomb(), protocol=4)))])
    assert "pickle, which can run code" in said


def test_the_pickle_in_a_bundle_is_left_alone(made) -> None:
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("calibrator.pkl", pickle.dumps(Bomb()))
        archive.writestr("calibrator.json", made.json)
        archive.writestr("calibrator.npz", made.npz)
    assert read_uploaded(files(b"", "", bundle.getvalue())).method == "temperature"


def test_a_bundle_with_large_arrays_is_read() -> None:
    knots = np.sort(np.random.default_rng(0).normal(size=400_000))
    npz, text = of_maps([STEP], {"knots": knots, "values": np.linspace(0.0, 1.0, len(knots))})
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("calibrator.json", text)
        archive.writestr("calibrator.npz", npz)
    assert len(npz) > 4_200_000  # a zip's directory may not be so large
    assert read_uploaded(files(b"", "", bundle.getvalue())).method == "isotonic"


def test_one_part_alone_says_which_is_missing(made) -> None:
    assert "json is missing" in refused(files(made.npz, "")[:1])
    assert "npz is missing" in refused(files(b"", made.json)[1:])


def test_parts_of_different_exports_do_not_fit(made) -> None:
    assert "checksum" in refused(files(packed(other=np.zeros(3)), made.json))


def test_objects_in_the_npz_are_not_unpickled(made) -> None:
    arrays = packed(slope_=np.array([Bomb()], dtype=object))
    refused(files(arrays, signed(json.loads(made.json), arrays)))


def test_an_array_that_is_no_array_is_refused(made) -> None:
    arrays = io.BytesIO(made.npz)
    with zipfile.ZipFile(arrays, "a") as archive:
        archive.writestr("more.txt", "hello")
    given = signed(json.loads(made.json), arrays.getvalue())
    assert "'more.txt', which is no array" in refused(files(arrays.getvalue(), given))


def header(shape: str, dtype: str = "<f8") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(99999, 99999, 99999, 99999)", "(-5,)", "(3,)"])
def test_a_header_that_announces_more_than_there_is(made, shape: str) -> None:
    arrays = io.BytesIO()
    with zipfile.ZipFile(arrays, "w") as archive:
        archive.writestr("slope_.npy", header(shape) + b"\0" * 8)
    refused(files(arrays.getvalue(), signed(json.loads(made.json), arrays.getvalue())))


CHANGES = {
    "unknown method": {"method": "magic"},
    "method is a list": {"method": ["temperature"]},
    "parameter out of range": {"params": {"random_state": -1}},
    "unknown parameter": {"params": {"evil": 1}},
    "params are a list": {"params": [1]},
    "unknown kind": {"kind": "magic"},
    "kind is a number": {"kind": 3},
    "binary kind of four classes": {"kind": "binary_log_odds"},
    "too many names": {"class_names": ["a"] * 9},
    "names are a number": {"class_names": 3},
    "metadata are a list": {"metadata": [1, 2]},
    "floor is text": {"floor": "x"},
    "floor above one": {"floor": 7.0},
    "state is a list": {"state": [1]},
    "state is empty": {"state": {}},
    "no class count": {"state": {"temperature_": 1.0}},
    "a class count that is text": {"state": {"n_classes_": "4", "temperature_": 1.0}},
    "a class count of a thousand digits": {"state": {"n_classes_": 10**1000, "temperature_": 1.0}},
    "a class count that is huge": {"state": {"n_classes_": 10**12, "temperature_": 1.0}, "class_names": []},
    "a negative class count": {"state": {"n_classes_": -4, "temperature_": 1.0}, "class_names": []},
    "a learned number missing": {"state": {"n_classes_": 4}},
    "a learned number that is text": {"state": {"n_classes_": 4, "temperature_": "hot"}},
    "a learned number that is zero": {"state": {"n_classes_": 4, "temperature_": 0.0}},
    "a learned number that is not one": {"state": {"n_classes_": 4, "temperature_": float("nan")}},
    "a name that is not learned": {"state": {"n_classes_": 4, "temperature_": 1.0, "predict_proba": 1}},
    "a private name": {"state": {"n_classes_": 4, "temperature_": 1.0, "__class__": 1}},
    "an array that is not there": {"state": {"n_classes_": 4, "temperature_": {"$array": "nowhere"}}},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_record_that_was_changed_and_signed_again(made, change: dict) -> None:
    refused(files(made.npz, signed(json.loads(made.json) | change, made.npz)))


def test_a_state_of_the_wrong_shape() -> None:
    fitted = calib.calibrator("vector").fit(*simulate(n=300))
    arrays, text = writer.to_npz_json(fitted)
    with np.load(io.BytesIO(arrays)) as file:
        wrong = packed(**{name: np.zeros(9) if file[name].dtype.kind == "f" else file[name] for name in file.files})
    assert "predicting ends in ValueError" in refused(files(wrong, signed(json.loads(text), wrong)))


def test_a_state_that_makes_no_probabilities(made) -> None:
    fitted = calib.calibrator("histogram", normalize=False).fit(*simulate(n=300))
    arrays, text = writer.to_npz_json(fitted)
    with np.load(io.BytesIO(arrays)) as file:
        wrong = packed(**{name: 5.0 + 0 * file[name] if file[name].dtype.kind == "f" else file[name] for name in file})
    refused(files(wrong, signed(json.loads(text), wrong)))


@pytest.mark.parametrize("text", ["{", "{}", "[]", '{"format": 1}', "{" * 5000, '{"format": 99}', '{"format": {}}'])
def test_a_json_that_is_none(made, text: str) -> None:
    refused(files(made.npz, text))


def test_a_json_nested_too_deep(made) -> None:
    depth = 100_000
    refused(files(made.npz, '{"format": 1, "state": ' + "[" * depth + "]" * depth + "}"))


def test_a_json_that_is_no_text(made) -> None:
    refused(files(made.npz, b'{"format": 1, "\xff": 2}'))


@settings(max_examples=60)
@given(st.data())
def test_damaged_bytes_are_one_sentence(made, data) -> None:
    which = data.draw(st.sampled_from(["npz", "json"]))
    content = bytearray(made.npz if which == "npz" else made.json.encode())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)))]
    given = files(bytes(content), made.json) if which == "npz" else files(made.npz, bytes(content))
    try:
        assert read_uploaded(given).method == "temperature"
    except CalibrationError as error:
        assert len(str(error)) < 400
