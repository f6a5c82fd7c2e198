"""What an HDF5 file may cost: chunks by number and size, texts by their bytes, types without a look at their fields."""

from __future__ import annotations

import io
import zlib

import h5py
import numpy as np
import pytest

from calib.data import inspect
from calib.data.formats.base import Allowance
from calib.data.formats.hdf5 import LONGEST_STRING, SIGNATURE, check_chunks, longest_string
from calib.data.limits import MAX_CHUNKS


def hdf5(fill=lambda file: None, **options):
    """A file with 300 rows of two classes, and what ``fill`` adds."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", **options) as file:
        fill(file)
        if "logits" not in file:
            file["logits"] = np.random.default_rng(0).normal(size=(300, 2))
        if "labels" not in file:
            file["labels"] = np.arange(len(file["logits"])) % 2
    return "a.h5", buffer.getvalue()


def many_chunks(file):
    file.create_dataset("logits", (MAX_CHUNKS // 10, 11), "f8", chunks=(1, 1))


def padded_chunks(file):
    """Chunks that reach far beyond the array."""
    file.create_dataset("logits", (200, 2), "f8", chunks=(1, 10**6), maxshape=(None, None))


def long_texts(file):
    labels = file.create_dataset("labels", (300,), "S10000000", chunks=(1,), compression="gzip")
    labels[0] = b"a"


def growing_chunk(file):
    """One that says that it holds ten rows, and unpacks to 80 MB."""
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(bytes(2**24)) for _ in range(5)) + packer.flush()
    logits = file.create_dataset("logits", (10, 4), "f8", chunks=(10, 4), compression="gzip")
    logits.id.write_direct_chunk((0, 0), packed)


def long_string(file):
    labels = file.create_dataset("labels", (300,), h5py.string_dtype())
    labels[:] = "a"
    labels[0] = "a" * (LONGEST_STRING + 1)


@pytest.mark.parametrize(
    ("fill", "said"),
    [
        (many_chunks, "110,000 chunks"),
        (padded_chunks, "The 200 chunks of logits in a.h5 would take 1,600 MB"),
        (long_texts, "The 300 chunks of labels in a.h5 would take 3,000 MB"),
        (growing_chunk, "A chunk of logits in a.h5"),
        (long_string, "67,1"),
    ],
)
def test_is_refused_before_it_is_read(fill, said):
    error = inspect(hdf5(fill)).findings[0]
    assert (error.level, error.code) == ("error", "too_large") and said in error.message


@pytest.mark.parametrize("size", [512, 1024, 2048, 4096, 2**16])
@pytest.mark.parametrize("start", [b"", b"MATLAB 7.3 MAT-file, Platform: GLNXA64"], ids=["zeros", "MATLAB"])
def test_a_user_block_is_passed_over(start, size):
    name, plain = hdf5()
    content = start + hdf5(userblock_size=size)[1][len(start) :]
    data, found = inspect((name, plain)).predictions, inspect((name, content))
    np.testing.assert_array_equal(found.predictions.logits, data.logits)
    np.testing.assert_array_equal(found.predictions.labels, data.labels)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (bytes(512) + SIGNATURE, "damaged"),  # a superblock that the file has no bytes for
        (bytes(512) + SIGNATURE + bytes(100), "damaged"),
        (b"\x80\x04" + bytes(510) + SIGNATURE + bytes(100), "pickle"),
        (bytes(511) + SIGNATURE + bytes(100), "unknown_format"),
        (bytes(2**17) + SIGNATURE + bytes(100), "unknown_format"),
    ],
    ids=["cut off", "no superblock", "pickle", "beside", "far away"],
)
def test_what_only_has_the_signature_is_refused(content, code):
    assert [finding.code for finding in inspect(("outputs", content)).findings] == [code]


def test_small_chunks_that_are_few_are_read():
    logits = np.random.default_rng(0).normal(size=(300, 2))
    data = inspect(hdf5(lambda file: file.create_dataset("logits", data=logits, chunks=(1, 1)))).predictions
    np.testing.assert_array_equal(data.logits, logits)


def test_chunks_that_lie_upon_each_other_are_damage():
    name, content = hdf5(lambda file: file.create_dataset("logits", data=np.zeros((300, 2)), chunks=(10, 2)))
    with h5py.File(io.BytesIO(content)) as file:
        check_chunks(file["logits"], name, 4800, Allowance())
        with pytest.raises(EOFError, match="4,799 bytes"):
            check_chunks(file["logits"], name, 4799, Allowance())


@pytest.mark.parametrize("dtype", ["S9", h5py.string_dtype()], ids=["fixed", "any"])
def test_texts_of_any_form_are_read(dtype):
    names = np.array(["né".encode(), b"cat", b"dog"] * 100)
    texts = names if dtype == "S9" else np.char.decode(names, "utf-8").astype(object)
    found = inspect(hdf5(lambda file: file.create_dataset("labels", data=texts, dtype=dtype, chunks=(7,))))
    assert "3 different labels (cat, dog, né)" in found.findings[0].message


@pytest.mark.parametrize("letters", [3, 5_000, 2_000_000])
def test_the_heap_says_how_long_strings_may_be(letters):
    _, content = hdf5(lambda file: file.create_dataset("labels", data=["a" * letters] * 3))
    found = longest_string(io.BytesIO(content), len(content))
    assert letters <= found <= 5 * letters + 5_000


def test_a_piece_of_the_heap_is_found_across_blocks():
    for start in range(2**20 - 20, 2**20 + 2):
        content = bytes(start) + b"GCOL\x01\0\0\0" + (70_000).to_bytes(8, "little") + bytes(80_000)
        assert longest_string(io.BytesIO(content), len(content)) == 70_000


@pytest.mark.parametrize(
    "dtype", [np.dtype([("a", "f8"), ("b", "i4")]), np.dtype(("f8", (3,)))], ids=["record", "list"]
)
def test_fields_are_not_looked_at(dtype):
    name, content = hdf5(lambda file: file.create_dataset("outputs", (300,), dtype))
    found = inspect((name, content))
    assert found.predictions is None or found.choices.outputs == "logits"
    assert next(array for array in found.arrays if array.name == "outputs").dtype == "structured"
    error = inspect((name, content), outputs="outputs").findings[0]
    assert error.code == "object_dtype"


def test_enumerations_are_their_numbers():
    kind = h5py.enum_dtype({f"class {j}": j for j in range(5)}, basetype="i1")
    found = inspect(hdf5(lambda file: file.create_dataset("labels", data=np.arange(300) % 2, dtype=kind)))
    assert next(array for array in found.arrays if array.name == "labels").dtype == "int8"
    np.testing.assert_array_equal(found.predictions.labels, np.arange(300) % 2)
