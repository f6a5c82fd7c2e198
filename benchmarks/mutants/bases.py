"""Small valid HDF5 and Parquet files that differ in how they are laid out, so that mutants reach every structure."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

ROWS = 40


def arrays() -> dict[str, Any]:
    """Outputs of three classes, and labels."""
    generator = np.random.default_rng(3)
    logits = np.round(generator.normal(size=(ROWS, 3)), 2)
    return {"logits": logits, "labels": np.arange(ROWS) % 3}


@cache
def hdf5_files() -> dict[str, bytes]:
    """One file for each version of the format, index of chunks, filter, kind of value and of link."""
    return {name: hdf5_file(layout, **given) for name, (layout, given) in HDF5.items()}


def hdf5_file(layout: Callable[[Any], None], **given: Any) -> bytes:
    """Write a file in memory."""
    import h5py

    out = io.BytesIO()
    with h5py.File(out, "w", **given) as file:
        layout(file)
    return out.getvalue()


def plain(file: Any) -> None:
    """Contiguous arrays."""
    for name, array in arrays().items():
        file[name] = array


def chunked(**given: Any) -> Callable[[Any], None]:
    """Chunks; the index depends on the limits, the filters and the version."""

    def layout(file: Any) -> None:
        file.create_dataset("logits", data=arrays()["logits"], **{"chunks": (8, 3), **given})
        file["labels"] = arrays()["labels"]

    return layout


def compact(file: Any) -> None:
    """Values in the object header, and a dataset with external storage named beside them."""
    import h5py

    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    labels = arrays()["labels"]
    space = h5py.h5s.create_simple(labels.shape)
    made = h5py.h5d.create(file.id, b"labels", h5py.h5t.NATIVE_INT64, space, plist)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, labels)
    file["logits"] = arrays()["logits"]
    file.create_dataset("outside", (4,), "f8", external=[("nothing.bin", 0, 32)])


def texts(file: Any) -> None:
    """Class names as text of fixed and of any length, in a global heap."""
    import h5py

    plain(file)
    file["class_names"] = ["cat", "dog", "a longer name"]
    file.create_dataset("fixed", data=np.array([b"cat", b"dog"] * 20, dtype="S5"), chunks=(10,), compression="gzip")
    file.create_dataset("text labels", data=["cat", "dog"] * 20, dtype=h5py.string_dtype(), chunks=(10,))
    file["logits"].attrs["note"] = "text " * 20


def kinds(file: Any) -> None:
    """Types that are no plain numbers."""
    import h5py

    plain(file)
    file["pairs"] = np.zeros(5, [("a", "f8"), ("b", "i2", (2,)), ("c", "S3")])
    file["enum"] = np.zeros(5, h5py.enum_dtype({"a": 0, "b": 1}, basetype="i1"))
    file["ragged"] = h5py.Empty("f8")
    file.create_dataset("lists", (3,), h5py.vlen_dtype(np.int32))[0] = [1, 2, 3]
    file.create_dataset("references", (2,), h5py.ref_dtype)[0] = file["logits"].ref
    file["named"] = np.dtype("f4")
    file.create_dataset("of named", (4,), file["named"])
    file["bool"] = np.array([True, False])
    file["complex"] = np.ones(3, np.complex64)
    file["half"] = np.ones((4, 3), ">f2")
    file["opaque"] = np.zeros(3, "V5")


def groups(file: Any) -> None:
    """Groups inside each other, and links of every kind."""
    import h5py

    inner = file.create_group("model/test")
    plain(inner)
    file["soft"], file["outside"] = h5py.SoftLink("/model/test/logits"), h5py.ExternalLink("other.h5", "/a")
    file["hard"] = inner["labels"]
    virtual = h5py.VirtualLayout((4, 3), "f8")
    virtual[:] = h5py.VirtualSource(".", "/model/test/logits", shape=(ROWS, 3))[:4]
    file.create_virtual_dataset("virtual", virtual)


def many(file: Any) -> None:
    """Attributes and links beyond what fits in a header: dense, in fractal heaps with B-trees over them."""
    plain(file)
    for i in range(20):
        file.attrs[f"attribute {i}"] = i
        file["logits"].attrs[f"note {i}"] = "x" * 20
        file.create_group(f"group {i}")
    file["logits"].attrs["long"] = np.zeros(3000)


GROWING = {"maxshape": (None, 3)}
HDF5: dict[str, tuple[Callable[[Any], None], dict[str, Any]]] = {
    f"{name}, {version}": (layout, {"libver": version} | more)
    for version in ("earliest", "latest")
    for name, layout, more in (
        ("plain", plain, {}),
        ("gzip", chunked(compression="gzip", shuffle=True), {}),
        ("lzf, fletcher", chunked(compression="lzf", fletcher32=True), {}),
        ("scale-offset", chunked(scaleoffset=2), {}),
        ("one chunk", chunked(chunks=(ROWS, 3), compression="gzip"), {}),
        ("growing", chunked(**GROWING), {}),
        ("growing gzip", chunked(compression="gzip", chunks=(1, 3), **GROWING), {}),
        ("growing both ways", chunked(maxshape=(None, None), chunks=(2, 2)), {}),
        ("many chunks", chunked(chunks=(1, 1)), {}),
        ("compact", compact, {}),
        ("texts", texts, {}),
        ("types", kinds, {}),
        ("groups", groups, {}),
        ("many", many, {}),
        ("in order", many, {"track_order": True}),
        ("pages", plain, {"fs_strategy": "page", "fs_persist": True}),
    )
}


@cache
def parquet_files() -> dict[str, bytes]:
    """One file for each codec, version of pages, encoding and kind of column."""
    return {name: parquet_file(made(), **given) for name, (made, given) in PARQUET.items()}


def parquet_file(made: Any, **given: Any) -> bytes:
    """Write a table in memory."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(made, out, **given)
    return out.getvalue()


def table() -> Any:
    """Probabilities, labels, and columns of other types, with missing cells."""
    import pyarrow as pa

    logits, labels = arrays()["logits"], arrays()["labels"]
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    columns: dict[str, Any] = {f"p_{j}": probs[:, j] for j in range(3)}
    return pa.table(columns | {
        "label": labels.astype(np.int32),
        "id": pa.array([None if i % 7 == 3 else i for i in range(ROWS)], pa.int64()),
        "name": pa.array([None if i % 9 == 4 else f"row {i % 5}" for i in range(ROWS)]),
        "flag": pa.array([i % 3 == 0 for i in range(ROWS)]),
        "fixed": pa.array([f"{i:04}".encode() for i in range(ROWS)], pa.binary(4)),
        "amount": pa.array(list(range(ROWS)), pa.decimal128(9, 2)),
        "when": pa.array([i * 10**6 for i in range(ROWS)], pa.timestamp("us", "UTC")),
        "group": pa.array(["a", "b"] * (ROWS // 2)).dictionary_encode(),
        "half": pa.array(probs[:, 0].astype(np.float16)),
    })  # fmt: skip


def nested() -> Any:
    """Lists, structs and maps beside a plain column."""
    import pyarrow as pa

    return pa.table({
        "label": pa.array([i % 3 for i in range(ROWS)]),
        "probs": pa.array([[0.2, 0.3, 0.5][: i % 4] for i in range(ROWS)]),
        "pair": pa.array([{"a": i, "b": [str(i)] * (i % 3)} for i in range(ROWS)]),
        "map": pa.array([[("k", i)] for i in range(ROWS)], pa.map_(pa.string(), pa.int32())),
        "deep": pa.array([[[[i]]] for i in range(ROWS)]),
    })  # fmt: skip


def columns(*names: str) -> Callable[[], Any]:
    """Some columns of the table."""
    return lambda: table().select(names)


CODECS = ("none", "snappy", "gzip", "zstd", "brotli", "lz4")
ENCODED = {
    "DELTA_BINARY_PACKED": ("label", "id"),
    "DELTA_LENGTH_BYTE_ARRAY": ("name",),
    "DELTA_BYTE_ARRAY": ("name", "fixed"),
    "BYTE_STREAM_SPLIT": ("p_0", "p_1", "p_2"),
    "RLE": ("flag",),
}
PARQUET: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    **{
        f"{codec}, pages {version}": (table, {"compression": codec, "data_page_version": version})
        for codec, version in itertools.product(CODECS, ("1.0", "2.0"))
    },
    **{
        encoding: (columns(*names), {"use_dictionary": False, "column_encoding": dict.fromkeys(names, encoding)})
        for encoding, names in ENCODED.items()
    },
    "row groups": (table, {"row_group_size": 8, "write_page_index": True, "store_decimal_as_integer": True}),
    "small pages": (table, {"data_page_size": 16, "write_batch_size": 4, "use_dictionary": False}),
    "nested": (nested, {"compression": "none"}),
    "nested, pages 2.0": (nested, {"data_page_version": "2.0"}),
    "checksums": (table, {"write_page_checksum": True}),
    "nothing": (lambda: table().slice(0, 0), {}),
}


@cache
def arrow_files() -> dict[str, bytes]:
    """Files and streams, packed and not, of plain columns and of nested ones."""
    import pyarrow as pa

    writers = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}
    made = {"plain": table(), "nested": nested().drop(["map"])}
    return {
        f"{kind}, {columns}, {codec}": ipc(made[columns], writer, codec)
        for (kind, writer), columns, codec in itertools.product(writers.items(), made, (None, "zstd", "lz4"))
    }


def ipc(made: Any, writer: Any, codec: str | None) -> bytes:
    """Write a table in memory, in two batches."""
    import pyarrow as pa

    out = io.BytesIO()
    with writer(out, made.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as written:
        written.write_table(made, max_chunksize=ROWS // 2)
    return out.getvalue()
