"""Gzip as a stream whose headers are read by zlib, and whose members are counted."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, BinaryIO

from calib.data.limits import MAX_MEMBERS

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PACKED = 2**14
BUFFER = 2**20
_GZIP = 31  # for zlib: a header of gzip, a window of any size


class _Members(io.RawIOBase):
    """What the members of a gzip file unpack to.

    Python's own reader goes through a name in a header, and through the zeros after a member, one byte at a time, so
    that they can keep it busy for minutes.
    """

    def __init__(self, file: BinaryIO):
        self._file = file
        self._packed = b""
        self._unpacker = zlib.decompressobj(_GZIP)
        self._between = True
        self._n_members = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Unpack some bytes; 0 at the end of the last member."""
        view = memoryview(buffer).cast("B")
        while True:
            if self._between and not self._next_member():
                return 0
            self._packed = self._packed or self._file.read(PACKED)
            if not self._packed:
                raise EOFError("the last of its packed bytes are missing")
            unpacked = self._unpacker.decompress(self._packed, len(view))
            self._between = self._unpacker.eof
            self._packed = self._unpacker.unconsumed_tail
            if self._between:
                self._packed = self._unpacker.unused_data.lstrip(b"\0")
            if unpacked:
                view[: len(unpacked)] = unpacked
                return len(unpacked)

    def _next_member(self) -> bool:
        """Go to the header of the next member, over zeros before it; False if there is none."""
        while not self._packed:
            self._packed = self._file.read(PACKED)
            if not self._packed:
                return False
            if self._n_members:
                self._packed = self._packed.lstrip(b"\0")
        self._n_members += 1
        if self._n_members > MAX_MEMBERS:
            raise ValueError(f"more than {MAX_MEMBERS:,} packed pieces")
        self._unpacker = zlib.decompressobj(_GZIP)
        self._between = False
        return True


def unpacked(file: BinaryIO) -> BinaryIO:
    """A stream of the unpacked bytes, from the beginning of a gzip file."""
    file.seek(0)
    return io.BufferedReader(_Members(file), BUFFER)
