"""Values survive the way from a reader, and bytes that are no answer are refused, whatever they are."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.data import Choices, LoadOptions
from calib.isolation.codec import RequestReader, RequestWriter, read_answer, write_answer
from calib.records import ALIGNED, HEADER, MARK, MAX_TEXT, MAX_VALUES, BadRecord


def written(value: Any) -> bytes:
    fd = os.memfd_create("answer")
    try:
        write_answer(fd, value)
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)


def there_and_back(value: Any, expected: Any) -> Any:
    return read_answer(memoryview(written(value)), expected)


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


Scalar = TypeVar("Scalar", bound=np.generic)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", int),
        (True, int),
        (1, bool),
        ("warning", Literal["error", "info"]),
        (True, Literal[1]),
        (["a", 1], tuple[str, ...]),
        ({"name": "x"}, Inner),
        ({"name": "x", "level": "info", "changes": {}, "more": 1}, Inner),
        (1, open),
    ],
    ids=str,
)
def test_another_type_is_refused(value, expected):
    with pytest.raises(BadRecord):
        there_and_back(value, expected)


def answer(outline: Any, declared: Any, content: bytes = bytes(64)) -> memoryview:
    """An answer as a hostile reader may write it."""
    text = json.dumps([outline, declared]).encode()
    head = HEADER.pack(MARK, len(text)) + text
    return memoryview(head + bytes(-len(head) % ALIGNED) + content)


X, Y = {"$array": "x"}, {"$array": "y"}


@pytest.mark.parametrize(
    ("outline", "declared", "expected"),
    [
        (X, [["x", "O", [1]]], np.ndarray),
        (X, [["x", "<M8[D]", [1]]], np.ndarray),
        (X, [["x", "<f8", [-1]]], np.ndarray),
        (X, [["x", "<f8", [2**62, 2**62]]], np.ndarray),
        (X, [["x", "<f8", [0, 2**62, 2**62]]], np.ndarray),
        (X, [["x", "<f8", [9]]], np.ndarray),  # there are 64 bytes
        (X, [["x", "<U99999999999", [1]]], np.ndarray),
        (X, [["x", "<U0", [10**10]]], np.ndarray),  # of no letters, for which NumPy takes memory all the same
        (X, [], np.ndarray),
        (X, [["x", "<f8", [1]]], object),
        ({"$array": 3}, [], object),
        ([X, X], [["x", "<f8", [1]]], tuple[np.ndarray, ...]),  # it would cost twice what its bytes allow
        ([X, Y], [["x", "<f8", [1]]], tuple[np.ndarray, ...]),
        ([X], [["x", "<f8", [1]], ["y", "<f8", [1]]], tuple[np.ndarray, ...]),
    ],
    ids=str,
)
def test_an_array_that_is_none_is_refused(outline, declared, expected):
    with pytest.raises(BadRecord):
        read_answer(answer(outline, declared), expected)


@pytest.mark.parametrize("dtype", ["?", "<U1"])
def test_bytes_that_are_no_truth_value_and_no_character_are_refused(dtype):
    content = bytearray(written(np.zeros(4, dtype)))
    content[-ALIGNED : -ALIGNED + 16] = b"\xff\xff\xff\x7f" * 4
    with pytest.raises(BadRecord):
        read_answer(memoryview(content), np.ndarray)


def header(text: bytes, length: int | None = None, mark: bytes = MARK) -> bytes:
    return HEADER.pack(mark, len(text) if length is None else length) + text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        header(b"[{}, []]", 10**6),
        header(b"[{}, []]", mark=b"other\0\0\0"),
        header(b" " * MAX_TEXT + b"[1, []]"),
        header(b"[[" + b"0," * MAX_VALUES + b"0], []]"),
        header(b"[" * 200_000),
        header(b"1" * 5_000),
    ],
    ids=range(8),
)
def test_what_is_no_answer_is_refused(content):
    with pytest.raises(BadRecord):
        read_answer(memoryview(content), object)


@given(st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_changed_answer_is_refused_or_is_of_the_type(changes):
    content = bytearray(written(outer()))
    for place, byte in changes:
        content[place % len(content)] = byte
    try:
        back = read_answer(memoryview(content), Outer)
    except BadRecord:
        return
    assert isinstance(back, Outer)
    assert back.values.dtype.kind in "biufU"
    back.values.sum() if back.values.dtype.kind != "U" else back.values.tolist()
    assert all(isinstance(inner, Inner) and isinstance(inner.changes, Mapping) for inner in back.inner)


def test_a_request_takes_files_wherever_they_stand(tmp_path):
    path = tmp_path / "labels.npy"
    path.write_bytes(b"labels")
    choices = Choices(class_names=("a", "\ud800"))
    taken: list[tuple[str, Any]] = []
    with path.open("rb") as file, io.BytesIO() as asked:
        writer = RequestWriter(asked, lambda *named: taken.append(named) or len(taken) - 1)
        writer.dump((np.load, (("a.npz", file), LoadOptions(labels=("b.npy", file), choices=choices))))
        asked.seek(0)
        reader = RequestReader(asked, [os.open(path, os.O_RDONLY) for _ in taken])
        task, ((name, first), options) = reader.load()
        with first, options.labels[1] as second:
            assert (first.read(), second.read()) == (b"labels", b"labels")
    assert task is np.load
    assert (name, options.labels[0], options.choices) == ("a.npz", "b.npy", choices)
    assert [name for name, _ in taken] == ["a.npz", "b.npy"]
