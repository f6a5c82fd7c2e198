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
from functools import cache
from math import prod
from types import NoneType, UnionType
from typing import Any, BinaryIO, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

ARRAY, FILE = "$array", "$file"
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


class BadMessage(Exception):
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
    _checked(code, type(code) is str and (code in NUMBERS or TEXT.fullmatch(code)))
    _checked(shape, type(shape) is list and len(shape) <= MAX_DIMENSIONS)
    _checked(shape, all(type(n) is int and n >= 0 for n in shape))
    dtype = np.dtype(code)
    return dtype, dtype.itemsize * prod(shape)


def array_of(content: np.ndarray, dtype: np.dtype[Any], shape: Sequence[int]) -> np.ndarray:
    """The array of which these are the bytes, without a copy; BadMessage where they are no such values."""
    if dtype.kind == "b":  # NumPy takes every byte of a boolean for 0 or 1
        _checked(dtype, not content.size or content.max() <= 1)
    if dtype.kind == "U":  # and every four of a text for a character
        _checked(dtype, not content.size or content.view(np.uint32).max() <= MAX_CODE_POINT)
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


def from_plain(plain: Any, expected: Any) -> Any:
    """What JSON gave as a value of an expected type, which holds no arrays; BadMessage where it is none."""
    try:
        return _Reader(memoryview(b""), ()).value(plain, expected)
    except BadMessage:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise BadMessage(f"{type(error).__name__}: {error}") from error


class _Reader:
    def __init__(self, content: memoryview, files: Sequence[BinaryIO]):
        self._content = content
        self._files = files

    def value(self, plain: Any, expected: Any) -> Any:
        """One value of a type, from what JSON gave."""
        origin, arguments = get_origin(expected), get_args(expected)
        if alias := getattr(origin or expected, "__value__", None):  # npt.NDArray with Python 3.12 and NumPy 2.5
            origin = get_origin(alias) or alias
        if isinstance(plain, dict) and FILE in plain:
            return self._file(plain)
        if origin in (Union, UnionType):
            return self._one_of(plain, arguments)
        if expected is Any or expected is object:
            return self._plain(plain, list if expected is Any else tuple)
        if origin is Literal:
            return _checked(plain, any(plain == choice and type(plain) is type(choice) for choice in arguments))
        if expected in (None, NoneType):
            return _checked(plain, plain is None)
        if expected is float:
            return float(_checked(plain, type(plain) in (int, float)))
        if expected in (bool, int, str):
            return _checked(plain, type(plain) is expected)
        if (origin or expected) is np.ndarray:
            return self._array(plain)
        if is_dataclass(expected):
            return self._dataclass(plain, expected)
        if origin is tuple:
            return self._tuple(plain, arguments)
        if origin in (list, Sequence):
            return [self.value(item, arguments[0]) for item in _checked(plain, type(plain) is list)]
        if origin in (dict, Mapping):
            items = _checked(plain, type(plain) is dict).items()
            return {key: self.value(item, arguments[1]) for key, item in items}
        raise BadMessage(f"Nothing is read as {expected}.")

    def _one_of(self, plain: Any, alternatives: tuple[Any, ...]) -> Any:
        for alternative in alternatives:
            try:
                return self.value(plain, alternative)
            except BadMessage:
                continue
        raise BadMessage("It is none of the types that are expected.")

    def _plain(self, plain: Any, sequence: type) -> Any:
        if isinstance(plain, list):
            return sequence(self._plain(item, sequence) for item in plain)
        if isinstance(plain, dict):
            if ARRAY in plain or FILE in plain:
                raise BadMessage("An array or a file stands where plain values are expected.")
            return {key: self._plain(item, sequence) for key, item in plain.items()}
        return plain

    def _dataclass(self, plain: Any, expected: Any) -> Any:
        hints = _hints(expected)
        if set(_checked(plain, type(plain) is dict)) != set(hints):
            raise BadMessage(f"These are not the fields of {expected.__name__}.")
        return expected(**{name: self.value(plain[name], hint) for name, hint in hints.items()})

    def _tuple(self, plain: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        _checked(plain, type(plain) is list)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(self.value(item, arguments[0]) for item in plain)
        return tuple(self.value(item, argument) for item, argument in zip(plain, arguments, strict=True))

    def _array(self, plain: Any) -> np.ndarray:
        _checked(plain, type(plain) is dict and set(plain) == {ARRAY})
        code, shape, start = plain[ARRAY]
        dtype, size = array_type(code, shape)
        _checked(start, type(start) is int and start >= HEADER.size and start % ALIGNED == 0)
        _checked(start, start + size <= len(self._content))
        return array_of(np.frombuffer(self._content[start : start + size], np.uint8), dtype, shape)

    def _file(self, plain: dict[str, Any]) -> tuple[str, BinaryIO]:
        number, name = _checked(plain, set(plain) == {FILE})[FILE]
        _checked(number, type(number) is int and 0 <= number < len(self._files) and type(name) is str)
        return name, self._files[number]


@cache
def _hints(expected: type) -> dict[str, Any]:
    hints = get_type_hints(expected)
    return {f.name: hints[f.name] for f in fields(expected)}


def _checked(value: Any, holds: Any) -> Any:
    if not holds:
        raise BadMessage(f"{str(value)[:80]!r} was not expected.")
    return value
