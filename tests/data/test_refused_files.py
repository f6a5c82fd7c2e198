"""Files that hold no data: cut off, hostile, or something else; and zip archives whose directory or members lie."""

from __future__ import annotations

import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from calib.data import inspect
from tests.data.conftest import cases, check_refused

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 4080492\n"


def lying_directory(make):
    """Header and directory promise 256 MB where a few bytes are."""
    path = make.zip(
        "lying.npz",
        **{"logits.npy": make.header((2**23, 4)), "labels.npy": make.header((2**23,), "|i1")},
    )
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        for start in [
            m.start() + offset for m in re.finditer(re.escape(signature), bytes(content))
        ]:
            content[start : start + 4] = struct.pack("<I", 2**28 + 128)
    path.write_bytes(content)
    return path


def external_link(make):
    other = make.h5("other.h5", logits=make.logits)
    with h5py.File(make.folder / "linked.h5", "w") as file:
        file["logits"] = h5py.ExternalLink(other.name, "logits")
        file["labels"] = h5py.SoftLink("/logits")
    return make.folder / "linked.h5"


def external_storage(make):
    raw = make.file("secret.bin", make.logits.tobytes())
    with h5py.File(make.folder / "stored.h5", "w") as file:
        file.create_dataset(
            "logits", make.logits.shape, "f8", external=[(str(raw), 0, raw.stat().st_size)]
        )
        file["labels"] = make.labels
    return make.folder / "stored.h5"


def virtual(make):
    other = make.h5("other.h5", logits=make.logits)
    layout = h5py.VirtualLayout(make.logits.shape, "f8")
    layout[:] = h5py.VirtualSource(str(other), "logits", make.logits.shape)
    with h5py.File(make.folder / "virtual.h5", "w") as file:
        file.create_virtual_dataset("logits", layout)
        file["labels"] = make.labels
    return make.folder / "virtual.h5"


def declared_h5(make):
    """Compressed fill values: a few kilobytes that stand for a terabyte."""
    with h5py.File(make.folder / "fill.h5", "w") as file:
        file.create_dataset("logits", (10**8, 1000), "f8", chunks=(1000, 1000), compression="gzip")
        file.create_dataset("labels", (10**8,), "i8", chunks=(1000,), compression="gzip")
    return make.folder / "fill.h5"


def flipped_npz(make):
    path = make.folder / "flipped.npz"
    np.savez_compressed(path, logits=make.logits, labels=make.labels)
    content = bytearray(path.read_bytes())
    content[2000:2100] = bytes(100)
    path.write_bytes(content)
    return path


REFUSED: list[tuple[str, Callable[..., Path], str, str]] = [
    # name, builder, code of the finding, fragment of its sentence
    ("empty", lambda m: m.file("outputs.npz", b""), "empty", "0 bytes"),
    ("missing file", lambda m: m.folder / "nowhere.npz", "missing", "nowhere.npz cannot be opened"),
    (
        "git-lfs pointer",
        lambda m: m.file("outputs.npz", LFS),
        "unknown_format",
        "a git-lfs pointer",
    ),
    (
        "html",
        lambda m: m.file("outputs.csv", "\n<!DOCTYPE html><html>Sign in</html>"),
        "unknown_format",
        "web page",
    ),
    ("json", lambda m: m.file("a.csv", '{"logits": [1, 2]'), "damaged", "cut off or damaged"),
    (
        "pickle",
        lambda m: m.file("outputs.npz", pickle.dumps(([1.0], [0]))),
        "pickle",
        "run any code",
    ),
    (
        "old pickle",
        lambda m: m.file("outputs.pkl", pickle.dumps([1.0], protocol=0)),
        "pickle",
        "run any code",
    ),
    (
        "torch zip",
        lambda m: m.zip("logits.pt", logits__data_pkl=b"", **{"a__data.pkl": b"\x80"}),
        "pickle",
        "logits.pt",
    ),
    ("joblib", lambda m: m.file("model.joblib", b"\x78\x9c" + bytes(40)), "pickle", "model.joblib"),
    (
        "matlab",
        lambda m: m.file("a.mat", b"MATLAB 5.0 MAT-file" + bytes(200)),
        "unknown_format",
        "MATLAB",
    ),
    ("empty zip", lambda m: m.zip("a.npz"), "zip", "0 files"),
    ("truncated npz", lambda m: m.cut(m.both(), 0.5), "damaged", "cut off or damaged"),
    ("truncated npy", lambda m: m.cut(m.npy(m.logits), 0.5), "truncated", "9,600 bytes"),
    ("truncated parquet", lambda m: m.cut(m.parquet(), 0.7), "damaged", "cut off or damaged"),
    (
        "truncated hdf5",
        lambda m: m.cut(m.h5(logits=m.logits, labels=m.labels), 0.6),
        "damaged",
        "cut off or damaged",
    ),
    ("corrupt npz", flipped_npz, "damaged", "logits in flipped.npz"),
    ("only a signature", lambda m: m.file("a.npy", b"\x93NUMPY"), "damaged", "cut off or damaged"),
    (
        "only an hdf5 signature",
        lambda m: m.file("a.h5", b"\x89HDF\r\n\x1a\n"),
        "damaged",
        "cut off or damaged",
    ),
    (
        "hdf5 at an odd place",
        lambda m: m.file("a.h5", bytes(511) + b"\x89HDF\r\n\x1a\n"),
        "unknown_format",
        "a.h5",
    ),
    ("lying directory", lying_directory, "damaged", "cut off or damaged"),
    (
        "npy header bomb",
        lambda m: m.file("a.npy", m.header((93_125_000, 1000))),
        "truncated",
        "745,000,000,000 bytes",
    ),
    (
        "header of empty items",
        lambda m: m.file("a.npy", m.header((10**12,), "|V0")),
        "dtype",
        "items of 0 bytes",
    ),
    (
        "header with negative shape",
        lambda m: m.file("a.npy", m.header((-5, 4))),
        "dtype",
        "(-5, 4)",
    ),
    (
        "header of objects",
        lambda m: m.file("a.npy", m.header((10, 4), "|O", b"x")),
        "object_dtype",
        "unpickled",
    ),
    ("hdf5 external link", external_link, "external_link", "other files"),
    ("hdf5 external storage", external_storage, "external_link", "another file"),
    ("hdf5 virtual dataset", virtual, "external_link", "another file"),
    ("hdf5 huge declared", declared_h5, "too_large", "would take 800 GB of memory"),
    (
        "too many columns",
        lambda m: m.file("wide.csv", "0," * 10_000 + "0\n"),
        "too_large",
        "10,001 arrays or columns",
    ),
]


@cases("build, code, fragment", REFUSED)
def test_is_refused_with_its_sentence(make, build, code, fragment):
    check_refused(build(make), code, fragment)


def test_a_pickle_comes_with_a_line_that_converts_it(make):
    found = inspect(make.file("cifar.joblib", b"\x78\x9c" + bytes(40)))
    line = found.findings[0].action.partition("\n")[2]
    compile(line, "converter", "exec")
    assert '"cifar.joblib"' in line and '"cifar_arrays.npz"' in line


def test_nothing_is_unpickled(make, monkeypatch):
    """A payload that would announce itself is never run, wherever it hides."""

    class Payload:
        def __reduce__(self):
            return exec, (f"open({str(make.folder / 'ran')!r}, 'w').close()",)

    pickled = pickle.dumps(Payload())
    np.save(make.folder / "object.npy", np.array([Payload()], dtype=object), allow_pickle=True)
    np.savez(
        make.folder / "object.npz", logits=np.array([Payload()], dtype=object), labels=make.labels
    )
    files = [
        make.file(name, pickled)
        for name in ("a.pkl", "a.npz", "a.npy", "a.csv", "a.joblib", "a.h5")
    ]
    for path in (*files, make.folder / "object.npy", make.folder / "object.npz"):
        assert inspect(path).predictions is None
    assert not (make.folder / "ran").exists()
