"""The files that a record lies in: both parts are found, or one sentence says what is missing or too large."""

from __future__ import annotations

import zipfile

import pytest

import calib
from calib.errors import CalibrationError
from calib.export import record_files
from calib.export.record_files import read_bundle, read_pair

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
    (tmp_path / "d.npz").write_bytes(b"oops")
    with pytest.raises(CalibrationError, match=r"^c\.npz was not found"):
        read_pair(tmp_path / "c.json")
    with pytest.raises(CalibrationError, match=r"^d\.npz holds no arrays \(4 bytes\) and has no d\.json"):
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
