"""Values survive the way from a reader, and bytes that are no answer are refused, whatever they are."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import records
from calib.data import Choices, LoadOptions
from calib.isolation.client import RequestWriter
from calib.isolation.server import RequestReader
from calib.records import MAX_TEXT, MAX_VALUES, TEXT, BadRecord, read
from tests.test_records import archive_of, npy


def written(value: Any) -> bytes:
    file = io.BytesIO()
    records.write(file, value)
    return file.getvalue()


def read_answer(content: bytes, expected: Any) -> Any:
    return read(io.BytesIO(content), expected)


def there_and_back(value: Any, expected: Any) -> Any:
    return read_answer(written(value), expected)


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
        **{
            "values": np.arange(6.0).reshape(2, 3),
            "labels": None,
            "columns": ("a", "b"),
            "numbers": (1, 2),
        },
        **{
            "inner": (Inner("x", "info", {"labels": ("a",), "on": True}),),
            "share": 1,
            "given": False,
        },
    }
    return Outer(**{**values, **changes})


def test_a_value_of_many_parts():
    value = outer(
        labels=np.array(["łoś", "\ud83d\ude00", ""]), share=np.float64(0.5), given=np.bool_(True)
    )
    back = there_and_back(value, Outer)
    np.testing.assert_array_equal(back.values, value.values)
    np.testing.assert_array_equal(back.labels, value.labels)
    assert back.inner == value.inner
    assert (back.columns, back.numbers, back.share, back.given) == (("a", "b"), (1, 2), 0.5, True)
    assert there_and_back(outer(columns="a", numbers=("1",)), Outer).columns == "a"
    assert there_and_back(outer(share=float("nan")), Outer).share != 0


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


def answer(text: bytes, *arrays: tuple[str, bytes]) -> bytes:
    """An answer as a hostile reader may write it."""
    return archive_of((f"{TEXT}.npy", npy("|u1", f"({len(text)},)", text)), *arrays)


ONE = npy("<f8", "(1,)", bytes(8))


@pytest.mark.parametrize(
    ("outline", "arrays", "expected"),
    [
        ("x", [("x", npy("<f8", "(-1, -1)", bytes(8)))], np.ndarray),
        ("x", [("x", npy("<f8", f"({2**62}, {2**62})", bytes(8)))], np.ndarray),
        ("x", [("x", npy("<f8", f"(0, {2**62}, {2**62})", b""))], np.ndarray),
        ("x", [("x", npy("<f8", "(9,)", bytes(64)))], np.ndarray),
        ("x", [("x", npy("<U99999999999", "(1,)", bytes(64)))], np.ndarray),
        (
            "x",
            [("x", npy("<U0", f"({10**10},)", b""))],
            np.ndarray,
        ),  # of no letters, for which NumPy takes memory
        ("x", [("x", npy("|b1", "(4,)", b"\1\0\2\1"))], np.ndarray),  # no truth value
        ("x", [("x", npy("<U1", "(1,)", b"\xff\xff\xff\x7f"))], np.ndarray),  # no character
        ("x", [("y", ONE)], np.ndarray),
        ("x", [("x", ONE)], object),
        (3, [], object),
        (
            ["x", "x"],
            [("x", ONE)],
            tuple[np.ndarray, ...],
        ),  # it would cost twice what its bytes allow
        (["x", "y"], [("x", ONE)], tuple[np.ndarray, ...]),
        (["x"], [("x", ONE), ("y", ONE)], tuple[np.ndarray, ...]),
    ],
    ids=str,
)
def test_an_array_that_is_none_is_refused(outline, arrays, expected):
    names = (
        [{"$array": name} for name in outline] if isinstance(outline, list) else {"$array": outline}
    )
    content = answer(
        json.dumps(names).encode(), *((f"{name}.npy", array) for name, array in arrays)
    )
    with pytest.raises(BadRecord):
        read_answer(content, expected)


def test_an_answer_that_unpacks_to_more_than_its_bytes_is_refused():
    packed = io.BytesIO()
    np.savez_compressed(
        packed, **{TEXT: np.frombuffer(b'{"$array": "x"}', np.uint8), "x": np.zeros(10_000)}
    )
    with pytest.raises(BadRecord, match="unpack"):
        read_answer(packed.getvalue(), np.ndarray)


def test_a_list_of_very_many_arrays_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(records, "MAX_ARRAYS", 3)
    read_answer(written([np.zeros(1)] * 2), list[np.ndarray])
    many = written([np.zeros(1)] * 3)
    monkeypatch.setattr(zipfile, "ZipFile", lambda *given: pytest.fail("it was read"))
    with pytest.raises(BadRecord, match="So many"):
        read_answer(many, list[np.ndarray])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        archive_of(("other.npy", ONE)),
        archive_of((f"{TEXT}.txt", b"{}")),
        answer(b"\xff"),
        answer(b" " * MAX_TEXT + b"1"),
        answer(b"[" + b"0," * MAX_VALUES + b"0]"),
        answer(b"[" * 200_000),
        answer(b"1" * 5_000),
    ],
    ids=range(9),
)
def test_what_is_no_answer_is_refused(content):
    with pytest.raises(BadRecord):
        read_answer(content, object)


@given(st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_changed_answer_is_refused_or_is_of_the_type(changes):
    content = bytearray(written(outer()))
    for place, byte in changes:
        content[place % len(content)] = byte
    try:
        back = read_answer(bytes(content), Outer)
    except BadRecord:
        return
    assert isinstance(back, Outer)
    assert back.values.dtype.kind in "biufU"
    back.values.sum() if back.values.dtype.kind != "U" else back.values.tolist()
    assert all(
        isinstance(inner, Inner) and isinstance(inner.changes, Mapping) for inner in back.inner
    )


def test_a_request_takes_files_wherever_they_stand(tmp_path):
    path = tmp_path / "labels.npy"
    path.write_bytes(b"labels")
    choices = Choices(class_names=("a", "\ud800"))
    with path.open("r+b") as file, io.BytesIO() as asked, ExitStack() as stack:
        writer = RequestWriter(asked, stack)
        writer.dump(
            (np.load, (("a.npz", file), LoadOptions(labels=("b.npy", file), choices=choices)))
        )
        asked.seek(0)
        reader = RequestReader(asked, [os.dup(descriptor) for descriptor in writer.descriptors])
        task, ((name, first), options) = reader.load()
        with first, options.labels[1] as second:
            assert (first.read(), second.read()) == (b"labels", b"labels")
            with pytest.raises(OSError):
                os.write(first.fileno(), b"features")
    assert task is np.load
    assert (name, options.labels[0], options.choices) == ("a.npz", "b.npy", choices)
    assert writer.names == ["a.npz", "b.npy"] and writer.size == 2 * len(b"labels")
