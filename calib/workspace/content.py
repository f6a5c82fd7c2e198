"""A stored file: a record as JSON and named arrays as their bytes.

Nothing in it runs code, and no library parses it but JSON's: types and shapes stand in the record, which begins with a
checksum over all its bytes and holds that of the arrays. All are checked before an array is made.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from calib.isolation.codec import ALIGNED, BadMessage, array_of, array_type, plain_array
from calib.workspace.files import Damaged, Unreadable

HEADER = struct.Struct("<8sQ")
"""The mark of the format and the length of the record."""
MARK = b"calib\0\0\2"
MAX_RECORD = 2**25
"""Bytes of a record (32 MiB); that of 100,000 classes takes some 2."""
MAPPED = 1 << 20
"""Bytes from which an array stays on disk; a smaller one is copied into memory."""


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
    try:
        stored = {name: plain_array(array) for name, array in arrays.items()}
    except TypeError as error:
        raise ValueError(str(error)) from error
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
    except (BadMessage, ValueError, KeyError, TypeError, RecursionError, struct.error) as error:
        raise Damaged(f"{_named(path)} was damaged or changed on disk ({type(error).__name__}).") from error


def _arrays(file: BinaryIO, layout: Mapping[str, Any], sha256: str) -> dict[str, np.ndarray]:
    """The arrays that stand in a file behind its record, where they are exactly what the layout says."""
    place, parts = file.tell(), {}
    for name, (code, shape) in layout.items():
        dtype, size = array_type(code, shape)
        start = place + -place % ALIGNED
        place = start + size
        parts[name] = dtype, shape, slice(start, place)
    if file.seek(0, 2) != place:
        raise ValueError("The arrays do not fill the file.")
    file.seek(0)
    content = np.asarray(np.memmap(file, np.uint8, "r") if place >= MAPPED else np.frombuffer(file.read(), np.uint8))
    digest = hashlib.sha256()
    for _, _, where in parts.values():
        digest.update(content[where].data)  # other threads go on meanwhile; 500 MB take a second or more
    if digest.hexdigest() != sha256:
        raise ValueError("The checksum is that of other arrays.")
    arrays = {name: array_of(content[where], dtype, shape) for name, (dtype, shape, where) in parts.items()}
    return {name: array if array.nbytes >= MAPPED else array.copy() for name, array in arrays.items()}


def _named(path: Path) -> str:
    return f"{path.parent.name}/{path.name[:12]}"
