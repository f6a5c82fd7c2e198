"""Zip archives from anybody: the directory and each member are bounded before they take memory."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from calib.data.formats.zipped import MAX_DIRECTORY, open_member, open_zip, read_member

LONG = 60_000
"""Letters of a member's name: few members make a large directory."""


def archive_of(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer


def understated(content: bytes, declared: int) -> io.BytesIO:
    """An archive whose one member of zeros says that it holds ``declared`` bytes."""
    made = bytearray(archive_of({"zeros": content}).getvalue())
    entry = made.index(b"PK\x01\x02")
    made[entry + 16 : entry + 20] = struct.pack("<I", zlib.crc32(bytes(declared)))
    made[entry + 24 : entry + 28] = struct.pack("<I", declared)
    return io.BytesIO(made)


def test_members_come_back():
    given = {"a": b"", "b/c": b"some text" * 1000}
    with open_zip(archive_of(given)) as archive:
        assert {member.filename: read_member(archive, member) for member in archive.infolist()} == given


def test_a_large_directory_is_refused_before_it_is_read():
    crowded = archive_of({f"{i:0{LONG}}": b"" for i in range(MAX_DIRECTORY // LONG + 1)})
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="4,194,304 are plenty"):
            open_zip(crowded)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    with open_zip(crowded, 2 * MAX_DIRECTORY) as archive:
        assert len(archive.namelist()) == MAX_DIRECTORY // LONG + 1


def test_a_member_may_be_larger_than_a_directory():
    content = np.random.default_rng(0).bytes(MAX_DIRECTORY + 1)  # which does not get smaller
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with open_zip(archive_of({"large": content}, compression)) as archive:
            assert read_member(archive, archive.getinfo("large")) == content


def test_no_more_is_unpacked_than_the_directory_says():
    with open_zip(understated(bytes(2**26), 10)) as archive:
        tracemalloc.start()
        try:
            assert read_member(archive, archive.getinfo("zeros")) == bytes(10)
            assert tracemalloc.get_traced_memory()[1] < 2**20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("compression", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compressions_are_refused(compression):
    with open_zip(archive_of({"a": b"text"}, compression)) as archive, pytest.raises(ValueError, match="NumPy"):
        open_member(archive, archive.getinfo("a"))
