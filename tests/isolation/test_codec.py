"""Values survive the way to another process, and bytes that are no message are refused, whatever they are."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from typing_extensions import TypeAliasType

from calib.isolation.codec import HEADER, MARK, MAX_JSON, BadMessage, read_message, write_message


def written(value: Any) -> bytes:
    fd = os.memfd_create("message")
    try:
        write_message(fd, value)
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)


def there_and_back(value: Any, expected: Any) -> Any:
    return read_message(memoryview(written(value)), expected)


@dataclass(frozen=True)
class Inner:
    name: str
    level: Literal["error", "info"]
    changes: Mapping[str, object]


@dataclass(frozen=True)
class Outer:
    values: np.ndarray
    labels: np.ndarray | None
    inner: tuple[Inner, ...]
    columns: str | tuple[str, ...] | None
    numbers: tuple[str, ...] | tuple[int, ...] | None
    share: float | None
    given: bool


def outer(**changes: Any) -> Outer:
    values: dict[str, Any] = {
        **{"values": np.arange(6.0).reshape(2, 3), "labels": None, "columns": ("a", "b"), "numbers": (1, 2)},
        **{"inner": (Inner("x", "info", {"labels": ("a",), "on": True}),), "share": 1, "given": False},
    }
    return Outer(**{**values, **changes})


def test_a_value_of_many_parts():
    value = outer(labels=np.array(["łoś", "\ud83d\ude00", ""]), share=np.float64(0.5), given=np.bool_(True))
    back = there_and_back(value, Outer)
    np.testing.assert_array_equal(back.values, value.values)
    np.testing.assert_array_equal(back.labels, value.labels)
    assert back.inner == value.inner
    assert (back.columns, back.numbers, back.share, back.given) == (("a", "b"), (1, 2), 0.5, True)
    assert there_and_back(outer(columns="a", numbers=("1",)), Outer).columns == "a"
    assert there_and_back(outer(share=float("nan")), Outer).share != 0


@given(
    hnp.arrays(
        hnp.boolean_dtypes() | hnp.integer_dtypes(endianness="<") | hnp.floating_dtypes(endianness="<", sizes=(32, 64)),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0),
    )
)
def test_every_array_of_numbers(array):
    back = there_and_back({"a": array, "b": array.T}, dict[str, np.ndarray])
    for name, expected in (("a", array), ("b", array.T)):
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], expected)


@given(hnp.arrays(hnp.unicode_string_dtypes(endianness="<", min_len=1, max_len=5), (3, 2)))
def test_every_array_of_text(array):
    np.testing.assert_array_equal(there_and_back(array, np.ndarray), array)


Scalar = TypeVar("Scalar", bound=np.generic)


@pytest.mark.parametrize("expected", ["alias", "alias of a type"])
def test_an_array_whose_type_is_called_by_an_alias(expected):
    """As NumPy 2.5 does with Python 3.12."""
    alias = TypeAliasType("NDArray", np.ndarray[Any, np.dtype[Scalar]], type_params=(Scalar,))
    array = np.arange(3.0)
    np.testing.assert_array_equal(there_and_back(array, alias[np.float64] if "of" in expected else alias), array)


@pytest.mark.parametrize("value", [np.array([object()]), np.array(["2020"], "M8[D]"), {1: 2}, {1, 2}, b"bytes"])
def test_what_cannot_be_handed_over(value):
    with pytest.raises(TypeError):
        written(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", int),
        (True, int),
        (1, bool),
        (1.5, int),
        ("x", float),
        (None, str),
        ("warning", Literal["error", "info"]),
        (True, Literal[1]),
        (["a", 1], tuple[str, ...]),
        (["a"], tuple[str, str]),
        ({"a": 1}, Mapping[str, str]),
        ({"name": "x"}, Inner),
        ({"name": "x", "level": "info", "changes": {}, "more": 1}, Inner),
        ([1], Inner),
        ({"$array": ["O", [1], 64]}, np.ndarray),
        ({"$array": ["<M8[D]", [1], 64]}, np.ndarray),
        ({"$array": ["<f8", [-1], 64]}, np.ndarray),
        ({"$array": ["<f8", [2**62, 2**62], 64]}, np.ndarray),
        ({"$array": ["<f8", [1] * 9, 64]}, np.ndarray),
        ({"$array": ["<f8", [True], 64]}, np.ndarray),
        ({"$array": ["<f8", [0], 1]}, np.ndarray),
        ({"$array": ["<f8", [0], 0]}, np.ndarray),
        ({"$array": ["<f8", [1], 1 << 40]}, np.ndarray),
        ({"$array": ["<U99999999999", [1], 64]}, np.ndarray),
        ({"$array": ["<U-1", [1], 64]}, np.ndarray),
        ({"$array": ["<U0", [10**10], 64]}, np.ndarray),  # of no letters, for which NumPy takes memory all the same
        ({"$array": ["<f8"]}, np.ndarray),
        ({"$array": 3}, object),
        ({"$file": [0, "/etc/passwd"]}, object),
        ({"$file": [0, "/etc/passwd"]}, str),
        (1, type),
        (1, open),
    ],
    ids=str,
)
def test_another_type_is_refused(value, expected):
    with pytest.raises(BadMessage):
        there_and_back(value, expected)


@pytest.mark.parametrize("dtype", ["?", "<U1"])
def test_bytes_that_are_no_truth_value_and_no_character_are_refused(dtype):
    content = bytearray(written(np.zeros(4, dtype)))
    start = -(-HEADER.size // 64) * 64
    content[start : start + 4] = b"\xff\xff\xff\x7f"
    with pytest.raises(BadMessage):
        read_message(memoryview(content), np.ndarray)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        HEADER.pack(MARK, 24, 10) + b"{}",
        HEADER.pack(MARK, 2**63, 2**63),
        HEADER.pack(b"other\0\0\0", 24, 2) + b"{}",
        HEADER.pack(MARK, 24, MAX_JSON + 1) + bytes(10),
        HEADER.pack(MARK, 24, 4) + b"\xff\xfe{}",
        HEADER.pack(MARK, 24, 200_000) + b"[" * 200_000,
        HEADER.pack(MARK, 24, 5_000) + b"1" * 5_000,
    ],
    ids=range(9),
)
def test_what_is_no_message_is_refused(content):
    with pytest.raises(BadMessage):
        read_message(memoryview(content), object)


@given(st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_changed_message_is_refused_or_is_of_the_type(changes):
    content = bytearray(written(outer()))
    for place, byte in changes:
        content[place % len(content)] = byte
    try:
        back = read_message(memoryview(content), Outer)
    except BadMessage:
        return
    assert isinstance(back, Outer)
    assert back.values.dtype.kind in "biufU"
    back.values.sum() if back.values.dtype.kind != "U" else back.values.tolist()
    assert all(isinstance(inner, Inner) and isinstance(inner.changes, Mapping) for inner in back.inner)


def test_the_header_has_the_size_that_readers_and_writers_know():
    assert HEADER.size == 24 == struct.calcsize("<8sQQ")
