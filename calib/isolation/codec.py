"""Values between processes: bounded JSON for structure and text, raw bytes for arrays, and types given by the receiver.

The receiver says what it expects; nothing that the bytes say chooses a class or a function. A message is a header of
fixed size, the arrays, and the JSON, in which ``{"$array": [dtype, shape, offset]}`` stands for an array and
``{"$file": [number, name]}`` for an open file.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np

from calib.records import ARRAY, BadRecord, TypedReader, checked

FILE = "$file"
HEADER = struct.Struct("<8sQQ")
"""What a message begins with: its mark, and the place and the length of its JSON."""
MARK = b"calib\0\0\1"
ALIGNED = 64
MAX_JSON = 2**25
"""Bytes of structure and text in one message (32 MiB); the names of 100,000 classes take some 2."""
MAX_DIMENSIONS = 8
NUMBERS = frozenset(
    np.dtype(kind).str for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
)
TEXT = re.compile(re.escape(np.dtype("U1").str[:2]) + r"[1-9][0-9]{0,7}")
MAX_CODE_POINT = 0x10FFFF


class BadMessage(BadRecord):
    """Bytes that are no message, or not one of the expected type."""


def plain_array(array: np.ndarray) -> np.ndarray:
    """The array in this machine's byte order, and texts of no letter with room for one.

    Raises
    ------
    TypeError
        If it holds neither numbers, truth values nor text, or has too many dimensions.
    """
    array = np.asarray(array)
    if array.dtype.kind == "U" and not array.dtype.itemsize:
        return array.astype("U1")
    native = array.dtype.newbyteorder("=")
    if (native.kind != "U" and native.str not in NUMBERS) or array.ndim > MAX_DIMENSIONS:
        raise TypeError(f"An array of {array.dtype} with {array.ndim} dimensions is not written.")
    return array.astype(native, copy=False)


def array_type(code: Any, shape: Any) -> tuple[np.dtype[Any], int]:
    """The type of an array that :func:`plain_array` can have given, and its number of bytes; else BadMessage."""
    checked(code, type(code) is str and (code in NUMBERS or TEXT.fullmatch(code)))
    checked(shape, type(shape) is list and len(shape) <= MAX_DIMENSIONS)
    checked(shape, all(type(n) is int and n >= 0 for n in shape))
    dtype = np.dtype(code)
    return dtype, dtype.itemsize * prod(shape)


def array_of(content: np.ndarray, dtype: np.dtype[Any], shape: Sequence[int]) -> np.ndarray:
    """The array of which these are the bytes, without a copy; BadMessage where they are no such values."""
    if dtype.kind == "b":  # NumPy takes every byte of a boolean for 0 or 1
        checked(dtype, not content.size or content.max() <= 1)
    if dtype.kind == "U":  # and every four of a text for a character
        checked(dtype, not content.size or content.view(np.uint32).max() <= MAX_CODE_POINT)
    return content.view(dtype).reshape(shape)


def write_message(fd: int, value: Any, keep_file: Callable[[Any], int | None] = lambda value: None) -> None:
    """Write a value to an empty file.

    Parameters
    ----------
    value : dataclasses, mappings with text keys, sequences, arrays of numbers, booleans or text, scalars and None,
        nested at will.
    keep_file : the number under which a value is handed over as an open file; None where it is none.

    Raises
    ------
    TypeError
        For anything else.
    """
    place = HEADER.size

    def put(array: np.ndarray) -> dict[str, Any]:
        nonlocal place
        array = plain_array(array)
        place = -(-place // ALIGNED) * ALIGNED
        start = place
        place = _write(fd, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, place)
        return {ARRAY: [array.dtype.str, list(array.shape), start]}

    def outline(value: Any) -> Any:
        if (number := keep_file(value)) is not None:
            return {FILE: [number, value[0]]}
        if isinstance(value, np.ndarray):
            return put(value)
        if isinstance(value, np.generic):
            return value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if is_dataclass(value) and not isinstance(value, type):
            return {f.name: outline(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {key: outline(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [outline(item) for item in value]
        raise TypeError(f"A {type(value).__name__} cannot be handed over.")

    # Text of a file may hold lone surrogates, which UTF-8 cannot; escaped, they are ASCII.
    text = json.dumps(outline(value)).encode("ascii")
    end = _write(fd, memoryview(text), place)
    _write(fd, memoryview(HEADER.pack(MARK, place, end - place)), 0)


def _write(fd: int, content: memoryview, place: int) -> int:
    while len(content):
        written = os.pwrite(fd, content[: 1 << 30], place)
        content, place = content[written:], place + written
    return place


def read_message(content: memoryview, expected: Any, files: Sequence[BinaryIO] = ()) -> Any:
    """The value in a message, of the expected type; its arrays are views of ``content``.

    Parameters
    ----------
    expected : a type, as annotations write it: dataclasses, tuples, lists, mappings with text keys, literals, unions,
        arrays, scalars; Any stands for plain JSON, and object for the same with tuples in place of its lists.
    files : open files by number; without any, none may be in the message.

    Raises
    ------
    BadMessage
        For anything that was not written for this type.
    """
    try:
        mark, start, length = HEADER.unpack_from(content)
        if mark != MARK or length > MAX_JSON or start + length > len(content):
            raise BadMessage("The header is none.")
        plain = json.loads(bytes(content[start : start + length]))
        return _Reader(content, files).value(plain, expected)
    except BadMessage:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, struct.error) as error:
        raise BadMessage(f"{type(error).__name__}: {error}") from error


class _Reader(TypedReader):
    """Arrays are parts of the message, and files are open; neither may stand where plain values are expected."""

    def __init__(self, content: memoryview, files: Sequence[BinaryIO]):
        super().__init__({})
        self._content = content
        self._files = files

    def value(self, plain: Any, expected: Any) -> Any:
        """One value of a type, from what JSON gave."""
        if isinstance(plain, dict) and FILE in plain:
            return self._file(plain)
        return super().value(plain, expected)

    def anything(self, plain: Any, sequence: type) -> Any:
        """Nested dicts and sequences, without arrays."""
        if isinstance(plain, dict):
            checked(plain, ARRAY not in plain and FILE not in plain)
        return super().anything(plain, sequence)

    def array(self, plain: Any) -> np.ndarray:
        """The array of a part of the message."""
        checked(plain, type(plain) is dict and set(plain) == {ARRAY})
        code, shape, start = plain[ARRAY]
        dtype, size = array_type(code, shape)
        checked(start, type(start) is int and start >= HEADER.size and start % ALIGNED == 0)
        checked(start, start + size <= len(self._content))
        return array_of(np.frombuffer(self._content[start : start + size], np.uint8), dtype, shape)

    def _file(self, plain: dict[str, Any]) -> tuple[str, BinaryIO]:
        number, name = checked(plain, set(plain) == {FILE})[FILE]
        checked(number, type(number) is int and 0 <= number < len(self._files) and type(name) is str)
        return name, self._files[number]
