"""The record of an exported calibrator: what is packed comes back, and what nobody packed is refused in a sentence."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from calib.errors import CalibrationError
from calib.export import archive as record
from calib.export.archive import FORMAT, LARGEST, MAX_DIRECTORY, digest, holds_arrays, pack, unpack

FIELDS = {"method": "isotonic", "floor": 1e-6, "class_names": ["a", "ü"], "state": {"maps_": [{"$array": "maps_/0"}]}}
ARRAYS = {
    "maps_/0": np.array([0.1, np.nan, -0.0]),
    "few": np.arange(6, dtype=np.int32).reshape(2, 3),
    "yes": np.array(True),
    "names": np.array(["a", "ü"]),
    "single": np.array([[1.5]], dtype=np.float32),
}
NO_ARRAYS = b"PK\x05\x06" + bytes(18)

# A temperature as the first version wrote it; whatever reads records has to read this one for ever.
FIRST = """{
 "format": 1,
 "method": "temperature",
 "params": {
  "random_state": 0,
  "device": "auto",
  "max_log_temperature": 5.0
 },
 "kind": "probabilities",
 "floor": 1e-06,
 "class_names": [
  "a",
  "ü"
 ],
 "state": {
  "n_classes_": 2,
  "temperature_": 1.25
 },
 "metadata": {
  "n_rows": 400,
  "notes": []
 },
 "sha256": "ebc85a8720f0df05141df6b579bb1994f4ad92afc967f85317777e646330d084"
}"""


def sealed(npz: bytes, **fields) -> str:
    """The text of a record with the checksum that belongs to it, as whoever changes one would write it."""
    made = {"format": FORMAT, **fields}
    return json.dumps({**made, "sha256": digest(made, npz)})


def archive_of(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_what_is_packed_comes_back():
    fields, arrays = unpack(*pack(FIELDS, ARRAYS))
    assert fields == {"format": FORMAT, **FIELDS}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_equal_content_gives_equal_bytes():
    assert pack(FIELDS, ARRAYS) == pack(dict(FIELDS), {name: array.copy() for name, array in ARRAYS.items()})


def test_numpy_alone_reads_the_arrays():
    _, npz = pack(FIELDS, ARRAYS)
    with np.load(io.BytesIO(npz), allow_pickle=False) as file:
        assert set(file.files) == set(ARRAYS)
        np.testing.assert_array_equal(file["few"], ARRAYS["few"])


def test_the_checksum_is_that_of_the_sorted_json_and_the_arrays():
    text, npz = pack({"b": 1, "a": "ü"}, ARRAYS)
    expected = hashlib.sha256(rb'{"a":"\u00fc","b":1,"format":1}' + b"\0" + npz).hexdigest()
    assert json.loads(text)["sha256"] == expected


def test_a_record_of_the_first_version_is_read_and_written_the_same():
    text, npz = FIRST, NO_ARRAYS
    fields, arrays = unpack(text, npz)
    assert not arrays
    assert fields.pop("format") == 1
    assert pack(fields, {}) == (text, npz)


def test_a_newer_format_says_so():
    with pytest.raises(CalibrationError, match=rf"format {FORMAT + 1};.*Update calib\.$"):
        unpack(json.dumps({"format": FORMAT + 1}), b"")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": null}', '{"format": Infinity}', "[" * 100_000])
def test_another_json_says_so(text):
    with pytest.raises(CalibrationError, match="not a calibrator's record"):
        unpack(text, NO_ARRAYS)


def test_a_change_of_either_part_is_noticed():
    text, npz = pack(FIELDS, ARRAYS)
    last = npz[:-1] + bytes([npz[-1] ^ 1])
    for changed in ((text.replace("1e-06", "2e-06"), npz), (text, last), (text, NO_ARRAYS)):
        assert changed != (text, npz)
        with pytest.raises(CalibrationError, match="checksum does not match"):
            unpack(*changed)


def test_arrays_with_too_large_a_directory_are_refused():
    # Names of 60,000 letters: few members make a large directory.
    members = {f"{i:060000}.npy": b"" for i in range(MAX_DIRECTORY // 60_000 + 1)}
    npz = archive_of(members)
    with pytest.raises(CalibrationError, match="export the calibrator again"):
        unpack(sealed(npz), npz)
    assert holds_arrays(npz)


def test_arrays_that_unpack_to_too_much_are_refused_before_any_is_read(monkeypatch):
    monkeypatch.setattr(record, "LARGEST", 1000)
    fine, large = (archive_of({"a.npy": npy(np.zeros(n))}, zipfile.ZIP_DEFLATED) for n in (100, 1000))
    assert len(large) < 1000
    assert unpack(sealed(fine), fine)[1]["a"].shape == (100,)
    monkeypatch.setattr(record, "open_member", lambda *_: pytest.fail("a member was opened"))
    with pytest.raises(CalibrationError, match="more than 1 GB"):
        unpack(sealed(large), large)


@pytest.mark.parametrize(
    "npz",
    [
        b"",
        b"PK",
        archive_of({"a.npy": b"no array"}),
        archive_of({"a.npy": npy(np.zeros(9))[:-1]}),
        archive_of({"a.npy": npy(np.zeros(9))}, zipfile.ZIP_LZMA),
        archive_of({"a.npy": npy(np.array([{}], dtype=object))}),
    ],
    ids=["none", "cut", "no array", "half an array", "lzma", "objects"],
)
def test_arrays_of_anything_are_refused_in_a_sentence(npz):
    with pytest.raises(CalibrationError, match="export the calibrator again"):
        unpack(sealed(npz), npz)


def test_what_could_not_be_read_again_is_not_packed(monkeypatch):
    broadcast = np.broadcast_to(0.0, (LARGEST // 8 + 1,))  # large, and takes no memory
    with pytest.raises(CalibrationError, match=r"carries 1\.1 GB.*smaller training set"):
        pack(FIELDS, {"a": broadcast})
    monkeypatch.setattr(record, "MAX_DIRECTORY", 1000)
    with pytest.raises(CalibrationError, match=r"made of 100 arrays.*one map"):
        pack(FIELDS, {str(i): np.zeros(1) for i in range(100)})


@pytest.mark.parametrize(
    ("npz", "holds"), [(b"", False), (b"oops", False), (NO_ARRAYS, False), (archive_of({"a.npy": b""}), True)]
)
def test_holding_arrays(npz, holds):
    assert holds_arrays(npz) is holds
