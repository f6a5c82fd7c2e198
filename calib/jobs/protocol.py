"""What the app and a worker process say to each other, and how it crosses the pipe.

A message is a pickle (protocol 5) followed by the arrays it holds, whose bytes go into the pipe straight from
memory. Only the two ends of our own pipe ever read it; nothing that was uploaded is unpickled here.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays that many tasks use. Sent when they change; a worker keeps the last ones it was given."""

    key: str
    arrays: Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """A pickled ``(function, args)``; pickled apart, so that one that cannot be read fails alone."""

    number: int
    call: bytes


@dataclass(frozen=True)
class Cancel:
    """Ask the task of this number to stop at its next callback."""

    number: int


@dataclass(frozen=True)
class Progress:
    """Where a running task stands; ``total`` is 0 while it has no number of steps.

    ``ready`` says that only now the task itself begins: what the worker needed to start is behind it.
    """

    step: int = 0
    total: int = 0
    value: float = float("nan")
    message: str = ""
    cpu_seconds: float = 0.0
    ready: bool = False


@dataclass(frozen=True)
class Result:
    """The pickled return value of a task."""

    value: bytes
    cpu_seconds: float


@dataclass(frozen=True)
class Failure:
    """Why a task has no result; ``text`` is one sentence, ``trace`` is for the log."""

    kind: Literal["cancelled", "calibration error", "unexpected"]
    text: str = ""
    trace: str = ""
    cpu_seconds: float = 0.0


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message and flush."""
    arrays: list[memoryview] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=lambda buffer: arrays.append(buffer.raw()))
    parts = [memoryview(head), *arrays]
    stream.write(struct.pack(f"<I{len(parts)}Q", len(parts), *(part.nbytes for part in parts)))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message; raises EOFError where the other end is gone."""
    (count,) = struct.unpack("<I", _read(stream, 4))
    sizes = struct.unpack(f"<{count}Q", _read(stream, 8 * count))
    head, *arrays = [_read(stream, size) for size in sizes]
    return pickle.loads(head, buffers=arrays)


def _read(stream: BinaryIO, size: int) -> bytearray:
    buffer = bytearray(size)
    view, filled = memoryview(buffer), 0
    while filled < size:
        count = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the other end of the pipe is closed")
        filled += count
    return buffer
