"""Gzip streams and zip archives with bounds on the members, the directory and the memory they take."""

from __future__ import annotations

import io
import sys
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, BinaryIO

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


MAX_DIRECTORY = 2**22
"""Bytes of a zip's directory (4 MiB): 10,000 arrays with names of some 300 letters."""

COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What NumPy writes. LZMA would let the file choose the size of its dictionary, up to 4 GB."""


class _Directory:
    """A file of which no more than a small directory is read at once, until the directory is known.

    ``zipfile`` reads all of it before anybody can ask how many members there are, and one gigabyte of it becomes ten.
    """

    def __init__(self, file: BinaryIO, largest: int):
        self._file, self._largest = file, largest
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self._largest:
            raise ValueError(f"a directory of {size:,} bytes, where {self._largest:,} are plenty")
        return self._file.read(size)

    def is_known(self) -> None:
        """Allow members that are larger than the directory may be."""
        self._largest = sys.maxsize


def open_zip(file: BinaryIO, max_directory: int = MAX_DIRECTORY) -> zipfile.ZipFile:
    """An archive whose directory is not too large; raises what ``zipfile`` raises, or ValueError."""
    directory = _Directory(file, max_directory)
    archive = zipfile.ZipFile(directory)
    directory.is_known()
    return archive


def open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """A member to be read in steps, or ValueError where it is packed in a way that lets it choose the memory."""
    if member.compress_type not in COMPRESSIONS:
        raise ValueError(f"compression {member.compress_type}, which NumPy does not write")
    return archive.open(member)


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """All that the directory says a member holds; its size is for the caller to judge before.

    ``ZipFile.read`` would unpack a gigabyte before it cuts it to a directory's ten bytes.
    """
    with open_member(archive, member) as stream:
        return stream.read(member.file_size)
