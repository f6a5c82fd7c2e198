"""Records: a round trip is exact, and forged bytes are refused before memory is taken."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calib import records
from calib.errors import CalibrationError
from calib.records import BadRecord, arrays_of, flatten, npz_of, read, unflatten, write

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)
ARRAYS_FLAT_STATE = st.sampled_from(
    [
        np.arange(3),
        np.array([], dtype=np.float32),
        np.zeros((2, 0)),
        np.array([True, False]),
        np.array(["a/b", ""]),
        np.array(1.5),
        np.array([np.nan, np.inf, -0.0]),
    ]
)
STATES = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        SCALARS | ARRAYS_FLAT_STATE,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.tobytes() == b.tobytes()
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@given(STATES)
def test_round_trip_through_json_is_exact(state):
    outline, arrays = flatten(state)
    assert same(unflatten(json.loads(json.dumps(outline)), arrays), state)


@example({"file": np.arange(3), "allow_pickle": np.zeros(1)})  # names of numpy.savez's own options
@given(st.dictionaries(st.text(max_size=4), ARRAYS_FLAT_STATE, max_size=4))
def test_round_trip_through_npz_and_through_bytes_is_exact(arrays):
    outline, by_name = flatten(arrays)
    assert same(unflatten(outline, arrays_of(npz_of(by_name))), arrays)
    content = io.BytesIO()
    write(content, arrays)
    assert same(read(content, Any), arrays)


def test_arrays_of_another_byte_order_come_back_as_they_lie_in_this_machine():
    content = io.BytesIO()
    write(content, [np.arange(3, dtype=">i4"), np.array(["łoś"], ">U3")])
    numbers, words = read(content, Any)
    assert numbers.dtype.isnative and numbers.tolist() == [0, 1, 2] and words.tolist() == ["łoś"]
    assert not numbers.flags.writeable


@pytest.mark.parametrize("bad", [object(), {1: 2}, np.array([None]), {"$array": "x"}, 1j])
def test_what_is_not_plain_is_refused(bad):
    with pytest.raises(CalibrationError):
        flatten({"x_": bad})


def archive_of(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(dtype: str, shape: str, content: bytes = bytes(16)) -> bytes:
    """An npy with this content, whatever it declares."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("<f8", "(1000000000000,)"), ("<f8", "(1,)"), ("<f8", "(-2,)"), ("|O", "(2,)"), ("<M8[ns]", "(2,)"),
    ],
)  # fmt: skip
def test_an_array_that_is_not_what_it_declares_takes_no_memory(monkeypatch, dtype, shape):
    assert arrays_of(archive_of(("a.npy", npy("<f8", "(2,)"))))["a"].shape == (2,)
    read_bytes = zipfile.ZipExtFile.read

    def but_for_the_content(stream: zipfile.ZipExtFile, n: int = -1) -> bytes:
        return pytest.fail("memory was taken") if n == 16 else read_bytes(stream, n)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", but_for_the_content)
    with pytest.raises(BadRecord):
        arrays_of(archive_of(("a.npy", npy(dtype, shape))))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_array_that_is_there_twice_is_refused():
    member = ("a.npy", npy("<f8", "(2,)"))
    with pytest.raises(BadRecord, match="twice"):
        arrays_of(archive_of(member, member))


def test_arrays_that_are_cut_or_changed_are_refused():
    npz = npz_of({"a": np.random.default_rng(0).random(100)})
    for end in (0, 10, 100, len(npz) // 2, len(npz) - 1):
        with pytest.raises((BadRecord, zipfile.BadZipFile)):
            arrays_of(npz[:end])
    for place in range(200, 900, 50):
        with pytest.raises((BadRecord, zipfile.BadZipFile)):
            arrays_of(npz[:place] + bytes([npz[place] ^ 1]) + npz[place + 1 :])


def test_arrays_that_unpack_to_too_much_are_refused_before_any_is_read(monkeypatch):
    npz = npz_of({"a": np.zeros(1000)})
    monkeypatch.setattr(records, "_read_array", lambda *_: pytest.fail("a member was opened"))
    with pytest.raises(CalibrationError, match="more than 1 GB"):
        arrays_of(npz, 1000)
