"""Zip archives whose directories are not too large."""

from __future__ import annotations

import zipfile
from typing import BinaryIO

from calib.data.limits import MAX_DIRECTORY


class _Directory:
    """A file of which no more than a small directory is read at once.

    ``zipfile`` reads all of it before anybody can ask how many members there are, and one gigabyte of it becomes ten.
    """

    def __init__(self, file: BinaryIO):
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > MAX_DIRECTORY:
            raise ValueError(f"a directory of {size:,} bytes, where {MAX_DIRECTORY:,} are plenty")
        return self._file.read(size)


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """An archive whose directory is not too large; raises what ``zipfile`` raises, or ValueError."""
    return zipfile.ZipFile(_Directory(file))
