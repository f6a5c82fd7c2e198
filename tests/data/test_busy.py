"""Small files that would keep a reader busy for minutes, or have it take gigabytes before it could ask for how much."""

from __future__ import annotations

import gzip
import io
import itertools
import struct
import time
import tracemalloc

import h5py
import numpy as np
import pytest

from calib.data import inspect
from calib.data.formats.archives import unpacked

SECONDS = 5.0
TEXT = b"label,p_0,p_1\n" + b"0,0.4,0.6\n1,0.7,0.3\n" * 200


def gzip_name(make):
    """A name in the header that goes on and on."""
    packed = gzip.compress(TEXT, mtime=0)
    return "name.csv.gz", packed[:3] + b"\x08" + packed[4:10] + b"a" * 40_000_000 + b"\0" + packed[10:]


def gzip_zeros(make):
    return "zeros.csv.gz", gzip.compress(TEXT, mtime=0) + bytes(40_000_000)


def gzip_members(make):
    """Packed pieces that hold nothing."""
    return "pieces.csv.gz", gzip.compress(b"", mtime=0) * 500_000 + gzip.compress(TEXT, mtime=0)


def hdf5_paths(make):
    """Nine groups, the first of which leads to the last on 30^8 ways."""
    with h5py.File(make.folder / "paths.h5", "w") as file:
        groups = [file.create_group(f"g{i}") for i in range(9)]
        for group, following in itertools.pairwise(groups):
            for j in range(30):
                group[f"l{j}"] = following
        file["logits"], file["labels"] = make.logits, make.labels
    return "paths.h5", (make.folder / "paths.h5").read_bytes()


def hdf5_depth(make):
    """A thousand groups inside each other."""
    with h5py.File(make.folder / "deep.h5", "w") as file:
        group = file
        for _ in range(1000):
            group = group.create_group("g")
        group["x"] = np.zeros(3)
        file["logits"], file["labels"] = make.logits, make.labels
    return "deep.h5", (make.folder / "deep.h5").read_bytes()


def hdf5_entries(make):
    """As many names for one group as are worth no look."""
    with h5py.File(make.folder / "names.h5", "w") as file:
        group = file.create_group("g")
        for j in range(5001):
            file[f"a{j}"] = group
            group[f"b{j}"] = file
    return "names.h5", (make.folder / "names.h5").read_bytes()


def zip_directory(make):
    """A directory of 300,000 arrays, none of which is there."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, *[0] * 8, 5, *[0] * 6) + b"a.npy"
    directory = entry * 300_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0, 0, len(directory), 30, 0)
    return "directory.npz", b"PK\x03\x04" + bytes(26) + directory + end


def dtype_depth(make, opening="[('a',", closing=")]", depth=900):
    text = f"{{'descr': {opening * depth}'<f8'{closing * depth}, 'fortran_order': False, 'shape': (300, 4)}}".encode()
    return "deep.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + bytes(9600)


def dtype_lists(make):
    return dtype_depth(make, "[", "]", 4000)


def dtype_subarrays(make):
    return dtype_depth(make, "(", ", (2,))", 900)


def shape_depth(make):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {'(' * 4000}1{',)' * 4000}}}".encode()
    return "deep.npy", b"\x93NUMPY\2\0" + struct.pack("<I", len(text)) + text


def shape_digits(make):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'9' * 9000},)}}".encode()
    return "digits.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


BUSY = {
    gzip_name: "read",
    gzip_zeros: "read",
    gzip_members: "more than 100,000 packed pieces",
    hdf5_paths: "read",
    hdf5_depth: "read",
    hdf5_entries: "entries; at most 10,000",
    zip_directory: "a directory of 15,300,000 bytes",
    dtype_depth: "deep.npy",
    dtype_lists: "deep.npy",
    dtype_subarrays: "deep.npy",
    shape_depth: "deep.npy",
    shape_digits: "digits.npy",
}


@pytest.mark.parametrize("build", BUSY, ids=lambda build: build.__name__)
def test_takes_little_time_and_memory(make, build):
    upload = build(make)
    inspect(("first.csv", TEXT))  # loads the readers
    started = time.process_time()
    tracemalloc.start()
    found = inspect(upload)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - started < SECONDS
    assert peak < 100_000_000
    if BUSY[build] == "read":
        assert found.predictions is not None
    else:
        assert found.predictions is None and BUSY[build] in found.findings[0].message
        assert len(found.findings[0].message) < 500


def parquet_footer(groups, columns, announced=None):
    """A Parquet file of metadata alone, in Thrift's compact form, whose column chunks say nothing: three bytes each."""

    def number(n):
        return bytes([n & 127 | 128]) + number(n >> 7) if n > 127 else bytes([n])

    def many(n, items):
        return b"\xfc" + number(n) + items  # a list of structures

    def column(name):
        return b"\x15\x0a\x25\x00\x18" + number(len(name)) + name + b"\0"

    schema = many(4, b"\x48\x01r\x15\x06\0" + b"".join(column(b"c%d" % j) for j in range(3)))
    group = b"\x19" + many(announced or columns, b"\x26\0\0" * columns) + b"\x16\0\x16\x02\0"
    footer = b"\x15\x02\x19" + schema + b"\x16" + number(2 * groups) + b"\x19" + many(groups, group * groups) + b"\0"
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def test_a_small_footer_of_that_form_is_read():
    error = inspect(("a.parquet", parquet_footer(2, 3))).findings[0]
    assert error.code == "no_labels" and "c0 (2,), c1 (2,), c2 (2,)" in error.message


@pytest.mark.parametrize(
    ("groups", "columns", "announced", "code"),
    [(200, 9000, None, "too_large"), (1, 3, 10**6, "damaged"), (10**5, 1, None, "damaged")],
    ids=["many chunks", "announced", "many groups"],
)
def test_parquet_metadata_are_not_parsed_into_gigabytes(groups, columns, announced, code):
    content = parquet_footer(groups, columns, announced)
    before = held()
    error = inspect(("a.parquet", content)).findings[0]
    assert error.code == code, error
    assert held() - before < 200_000_000


def held():
    """The most memory this process has held."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


@pytest.mark.parametrize("sizes", [(0,), (1,), (0, 0, 5), (50_000, 0, 1_000_000), (3_000_000,)], ids=str)
def test_gzip_unpacks_to_what_was_packed(sizes):
    generator = np.random.default_rng(len(sizes))
    parts = [generator.integers(0, 9, size, dtype=np.uint8).tobytes() for size in sizes]
    packed = b"".join(gzip.compress(part) + bytes(j * 20_000) for j, part in enumerate(parts))
    assert unpacked(io.BytesIO(packed)).read() == b"".join(parts)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[:15], lambda b: b + b"x", lambda b: b[:-8] + bytes(8)]
)
def test_gzip_that_is_not_whole_is_not_read(damage):
    error = inspect(("a.csv.gz", damage(gzip.compress(TEXT, mtime=0)))).findings[0]
    assert (error.level, error.code) == ("error", "damaged")
