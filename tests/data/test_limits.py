"""Files that unpack to far more than they weigh: refused, with memory measured in a process of its own."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = bytes(2**24)
BLOCKS = 40
"""Unpacked size in blocks: 640 MiB, more than is allowed for one upload."""

MEASURE = """
import re, resource, sys
from pathlib import Path
from calib.data import inspect
error = inspect(sys.argv[1]).findings[0]
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
    packed = b"".join(packer.compress(BLOCK) for _ in range(BLOCKS)) + packer.flush()
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
    table = pa.table({"label": pa.array(np.zeros(10**6, np.int8)), "p_0": zeros, "p_1": zeros, "p_2": zeros})
    with pq.ParquetWriter(make.folder / "runs.parquet", table.schema) as writer:
        for _ in range(25):
            writer.write_table(table)
    return make.folder / "runs.parquet"


def long_text(make):
    """One label of ten megabytes, which every row repeats by reference."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    label = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**5, np.int32)), pa.array(["a" * 10**7]))
    table = pa.table({"label": label, "p_0": np.zeros(10**5), "p_1": np.ones(10**5)})
    pq.write_table(table, make.folder / "text.parquet")
    return make.folder / "text.parquet"


def shared_string(make):
    """The same in HDF5, where strings are kept apart from the rows."""
    with h5py.File(make.folder / "text.h5", "w") as file:
        file["logits"] = np.zeros((2000, 2))
        labels = file.create_dataset("labels", (2000,), h5py.string_dtype())
        labels[:] = "a"
        labels[0] = "a" * 10**7
    return make.folder / "text.h5"


def header_bomb(make):
    """128 bytes."""
    return make.file("bomb.npy", make.header((93_125_000, 1000)))


BOMBS = [
    (zip_bomb, "logits in bomb.npz would take 671 MB"),
    (chunk_bomb, "A chunk of logits in chunk.h5"),
    (gzip_bomb, "The text of bomb.csv.gz has more than 225 MB"),
    (parquet_bomb, "of runs.parquet would take 600 MB"),
    (long_text, "Column label of text.parquet would take 4,000 GB"),
    (shared_string, "labels in text.h5 would take 80 GB"),
    (header_bomb, "bomb.npy would take 745 GB"),
]


@pytest.mark.parametrize(("build", "fragment"), BOMBS, ids=[build.__name__ for build, _ in BOMBS])
def test_is_refused_in_little_memory(make, build, fragment):
    path = build(make)
    assert path.stat().st_size < 20_000_000
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, env=environment, check=True
    )
    finding, peak_kib = ran.stdout.splitlines()
    level, code, message = finding.split("|", 2)
    assert (level, code) == ("error", "too_large"), finding
    assert fragment in message
    assert int(peak_kib) < 500 * 1024, "refused before anything of that size was allocated"
