"""Recognise a file by its first bytes and open it with the reader of its format.

The ending of its name says nothing, unless it is that of a pickle.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path, PurePath
from typing import IO, Any, BinaryIO, Literal

from calib.data.findings import (
    MAX_TEXT,
    MAX_UPLOAD,
    InvalidUpload,
    check_count,
    megabytes,
    shortened,
)
from calib.data.options import Choices, Source
from calib.data.read.arrays import open_arrays, open_hdf5
from calib.data.read.base import Contents, open_npy, open_npz, reading
from calib.data.read.columns import is_pandas, open_arrow, open_frame, open_parquet
from calib.data.read.records import open_json, open_records
from calib.data.read.text import UTF_16, as_text, infer_encoding, open_spreadsheet, open_text
from calib.errors import reason
from calib.formatting import plural, single_line
from calib.isolation.sandbox import FILTER, missing_protections

Format = Literal["npz", "npy", "hdf5", "parquet", "arrow", "xlsx", "eval", "json", "text", "gzip"]

HEAD = 4096
"""Bytes by which a file is recognised."""

HDF5 = b"\x89HDF\r\n\x1a\n"
SIGNATURES: dict[bytes, Format] = {
    b"\x1f\x8b": "gzip",
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    HDF5: "hdf5",
}
"""First bytes of each format; zip archives are recognised by their members."""

PICKLE_ENDINGS = {".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt"}
PICKLES = (
    *(b"\x80" + bytes([version]) for version in (2, 3, 4, 5)),
    *(b"\x78" + bytes([level]) for level in (0x01, 0x5E, 0x9C, 0xDA)),
)
"""First bytes of binary pickles; the last four are those of joblib, which packs them with zlib."""

SAVE_CSV = "Save it as csv, npz or Parquet."
LFS = b"version https://git-lfs"
OTHERS = {
    LFS: ("a git-lfs pointer, not the data themselves", "Run git lfs pull, then upload it again."),
    **dict.fromkeys(
        (b"<!doctype html", b"<html"),
        (
            "a web page (HTML), not data; a download link that needs a login usually causes it",
            "Open the link in a browser, download the raw file and upload that.",
        ),
    ),
    b"matlab 5.0": ("a MATLAB file, which is not read", SAVE_CSV),
    b"\xd0\xcf\x11\xe0": (
        "an Excel file of before 2007 or with a password, which is not read",
        SAVE_CSV,
    ),
    b"%pdf": ("a PDF document, which is not read", SAVE_CSV),
    b"<?xml": ("an XML document, which is not read", SAVE_CSV),
    b"@relation": ("an ARFF file of Weka, which is not read", SAVE_CSV),
    **dict.fromkeys(
        (b"7z\xbc\xaf", b"rar!", b"bzh", b"\xfd7zxz", b"(\xb5/\xfd"),
        ("a packed archive, which is not read", "Unpack it first."),
    ),
}
"""Kind of a file by its first bytes in lower case, and what to do."""


def sniff(name: str, file: BinaryIO) -> Format:
    """The format of a file, from its content; InvalidUpload with what to do where it is none that is read."""
    file.seek(0)
    head = file.read(HEAD)
    file.seek(0)
    if not head:
        action = "Check that saving it ended, and upload it again."
        raise InvalidUpload("empty", f"{name} is empty (0 bytes).", action)
    if head.startswith(b"PK"):
        return sniff_zip(name, file)
    for signature, form in SIGNATURES.items():
        if head.startswith(signature):
            return form
    refuse(name, head)
    # The first character opens an object or a list.
    encoding = "utf-16" if head.startswith(UTF_16) else "utf-8"
    start = head.decode(encoding, "replace").removeprefix("\ufeff").lstrip()
    return "json" if start.startswith(("{", "[")) else "text"


def sniff_zip(name: str, file: BinaryIO) -> Format:
    """Recognise an npz and an .xlsx; PyTorch's files are zip archives too."""
    with reading(name), zipfile.ZipFile(file) as archive:
        members = archive.namelist()
    file.seek(0)
    if any(member.endswith(".npy") for member in members):
        return "npz"
    if any(member.startswith("samples/") and member.endswith(".json") for member in members):
        return "eval"
    if any(member.endswith(".pkl") for member in members):
        raise pickled(name)
    if any(member.lower() == "xl/workbook.xml" for member in members):
        return "xlsx"
    reason = (
        f"{name} is a zip archive of {plural(len(members), 'file')}, and none is a NumPy array."
    )
    action = "Unpack it and upload the file with the outputs, or save numpy.savez(file, logits=..., labels=...)."
    raise InvalidUpload("zip", reason, action)


def refuse(name: str, head: bytes) -> None:
    """Refuse what is known but not read, and bytes that are no text."""
    ending = PurePath(name.removesuffix(".gz")).suffix.lower()
    if head.startswith(PICKLES) or ending in PICKLE_ENDINGS:
        raise pickled(name)
    lines = [line.strip().lower() for line in head.removeprefix(codecs.BOM_UTF8).splitlines()]
    start = next((line for line in lines if line.strip(b"%") and not line.startswith(b"% ")), b"")
    for signature, (kind, action) in OTHERS.items():
        if start.startswith(signature):
            raise InvalidUpload("unknown_format", f"{name} is {kind}.", action)
    control = sum(head.count(byte) for byte in range(1, 9))
    if not head.startswith(UTF_16) and (0 in head or control > len(head) // 20):
        no_text = f"{name} is neither npz, npy, HDF5, Parquet nor Arrow, and its bytes are no text."
        raise InvalidUpload("unknown_format", no_text, SAVE_CSV)


def pickled(name: str) -> InvalidUpload:
    """Refuse a pickle, with the line that converts one at home."""
    target = json.dumps(f"{PurePath(name).stem or 'outputs'}_arrays.npz", ensure_ascii=False)
    of_torch = PurePath(name).suffix.lower() in (".pt", ".pth", ".ckpt")
    opened = "torch.load" if of_torch else "pandas.read_pickle"
    line = f"numpy.savez({target}, **{opened}({json.dumps(name, ensure_ascii=False)}))"
    return InvalidUpload(
        "pickle",
        f"{name} is a Python pickle, which can run any code when it is opened, so it is never opened here.",
        f"Convert it where you trust it, and upload the npz:\n{line}",
    )


def contents_of(form: Format, name: str, file: BinaryIO, choices: Choices) -> Contents:
    """The reader of one format; each loads pyarrow, h5py or openpyxl only where it needs it."""
    arrays = {"npz": open_npz, "npy": open_npy, "hdf5": open_hdf5}
    columns = {"parquet": open_parquet, "arrow": open_arrow}
    if form in arrays:
        return arrays[form](name, file)
    if form in columns:
        return columns[form](name, file, choices)
    if form == "xlsx":
        return open_spreadsheet(name, file, choices)
    if form == "eval":
        return open_records(eval_samples(name, file), choices, name)
    content = text_in(name, gzip.GzipFile(fileobj=file) if form == "gzip" else file)
    if form == "gzip":
        inner = io.BytesIO(content)
        packed = sniff(name, inner)
        if packed == "hdf5":  # it would pass reads_isolated
            reason = f"{name} is HDF5 packed with gzip."
            raise InvalidUpload("gzip", reason, "Unpack it first, with gunzip.")
        return contents_of(packed, name, inner, choices)
    if form == "json":
        return open_json(name, as_text(content, infer_encoding(content), name), choices)
    return open_text(name, content, choices)


def eval_samples(name: str, file: BinaryIO) -> list[Any]:
    """The samples of a log of Inspect AI, a zip archive with one JSON document each."""
    samples: list[Any] = []
    budget = MAX_TEXT
    with reading(name), zipfile.ZipFile(file) as archive:
        members = [m for m in archive.infolist() if m.filename.startswith("samples/")]
        check_count(len(members), name)
        for member in members:
            with archive.open(member) as stream:
                content = text_in(name, stream, budget)
            budget -= len(content)
            samples.append(json.loads(content))
    return samples


def text_in(name: str, file: IO[bytes] | gzip.GzipFile, most: int | None = None) -> bytes:
    """The bytes of a text, unpacked, if they are not more than :data:`MAX_TEXT`."""
    most = MAX_TEXT if most is None else most
    with reading(name):
        content = file.read(most + 1)
    if len(content) > most:
        reason = f"The text of {name} has more than {megabytes(MAX_TEXT)}."
        action = "Save it as npz or Parquet with float32 columns, or fewer rows: 20,000 are plenty to calibrate."
        raise InvalidUpload("too_large", reason, action)
    return content


# Where the bytes come from.


def in_memory(source: Any) -> bool:
    """Return whether a source is a table or a dictionary of arrays in memory."""
    if isinstance(source, (str, Path, tuple, list)):
        return isinstance(source, list) and all(isinstance(row, dict) for row in source)
    is_frame = is_pandas(source) or hasattr(source, "__arrow_c_stream__")
    return isinstance(source, Mapping) or is_frame


def reads_isolated(isolate: bool | None, *sources: Source | None) -> bool:
    """Return whether files are read in a process of their own: as asked, or where one is HDF5 and a filter is there.

    HDF5 below 2, where TensorFlow's bound on h5py keeps it, has open advisories. Tables in memory are not read.
    """
    files = [source for source in sources if source is not None and not in_memory(source)]
    if isolate is None:
        return any(map(_is_hdf5, files)) and FILTER not in missing_protections()
    return isolate and bool(files)


def _is_hdf5(source: Source) -> bool:
    with suppress(InvalidUpload), ExitStack() as stack:
        _, file = open_file(source, stack)
        file.seek(0)
        return file.read(len(HDF5)) == HDF5
    return False


def open_source(source: Source, choices: Choices, stack: ExitStack) -> Contents:
    """Recognise the format and list the arrays; the choices say how text is written.

    Parameters
    ----------
    stack : closes what is opened here; a file that was handed in stays open.
    """
    if isinstance(source, Mapping):
        return open_arrays(source)
    if isinstance(source, list) and in_memory(source):
        return open_records(source, choices)
    if in_memory(source):
        return open_frame(source, choices)
    name, file = open_file(source, stack)
    size = file.seek(0, io.SEEK_END)
    if size > MAX_UPLOAD:
        # In the unit in which Streamlit writes its own limit beside the upload.
        reason = (
            f"{name} has {size / 2**20:,.0f} MB; at most {MAX_UPLOAD / 2**20:,.0f} MB are read."
        )
        action = "Save float32 instead of float64, or fewer rows: 20,000 are plenty to calibrate."
        raise InvalidUpload("too_large", reason, action)
    return contents_of(sniff(name, file), name, file, choices)


def open_file(source: Source, stack: ExitStack) -> tuple[str, BinaryIO]:
    """The name for people and an open binary file."""
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], (str, Path)):
        name, content = source
        if isinstance(content, (bytes, bytearray, memoryview)):
            content = io.BytesIO(content)
        return display_name(name), content
    if not isinstance(source, (str, Path)):
        kind = f"A {shortened(type(source).__name__)} is neither a file nor a table that is read"
        action = "Give a path, (name, bytes), a DataFrame or Arrow table, or arrays as {'outputs': ..., 'labels': ...}."
        raise InvalidUpload("source", f"{kind}; a single array needs labels beside it.", action)
    name = display_name(source)
    try:
        file = Path(source).open("rb")  # noqa: SIM115
    except (OSError, ValueError) as error:  # no system takes a path with such characters
        why = f"{name} cannot be opened ({reason(error)})."
        action = "Check the path; to name an array inside a file, give its name as the outputs or the labels."
        raise InvalidUpload("missing", why, action) from error
    stack.enter_context(file)
    if not file.seekable():
        piped = f"{name} is a pipe, and a file is read in more than one pass."
        raise InvalidUpload("missing", piped, "Write what it gives to a file first, and name that.")
    return name, file


LONGEST_NAME = 120
"""Characters of a file's name in a sentence; an upload may have any name."""


def display_name(path: str | Path) -> str:
    """A file's name for sentences: one line that stays short, with the ending that says what it should hold."""
    name = Path(path).name
    name = (name if name.isprintable() else single_line(name)) or "The file"
    ending = PurePath(name).suffix[-12:]
    return (
        name if len(name) <= LONGEST_NAME else shortened(name, LONGEST_NAME - len(ending)) + ending
    )
