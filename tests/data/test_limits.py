"""Files that unpack to far more than they weigh: refused, with memory measured in a process of its own.

Sizes are refused with numbers, before anything is read.

Small files that would keep a reader busy for minutes, or have it take gigabytes before it could ask for how much.
"""

from __future__ import annotations

import gzip
import itertools
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from functools import partial

import h5py
import numpy as np
import pytest

import calib
from calib.data import DataError, inspect
from tests.conftest import ROOT, minute_of_cpu

BLOCK = bytes(2**24)
BLOCKS = 40
"""Unpacked size in blocks: 640 MiB, more than is allowed for one upload."""

MEASURE = """
import re, resource, sys
from functools import partial
from pathlib import Path
from calib.data import Choices, inspect
outputs = ("p_0", "p_1") if sys.argv[1].endswith("text.parquet") else ("p_0", "p_1", "p_2")
roles = {"labels": "label", "outputs": outputs} if sys.argv[1].endswith(".parquet") else {}
error = inspect(sys.argv[1], choices=Choices(**roles), isolate=True).findings[0]
print(error.level, error.code, error.message, sep="|")
# Linux's ru_maxrss begins at the peak of the process that forked this one; VmHWM is this program's own.
status = Path("/proc/self/status")
own = re.search(r"VmHWM:\\s+(\\d+)", status.read_text()) if status.exists() else None
print(own[1] if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def zip_bomb(make):
    """Less than a megabyte."""
    path = make.folder / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("logits.npy", "w") as member:
            member.write(make.header((BLOCKS * 2**14, 128)))
            for _ in range(BLOCKS):
                member.write(BLOCK)
        archive.writestr("labels.npy", make.npy(np.zeros(BLOCKS * 2**14, np.int8)).read_bytes())
    return path


def chunk_bomb(make):
    """A chunk of ten rows whose deflated bytes go on and on; HDF5 itself would follow them."""
    packer = zlib.compressobj(1)
    first, other = (packer.compress(BLOCK) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    packed = first + other * (BLOCKS - 1) + packer.flush()  # as if each block had been packed
    with h5py.File(make.folder / "chunk.h5", "w") as file:
        logits = file.create_dataset("logits", (10, 4), "f8", chunks=(10, 4), compression="gzip")
        logits.id.write_direct_chunk((0, 0), packed)
        file["labels"] = np.arange(10) % 4
    return make.folder / "chunk.h5"


def gzip_bomb(make):
    path = make.folder / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"label,p_0,p_1\n")
        for _ in range(BLOCKS):
            file.write(b"0,0,1\n" * (2**24 // 6))
    return path


def parquet_bomb(make):
    """Runs of one value: 25 million rows of three columns in a few kilobytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    zeros = pa.array(np.zeros(10**6))
    table = pa.table(
        {"label": pa.array(np.zeros(10**6, np.int8)), "p_0": zeros, "p_1": zeros, "p_2": zeros}
    )
    with pq.ParquetWriter(make.folder / "runs.parquet", table.schema) as writer:
        for _ in range(25):
            writer.write_table(table)
    return make.folder / "runs.parquet"


def long_text(make):
    """One label of ten megabytes, which every row repeats by reference."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    label = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(10**5, np.int32)), pa.array(["a" * 10**7])
    )
    table = pa.table({"label": label, "p_0": np.zeros(10**5), "p_1": np.ones(10**5)})
    pq.write_table(table, make.folder / "text.parquet")
    return make.folder / "text.parquet"


BOMBS = [
    (zip_bomb, "logits in bomb.npz would take 671 MB"),
    (chunk_bomb, "logits in chunk.h5 cannot be read"),
    (gzip_bomb, "The text of bomb.csv.gz has more than 225 MB"),
    (parquet_bomb, "The columns of runs.parquet would take 625 MB"),
    (long_text, "text.parquet"),
]


IN_SHORT = (parquet_bomb,)
"""The quickest to make; every one is tried in a process of its own."""


@pytest.mark.parametrize(
    ("build", "fragment"),
    [
        pytest.param(
            *bomb, id=bomb[0].__name__, marks=[pytest.mark.long] * (bomb[0] not in IN_SHORT)
        )
        for bomb in BOMBS
    ],
)
def test_is_refused_in_little_memory(make, build, fragment):
    path = build(make)
    assert path.stat().st_size < 20_000_000
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    finding, peak_kib = ran.stdout.splitlines()
    level, code, message = finding.split("|", 2)
    assert level == "error" and code == ("damaged" if build is chunk_bomb else "too_large"), finding
    assert fragment in message
    assert int(peak_kib) < 500 * 1024, "refused before anything of that size was allocated here"


def test_a_file_is_measured_in_the_unit_of_the_uploader(monkeypatch, tmp_path):
    monkeypatch.setattr("calib.data.read.files.MAX_UPLOAD", 2 * 2**20)
    large = tmp_path / "large.npy"
    with open(large, "wb") as file:
        file.truncate(3 * 2**20)  # no header: it is refused for its size alone
    with pytest.raises(DataError, match=r"^large\.npy has 3 MB; at most 2 MB are read\."):
        calib.load(large)


@pytest.mark.parametrize("ending", ["npy", "npz", "h5"])
def test_an_array_is_refused_by_its_header(monkeypatch, tmp_path, ending):
    """It was read first, so that it took its memory before anything was said."""
    path, logits, labels = (
        tmp_path / f"large.{ending}",
        np.zeros((2**18, 8)),
        np.zeros(2**18, np.int8),
    )
    if ending == "npy":
        np.save(path, logits)
    elif ending == "npz":
        np.savez_compressed(path, logits=logits)
    else:
        with h5py.File(path, "w") as file:
            file["logits"] = logits
    read = partial(inspect, path, labels={"labels": labels}, isolate=False)
    assert read().findings[0].code != "too_large"  # loads the readers
    monkeypatch.setattr("calib.data.read.base.MAX_BYTES", logits.nbytes - 1)
    tracemalloc.start()
    finding = read().findings[0]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert finding.code == "too_large" and "would take 17 MB of memory" in finding.message
    assert peak < logits.nbytes / 2


TEXT = b"label,p_0,p_1\n" + b"0,0.4,0.6\n1,0.7,0.3\n" * 200


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
    """10,002 names for two groups that contain each other."""
    with h5py.File(make.folder / "names.h5", "w") as file:
        group = file.create_group("g")
        for j in range(5001):
            file[f"a{j}"] = group
            group[f"b{j}"] = file
    return "names.h5", (make.folder / "names.h5").read_bytes()


def dtype_depth(make, opening="[('a',", closing=")]", depth=900):
    text = f"{{'descr': {opening * depth}'<f8'{closing * depth}, 'fortran_order': False, 'shape': (300, 4)}}".encode()
    return "deep.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + bytes(9600)


def shape_depth(make):
    text = (
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': {'(' * 4000}1{',)' * 4000}}}".encode()
    )
    return "deep.npy", b"\x93NUMPY\2\0" + struct.pack("<I", len(text)) + text


def many_digits(make):
    """A size that Python does not write out."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'9' * 4000}, {'9' * 4000})}}".encode()
    return "digits.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


BUSY = {
    hdf5_paths: "read",
    hdf5_depth: "read",
    hdf5_entries: "holds nothing",
    dtype_depth: "deep.npy",
    shape_depth: "deep.npy",
    many_digits: "digits.npy declares items of 8 bytes",
}


@pytest.mark.parametrize(
    "build",
    [pytest.param(build, marks=[pytest.mark.long] * (build is hdf5_depth)) for build in BUSY],
    ids=lambda build: build.__name__,
)
def test_takes_little_time_and_memory(make, build):
    upload = build(make)
    inspect(("first.csv", TEXT))  # loads the readers
    tracemalloc.start()
    with minute_of_cpu():
        found = inspect(upload, isolate=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000
    if BUSY[build] == "read":
        assert found.predictions is not None
    else:
        assert found.predictions is None and BUSY[build] in found.findings[0].message
        assert len(found.findings[0].message) < 500
