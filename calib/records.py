"""The one way a record is written down: an npz with JSON for structure and text, and the type that a reader expects.

Nothing is unpickled, nothing in the bytes chooses a class or a function, and sizes are checked before memory is taken.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from math import prod
from types import NoneType, UnionType
from typing import Any, BinaryIO, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.lib import format as npy_format

from calib.errors import CalibrationError

LARGEST = 2**30
"""Bytes of unpacked arrays (1 GiB); a fitted calibrator has megabytes, with a training set a hundred."""
MAX_TEXT = 2**25
"""Characters of a record's JSON (32 MiB); that of 10,000 classes has about one million."""
MAX_VALUES = 2**22
"""Values in the JSON (4 million); the names of 100,000 classes are as many, and each may take 64 bytes."""
MAX_ARRAYS = 2**17
"""Arrays in an npz (131,072); each takes some kilobyte when it is listed."""
LISTED = b"PK\1\2"
"""Bytes before the name of each member in an archive's list."""
MAX_CODE_POINT = 0x10FFFF
PLAIN = "biufUS"
"""Kinds of arrays in a record: numbers, booleans and text."""
TEXT = "outline"
"""The array of a record that holds its JSON."""
ARRAY = "$array"
"""A JSON object with this one key stands for the array of that name."""
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compressions that NumPy writes. LZMA would let the file choose the size of its dictionary, up to 4 GB."""


class BadRecord(ValueError):
    """Bytes that are no record, or not one of the expected type."""


def flatten(value: Any, path: str = "") -> tuple[Any, dict[str, np.ndarray]]:
    """Split nested values into what JSON can hold and the arrays.

    Parameters
    ----------
    value : dataclasses, dicts with string keys, lists, tuples (which become lists), arrays of numbers, booleans or
        text, Python and NumPy scalars, strings and None, nested at will.
    path : name of the value; an array's name is the path of keys to it, joined by ``/`` (a ``/`` inside a
        key is written ``~1`` and ``~`` is written ``~0``, as in JSON pointers, and what ends names in an npz ``~2``).

    Returns
    -------
    outline : the value with every array replaced by ``{"$array": name}``; JSON can hold it.
    arrays : the arrays by name.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in PLAIN:
            raise CalibrationError(
                f"{path or 'The value'} is an array of {value.dtype}, which cannot be written."
            )
        return {ARRAY: path}, {path: value}
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        items = dict(value)
        if wrong := [key for key in items if not isinstance(key, str) or key == ARRAY]:
            raise CalibrationError(
                f"{path or 'The value'} has the key {wrong[0]!r}; keys are text, and not {ARRAY!r}."
            )
    elif isinstance(value, (list, tuple)):
        items = {str(i): item for i, item in enumerate(value)}
    else:
        value = value.item() if isinstance(value, np.generic) else value
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise CalibrationError(
                f"{path or 'The value'} is a {type(value).__name__}, which cannot be written."
            )
        return value, {}
    outlines = {}
    arrays = {}
    for key, item in items.items():
        name = key.replace("~", "~0").replace("/", "~1").replace("\0", "~2")
        outlines[key], inner = flatten(item, f"{path}/{name}" if path else name)
        arrays.update(inner)
    return (outlines if isinstance(value, Mapping) else list(outlines.values())), arrays


def unflatten(outline: Any, arrays: Mapping[str, np.ndarray], expected: Any = Any) -> Any:
    """Undo :func:`flatten`.

    Parameters
    ----------
    expected : a type, as annotations write it: dataclasses, tuples, lists, mappings with text keys, literals, unions,
        arrays, scalars; Any stands for everything that :func:`flatten` gives, and object for the same without arrays
        and with tuples in place of lists.

    Raises
    ------
    ValueError, TypeError, KeyError, OverflowError or RecursionError
        For anything that was not written for this type.
    """
    reader = TypedReader(arrays)
    result = reader.value(outline, expected)
    checked("An array that nothing names", not reader.arrays)
    return result


def npz_of(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An npz of arrays that hold no Python objects, which only a pickle could keep; equal arrays, equal bytes."""
    if objects := [name for name, array in arrays.items() if array.dtype.hasobject]:
        raise TypeError(f"{', '.join(objects)} hold Python objects, which are not written")
    buffer = io.BytesIO()
    _save(buffer, arrays, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _save(file: BinaryIO, arrays: Mapping[str, np.ndarray], compression: int) -> None:
    """Write as ``numpy.savez`` does, which takes arrays of some names, such as "file", for its own options."""
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy_format.write_array(member, array, allow_pickle=False)


def write(file: BinaryIO, value: Any) -> None:
    """Write what :func:`flatten` takes to an empty file, as an npz that is not compressed."""
    outline, arrays = flatten(value, "value")
    # Text of a file may hold lone surrogates, which UTF-8 cannot; escaped, they are ASCII.
    text = np.frombuffer(json.dumps(outline).encode("ascii"), np.uint8)
    native = {
        name: array.astype(array.dtype.newbyteorder("="), copy=False)
        for name, array in arrays.items()
    }
    _save(file, {TEXT: text, **native}, zipfile.ZIP_STORED)


def read(file: BinaryIO, expected: Any) -> Any:
    """Undo :func:`write`; arrays are read-only.

    Parameters
    ----------
    expected : a type, as for :func:`unflatten`.

    Raises
    ------
    BadRecord
        For anything that was not written for this type, or not for as many bytes as the file has.
    """
    try:
        arrays = arrays_of(file, file.seek(0, 2))
        text = arrays.pop(TEXT).tobytes()
        checked(
            "So much text",
            len(text) <= MAX_TEXT and sum(map(text.count, (b"[", b"{", b","))) < MAX_VALUES,
        )
        return unflatten(json.loads(text.decode("ascii")), arrays, expected)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # zipfile and NumPy raise many types
        raise BadRecord(f"{type(error).__name__}: {error}") from error


def arrays_of(npz: bytes | BinaryIO, most: int = LARGEST) -> dict[str, np.ndarray]:
    """Undo :func:`npz_of`; the arrays are read-only.

    Parameters
    ----------
    most : bytes to which they may unpack.

    Raises
    ------
    BadRecord
        If two arrays share a name, or one is not what it declares.
    CalibrationError
        If they unpack to more than any record's do.
    Exception
        What ``zipfile`` and NumPy raise on bytes that are no such archive.
    """
    file = io.BytesIO(npz) if isinstance(npz, bytes) else npz
    file.seek(0)
    chunks = iter(lambda: file.read(2**20), b"")
    checked("So many arrays", sum(chunk.count(LISTED) for chunk in chunks) <= MAX_ARRAYS)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > most:
            raise CalibrationError("The arrays unpack to more than 1 GB, which no calibrator's do.")
        arrays = {
            member.filename.removesuffix(".npy"): _read_array(archive, member) for member in members
        }
    checked("An array that is there twice", len(arrays) == len(members))
    return arrays


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    checked(member.compress_type, member.compress_type in COMPRESSIONS)
    with archive.open(member) as stream:
        version = npy_format.read_magic(stream)
        read = (
            npy_format.read_array_header_1_0
            if version == (1, 0)
            else npy_format.read_array_header_2_0
        )
        shape, fortran_order, dtype = read(stream)
        size = member.file_size - stream.tell()
        # np.load would take the memory for any shape.
        checked(
            f"The shape {shape}",
            dtype.kind in PLAIN and prod(shape) * dtype.itemsize == size and dtype.itemsize,
        )
        content = stream.read(size)
    if (
        dtype.kind in "bU"
    ):  # NumPy takes every byte of a boolean for 0 or 1, and every four of a text for a character
        unit, most = ("u1", 1) if dtype.kind == "b" else (f"{dtype.byteorder}u4", MAX_CODE_POINT)
        checked(dtype, np.frombuffer(content, unit).max(initial=0) <= most)
    return np.ndarray(shape, dtype, content, order="F" if fortran_order else "C")


def without_arrays(value: Any) -> Any:
    """The value with every array as a nested list and every tuple as a list: what JSON can hold by itself."""
    outline, arrays = flatten(value)
    return unflatten(outline, {name: array.tolist() for name, array in arrays.items()})


class TypedReader:
    """Makes values of expected types of what JSON gave.

    Attributes
    ----------
    arrays : those that no part has taken yet, by the name that stands for them. Each is taken once, so that a value
        costs what the bytes allow, and not a hundred thousand times one array.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        self.arrays = dict(arrays)

    def value(self, plain: Any, expected: Any) -> Any:
        """One value of a type; raises BadRecord, and what Python raises on other values, where it is none."""
        origin = get_origin(expected)
        arguments = get_args(expected)
        if alias := getattr(
            origin or expected, "__value__", None
        ):  # npt.NDArray with Python 3.12 and NumPy 2.5
            origin = get_origin(alias) or alias
        if origin in (Union, UnionType):
            return self._union(plain, arguments)
        if expected is Any or expected is object:
            return self.anything(plain, list if expected is Any else tuple)
        if origin is Literal:
            return checked(
                plain, any(plain == choice and type(plain) is type(choice) for choice in arguments)
            )
        if expected in (None, NoneType):
            return checked(plain, plain is None)
        if expected is float:
            return float(checked(plain, type(plain) in (int, float)))
        if expected in (bool, int, str):
            return checked(plain, type(plain) is expected)
        if (origin or expected) is np.ndarray:
            return self.array(plain)
        if is_dataclass(expected):
            return self._dataclass(plain, expected)
        if origin is tuple:
            return self._tuple(plain, arguments)
        if origin in (list, Sequence):
            return [self.value(item, arguments[0]) for item in checked(plain, type(plain) is list)]
        if origin in (dict, Mapping):
            items = checked(plain, type(plain) is dict).items()
            return {key: self.value(item, arguments[1]) for key, item in items}
        raise BadRecord(f"Nothing is read as {expected}.")

    def array(self, plain: Any) -> np.ndarray:
        """The array that a JSON object stands for."""
        return self.arrays.pop(checked(plain, type(plain) is dict and set(plain) == {ARRAY})[ARRAY])

    def anything(self, plain: Any, sequence: type) -> Any:
        """Nested dicts and sequences, with arrays."""
        if isinstance(plain, list):
            return sequence(self.anything(item, sequence) for item in plain)
        if isinstance(plain, dict):
            if ARRAY in plain:
                return self.array(checked(plain, sequence is list))
            return {key: self.anything(item, sequence) for key, item in plain.items()}
        return plain

    def _union(self, plain: Any, alternatives: tuple[Any, ...]) -> Any:
        for alternative in alternatives:
            arrays = dict(self.arrays)
            try:
                return self.value(plain, alternative)
            except (ValueError, TypeError, KeyError, OverflowError):
                self.arrays = arrays
        raise BadRecord("It is none of the types that are expected.")

    def _dataclass(self, plain: Any, expected: Any) -> Any:
        hints = _hints(expected)
        if set(checked(plain, type(plain) is dict)) != set(hints):
            raise BadRecord(f"These are not the fields of {expected.__name__}.")
        return expected(**{name: self.value(plain[name], hint) for name, hint in hints.items()})

    def _tuple(self, plain: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        checked(plain, type(plain) is list)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(self.value(item, arguments[0]) for item in plain)
        return tuple(
            self.value(item, argument) for item, argument in zip(plain, arguments, strict=True)
        )


@cache
def _hints(expected: type) -> dict[str, Any]:
    hints = get_type_hints(expected)
    return {field.name: hints[field.name] for field in fields(expected)}


def checked(value: Any, holds: Any) -> Any:
    """The value, where something holds; BadRecord elsewhere."""
    if not holds:
        raise BadRecord(f"{str(value)[:80]!r} was not expected.")
    return value
