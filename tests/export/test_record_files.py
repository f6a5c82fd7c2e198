"""The record of an exported calibrator and its files: a round trip is exact, and anything else is refused."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile

import numpy as np
import pytest

import calib
from calib import records
from calib.errors import CalibrationError
from calib.export import record_files
from calib.export.record_files import FORMAT, digest, holds_arrays, pack, read_bundle, read_pair, unpack
from calib.records import LARGEST, MAX_DEPTH, MAX_DIRECTORY

FIELDS = {"method": "isotonic", "floor": 1e-6, "class_names": ["a", "ü"], "state": {"maps_": [{"$array": "maps_/0"}]}}
ARRAYS = {
    "maps_/0": np.array([0.1, np.nan, -0.0]),
    "few": np.arange(6, dtype=np.int32).reshape(2, 3),
    "yes": np.array(True),
    "names": np.array(["a", "ü"]),
    "single": np.array([[1.5]], dtype=np.float32),
}
NO_ARRAYS = b"PK\x05\x06" + bytes(18)


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
    expected = hashlib.sha256(rb'{"a":"\u00fc","b":1,"format":3}' + b"\0" + npz).hexdigest()
    assert json.loads(text)["sha256"] == expected


def test_values_are_counted_before_any_is_made(monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *_: pytest.fail("it was parsed"))
    with pytest.raises(CalibrationError, match=r"may hold 4,194,307 values"):
        unpack(f"[{'[],' * record_files.MAX_VALUES}[]]", NO_ARRAYS)


def test_nothing_is_packed_that_would_not_be_read(monkeypatch):
    monkeypatch.setattr(record_files, "MAX_VALUES", 10)
    with pytest.raises(CalibrationError, match="more than an export holds"):
        pack({"more": list(range(20))}, {})


def test_a_newer_format_says_so():
    with pytest.raises(CalibrationError, match=rf"format {FORMAT + 1};.*Update calib\.$"):
        unpack(json.dumps({"format": FORMAT + 1}), b"")


DEEP = '{"format": 2, "metadata": ' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        *(f'{{"format": {value}}}' for value in ("null", "Infinity", '"2"', "2.5", "true")),
        "[" * 100_000,
        DEEP,
    ],
)
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
    monkeypatch.setattr(records, "LARGEST", 1000)
    fine, large = (archive_of({"a.npy": npy(np.zeros(n))}, zipfile.ZIP_DEFLATED) for n in (100, 1000))
    assert len(large) < 1000
    assert unpack(sealed(fine), fine)[1]["a"].shape == (100,)
    monkeypatch.setattr(records, "_read_array", lambda *_: pytest.fail("a member was opened"))
    with pytest.raises(CalibrationError, match="more than 1 GB"):
        unpack(sealed(large), large)


def declared(shape: str, dtype: str = "<f8") -> bytes:
    """An npy that holds two numbers, whatever it declares."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(16)


@pytest.mark.parametrize(
    "given", ["(1000000000000,)", "(2, 10000000000)", "(1,)", "(-2,)", "()", ("(9000000000,)", "<U0")]
)
def test_a_shape_that_is_not_that_of_the_numbers_takes_no_memory(monkeypatch, given):
    fine, false = (archive_of({"a.npy": content}) for content in (declared("(2,)"), declared(*np.atleast_1d(given))))
    assert unpack(sealed(fine), fine)[1]["a"].shape == (2,)
    monkeypatch.setattr(records, "bytearray", lambda: pytest.fail("memory was taken"), raising=False)
    with pytest.raises(CalibrationError, match="export the calibrator again"):
        unpack(sealed(false), false)


@pytest.mark.parametrize(
    ("name", "npz", "most"), [("c.npz", None, LARGEST), ("c.json", NO_ARRAYS, record_files.MAX_TEXT)]
)
def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch, name, npz, most):
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda path: b"{}")
    (tmp_path / name).touch()
    os.truncate(tmp_path / name, most)  # takes no room on the disk
    assert record_files.read_file(tmp_path / name, npz) == b"{}"
    os.truncate(tmp_path / name, most + 1)
    with pytest.raises(CalibrationError, match=rf"{re.escape(name)} has [\d,]+ MB"):
        record_files.read_file(tmp_path / name, npz)


def test_half_of_a_character_is_refused_in_a_sentence():
    with pytest.raises(CalibrationError, match="ud83d"):
        pack({"metadata": {"note": "fine \ud83d"}}, {})


def test_a_json_that_is_too_large_is_neither_written_nor_parsed(monkeypatch):
    text, npz = pack(FIELDS, ARRAYS)
    monkeypatch.setattr(record_files, "MAX_TEXT", len(text.encode()))
    assert pack(FIELDS, ARRAYS) == (text, npz)
    with pytest.raises(CalibrationError, match="more than an export holds"):
        pack({**FIELDS, "more": 1}, ARRAYS)
    with pytest.raises(CalibrationError, match="MB, which no calibrator's has"):
        unpack(f"{text}  ", npz)


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
    monkeypatch.setattr(record_files, "MAX_DIRECTORY", 1000)
    with pytest.raises(CalibrationError, match=r"made of 100 arrays.*one map"):
        pack(FIELDS, {str(i): np.zeros(1) for i in range(100)})


@pytest.mark.parametrize(
    ("npz", "holds"), [(b"", False), (b"oops", False), (NO_ARRAYS, False), (archive_of({"a.npy": b""}), True)]
)
def test_holding_arrays(npz, holds):
    assert holds_arrays(npz) is holds


PARTS = {"calibrator.json": '{"a": "ü"}'.encode(), "calibrator.npz": b"PK\x05\x06" + bytes(18)}
READ = (PARTS["calibrator.json"].decode(), PARTS["calibrator.npz"])


@pytest.fixture
def bundle(tmp_path):
    def write(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "c.zip", "w", compression) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return tmp_path / "c.zip"

    return write


@pytest.mark.parametrize("given", ["c.npz", "c.json"])
def test_either_file_of_a_pair_finds_the_other(tmp_path, given):
    (tmp_path / "c.json").write_bytes(PARTS["calibrator.json"])
    (tmp_path / "c.npz").write_bytes(PARTS["calibrator.npz"])
    assert read_pair(tmp_path / given) == READ


def test_the_file_that_was_named_is_read_as_it_is_named(tmp_path):
    (tmp_path / "c.json").write_bytes(PARTS["calibrator.json"])
    (tmp_path / "c.NPZ").write_bytes(PARTS["calibrator.npz"])
    assert read_pair(tmp_path / "c.NPZ") == READ


def test_a_file_of_another_kind_that_is_missing_is_not_said_to_be_half_a_pair(tmp_path):
    with pytest.raises(CalibrationError, match=r"^c\.zip was not found in .*[^.]\.$") as caught:
        read_bundle(tmp_path / "c.zip")
    assert "belong together" not in str(caught.value)


def test_arrays_of_a_calibrator_that_has_none_are_not_said_to_be_of_no_calibrator(tmp_path, overconfident):
    calib.export.save(calib.calibrator("temperature").fit(*overconfident), tmp_path / "c.npz")
    (tmp_path / "c.json").unlink()
    with pytest.raises(CalibrationError, match=r"has no c\.json beside it, which says what it is; keep"):
        read_pair(tmp_path / "c.npz")


def test_a_pair_that_is_not_whole_says_what_is_missing(tmp_path):
    (tmp_path / "c.json").write_bytes(b"{}")
    with pytest.raises(CalibrationError, match=r"^c\.npz was not found"):
        read_pair(tmp_path / "c.json")
    for content in (b"", b"oops", NO_ARRAYS):
        (tmp_path / "d.npz").write_bytes(content)
        said = rf"^d\.npz holds no arrays \({len(content)} bytes\) and has no d\.json"
        with pytest.raises(CalibrationError, match=said):
            read_pair(tmp_path / "d.npz")


def test_bytes_that_are_no_text_are_left_to_the_checksum(tmp_path):
    (tmp_path / "c.json").write_bytes(b'{"a": "\xff"}')
    (tmp_path / "c.npz").write_bytes(b"")
    assert read_pair(tmp_path / "c.json") == ('{"a": "\ufffd"}', b"")


def test_of_a_bundle_the_record_alone_is_read(bundle, monkeypatch):
    monkeypatch.setattr(record_files, "LARGEST", 1000)
    assert read_bundle(bundle({**PARTS, "calibrator.pkl": bytes(2000)})) == READ


def test_a_bundle_that_unpacks_to_too_much_is_refused_before_it_is_read(bundle, monkeypatch):
    path = bundle({**PARTS, "calibrator.npz": bytes(2000)})
    assert path.stat().st_size < 1000
    monkeypatch.setattr(record_files, "LARGEST", 1000)
    monkeypatch.setattr(record_files, "read_member", lambda *_: pytest.fail("a member was read"))
    with pytest.raises(CalibrationError, match=r"c\.zip unpacks to more than 1 GB"):
        read_bundle(path)


def test_a_bundle_with_too_many_members_is_refused(bundle):
    crowded = {f"{i:060000}": b"" for i in range(80)}  # 4.8 MB of names
    with pytest.raises(CalibrationError, match="damaged or changed"):
        read_bundle(bundle(PARTS | crowded))


def test_other_archives_say_what_a_bundle_holds(bundle):
    with pytest.raises(CalibrationError, match=r"c\.zip is no bundle.*calibrator\.json and calibrator\.npz"):
        read_bundle(bundle({"calibrator.json": b"{}", "outputs.npy": b""}))


def test_damaged_bundles_are_refused_in_a_sentence(bundle):
    with pytest.raises(CalibrationError, match="damaged or changed"):
        read_bundle(bundle(PARTS, zipfile.ZIP_LZMA))
    path = bundle(PARTS)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(CalibrationError, match="damaged or changed"):
        read_bundle(path)
    with pytest.raises(CalibrationError, match="not found"):
        read_bundle(path.with_name("other.zip"))
