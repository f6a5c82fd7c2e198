"""A stored file: a record as JSON and named arrays as their bytes.

Nothing in it runs code, and no library parses it but JSON's: types and shapes stand in the record, which begins with a
checksum over all its bytes and holds that of the arrays. All are checked before an array is made.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from calib.workspace.files import Damaged, Unreadable

HEADER = struct.Struct("<8sQ")
"""The mark of the format and the length of the record."""
MARK = b"calib\0\0\2"
ALIGNED = 64
MAX_RECORD = 2**25
"""Bytes of a record (32 MiB); that of 100,000 classes takes some 2."""
MAX_DIMENSIONS = 8
MAPPED = 1 << 20
"""Bytes from which an array stays on disk; a smaller one is copied into memory."""
NUMBERS = frozenset(
    np.dtype(kind).str for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
)
TEXT = re.compile(re.escape(np.dtype("U1").str[:2]) + r"[1-9][0-9]{0,7}")
MAX_CODE_POINT = 0x10FFFF


def sealed(record: Mapping[str, Any]) -> bytes:
    """What JSON can hold as JSON, which begins with a checksum over all bytes that follow it.

    Raises
    ------
    ValueError
        If it is larger than :func:`unsealed` reads.
    """
    content = json.dumps(record).encode()[1:]
    whole = _seal_of(content) + content
    if len(whole) > MAX_RECORD:
        raise ValueError(f"its description takes {len(whole) / 1e6:.0f} MB, and {MAX_RECORD / 1e6:.0f} MB are kept")
    return whole


def unsealed(content: bytes) -> dict[str, Any]:
    """Undo :func:`sealed`; ValueError for other bytes than it gave, before any of them are parsed."""
    if len(content) > MAX_RECORD:
        raise ValueError("It is larger than any that was written.")
    length = len(_seal_of(b""))
    seal, content = content[:length], content[length:]
    if seal != _seal_of(content):
        raise ValueError("The checksum is that of another record.")
    record: dict[str, Any] = json.loads(b"{" + content)
    return record


def _seal_of(content: bytes) -> bytes:
    return f'{{"sha256": "{hashlib.sha256(content).hexdigest()}", '.encode()


def write_content(file: BinaryIO, record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write into an empty file; the bytes of an array go there straight from memory.

    Parameters
    ----------
    record : what JSON can hold.
    arrays : by name, of numbers, booleans or text.

    Raises
    ------
    ValueError
        For other arrays, and for a record that would not be read back.
    OSError
        If the disk is full or cannot be written.
    """
    stored = {name: _storable(array) for name, array in arrays.items()}
    layout = {name: [array.dtype.str, list(array.shape)] for name, array in stored.items()}
    parts = [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for array in stored.values()]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    text = sealed({"record": dict(record), "arrays": layout, "arrays_sha256": digest.hexdigest()})
    file.write(HEADER.pack(MARK, len(text)))
    file.write(text)
    place = HEADER.size + len(text)
    for part in parts:
        file.write(bytes(-place % ALIGNED))
        file.write(part)
        place += -place % ALIGNED + len(part)


def read_content(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Undo :func:`write_content`. Large arrays are mapped from the file: read-only, and shared by all who open it.

    Notes
    -----
    If a file that is mapped became shorter, reading beyond its end would end the process (SIGBUS). Nothing here
    shortens or changes a file that is stored, and the workspace belongs to the user whom the server runs as, so that
    another user cannot. A copy of its own for each server would cost the memory or the disk that mapping spares.

    Raises
    ------
    Damaged
        If it is not as it was written.
    Unreadable
        If the disk does not give it, or another has just deleted it.
    """
    try:
        with open(path, "rb") as file:
            mark, length = HEADER.unpack(file.read(HEADER.size))
            if mark != MARK or length > MAX_RECORD:
                raise Damaged(f"{_named(path)} was written by another version of this program.")
            content = unsealed(file.read(length))
            record, layout = content["record"], content["arrays"]
            if type(record) is not dict or type(layout) is not dict:
                raise TypeError("These are not a record and arrays.")
            return record, _arrays(file, layout, content["arrays_sha256"])
    except OSError as error:
        raise Unreadable(f"{_named(path)} cannot be read now ({type(error).__name__}).") from error
    except (ValueError, KeyError, TypeError, RecursionError, struct.error) as error:
        raise Damaged(f"{_named(path)} was damaged or changed on disk ({type(error).__name__}).") from error


def _arrays(file: BinaryIO, layout: Mapping[str, Any], sha256: str) -> dict[str, np.ndarray]:
    """The arrays that stand in a file behind its record, where they are exactly what the layout says."""
    place, parts = file.tell(), {}
    for name, (code, shape) in layout.items():
        if type(code) is not str or not (code in NUMBERS or TEXT.fullmatch(code)):
            raise TypeError("An array has a type that is never stored.")
        if len(shape) > MAX_DIMENSIONS or not all(type(n) is int and n >= 0 for n in shape):
            raise TypeError("An array has a shape that none has.")
        start = place + -place % ALIGNED
        place = start + np.dtype(code).itemsize * prod(shape)
        parts[name] = np.dtype(code), shape, slice(start, place)
    if file.seek(0, 2) != place:
        raise ValueError("The arrays do not fill the file.")
    file.seek(0)
    content = np.asarray(np.memmap(file, np.uint8, "r") if place >= MAPPED else np.frombuffer(file.read(), np.uint8))
    digest = hashlib.sha256()
    for _, _, where in parts.values():
        digest.update(content[where].data)  # other threads go on meanwhile; 500 MB take a second or more
    if digest.hexdigest() != sha256:
        raise ValueError("The checksum is that of other arrays.")
    arrays = {name: _array(content[where], dtype, shape) for name, (dtype, shape, where) in parts.items()}
    return {name: array if array.nbytes >= MAPPED else array.copy() for name, array in arrays.items()}


def _array(content: np.ndarray, dtype: np.dtype[Any], shape: list[int]) -> np.ndarray:
    if dtype.kind == "b" and content.size and content.max() > 1:  # NumPy takes every byte for a truth value
        raise ValueError("A truth value is neither true nor false.")
    if dtype.kind == "U" and content.size and content.view(np.uint32).max() > MAX_CODE_POINT:
        raise ValueError("A letter is none.")
    return content.view(dtype).reshape(shape)


def _storable(array: np.ndarray) -> np.ndarray:
    """The array in this machine's byte order, and texts of no letter with room for one."""
    array = np.asarray(array)
    if array.dtype.kind == "U" and not array.dtype.itemsize:
        return array.astype("U1")
    if (array.dtype.kind != "U" and array.dtype.newbyteorder("=").str not in NUMBERS) or array.ndim > MAX_DIMENSIONS:
        raise ValueError(f"An array of {array.dtype} cannot be stored.")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _named(path: Path) -> str:
    return f"{path.parent.name}/{path.name[:12]}"
