"""Zip archives from anybody: neither a directory nor a member takes more memory than it should."""

from __future__ import annotations

import sys
import zipfile
from typing import IO, BinaryIO

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
