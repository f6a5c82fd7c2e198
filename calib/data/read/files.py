"""Recognise a file by its first bytes and open it with the reader of its format.

The ending of its name says nothing, unless it is that of a pickle.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal, cast

from calib.data.findings import InvalidUpload, shortened
from calib.data.limits import MAX_TEXT, MAX_UPLOAD, megabytes
from calib.data.options import Choices, Source
from calib.data.read.arrays import SIGNATURE, open_arrays, open_hdf5, open_npy, open_npz, open_zip
from calib.data.read.base import Allowance, Contents, reading
from calib.data.read.columnar import is_pandas, open_arrow, open_frame, open_parquet
from calib.data.read.dialect import as_text, infer_encoding, marked_encoding
from calib.data.read.excel import open_spreadsheet
from calib.data.read.records import open_json, open_records
from calib.data.read.text import open_text
from calib.errors import reason
from calib.formatting import one_line

Format = Literal["npz", "npy", "hdf5", "parquet", "arrow", "xlsx", "json", "gzipped json", "text", "gzipped text"]

HEAD = 4096
PICKLE_ENDINGS = {".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt"}
SAVE_CSV = "Save it as csv, npz or Parquet."
OTHERS = {
    b"MATLAB 5.0": "a MATLAB file",
    b"FEA1": "a Feather file of version 1",
    b"%PDF": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an Excel file of before 2007 or with a password",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"7z\xbc\xaf": "a 7-zip archive",
    b"Rar!": "a rar archive",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"(\xb5/\xfd": "packed with zstd",
    b"<?xml": "an XML document",
}


def sniff(name: str, file: BinaryIO) -> Format:
    """The format of a file, from its content; InvalidUpload with what to do where it is none that is read."""
    file.seek(0)
    head = file.read(HEAD)
    if not head:
        raise InvalidUpload("empty", f"{name} is empty (0 bytes).", "Check that saving it ended, and upload it again.")
    if head.startswith(b"\x1f\x8b"):
        return sniff_gzip(name, file)
    refuse_texts(name, head)
    if head.startswith(b"PK"):
        return sniff_zip(name, file)
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if head.startswith(SIGNATURE):
        return "hdf5"
    refuse_pickles(name, head)
    refuse_others(name, head)
    return "json" if is_json(head) else "text"


def is_json(head: bytes) -> bool:
    """Whether the first character opens an object or a list, in any encoding that text may have."""
    start = head.decode(marked_encoding(head), "replace").removeprefix("\ufeff").lstrip()
    return start.startswith(("{", "["))


def refuse_texts(name: str, head: bytes) -> None:
    """Refuse a pointer to the file, the page it could have been fetched from, and tables of Weka."""
    if head.startswith(b"version https://git-lfs"):
        size = next((int(w) for w in head.split() if w.isdigit()), 0)
        raise InvalidUpload(
            "lfs_pointer",
            f"{name} is a git-lfs pointer of {len(head):,} bytes, not the data themselves ({size:,} bytes).",
            "Run git lfs pull in the repository, then upload the file again.",
        )
    start = head.removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise InvalidUpload(
            "html",
            f"{name} is a web page (HTML), not data; a download link that needs a login usually causes it.",
            "Open the link in a browser, download the raw file and upload that.",
        )
    if any(line.startswith(b"@relation") for line in map(bytes.strip, start.splitlines())):
        raise InvalidUpload(
            "unknown_format",
            f"{name} is an ARFF file of Weka, which is not read.",
            "Save it as csv, in Weka's Explorer by Save and the type csv.",
        )


def refuse_pickles(name: str, head: bytes, inner: str = "") -> None:
    """Refuse pickles, which run code when they are opened; joblib packs them with zlib.

    Parameters
    ----------
    inner : name without the ending of a packer, if there is one.
    """
    packed = head[:2] in (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
    binary = head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    if packed or binary or PurePath(inner or name).suffix.lower() in PICKLE_ENDINGS:
        raise pickled(name)


def pickled(name: str) -> InvalidUpload:
    """Refuse a pickle, with the line that converts one at home."""
    target = json.dumps(f"{PurePath(name).stem or 'outputs'}_arrays.npz", ensure_ascii=False)
    opened = "torch.load" if PurePath(name).suffix.lower() in (".pt", ".pth", ".ckpt") else "pandas.read_pickle"
    line = f"numpy.savez({target}, **{opened}({json.dumps(name, ensure_ascii=False)}))"
    return InvalidUpload(
        "pickle",
        f"{name} is a Python pickle, which can run any code when it is opened, so it is never opened here.",
        f"Convert it where you trust it, and upload the npz:\n{line}",
    )


def refuse_others(name: str, head: bytes) -> None:
    """Refuse formats that are known but not read, and bytes that are no text."""
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    for signature, kind in OTHERS.items():
        if start.startswith(signature):
            raise InvalidUpload("unknown_format", f"{name} is {kind}, which is not read.", SAVE_CSV)
    wide = marked_encoding(head).startswith("utf-16")
    control = sum(head.count(byte) for byte in range(1, 9))
    if (0 in head and not wide) or control > len(head) // 20:
        raise InvalidUpload(
            "unknown_format",
            f"{name} is neither npz, npy, HDF5, Parquet nor Arrow, and its bytes are no text.",
            SAVE_CSV,
        )


def sniff_zip(name: str, file: BinaryIO) -> Format:
    """Recognise an npz and an .xlsx; PyTorch's files are zip archives too."""
    file.seek(0)
    with reading(name), open_zip(file) as archive:
        members = archive.namelist()
    if any(member.endswith(".npy") for member in members):
        return "npz"
    if any(member.endswith(".pkl") for member in members):
        raise pickled(name)
    if any(member.lower() == "xl/workbook.xml" for member in members):
        return "xlsx"
    if any(member in ("xl/workbook.bin", "content.xml") for member in members):
        raise InvalidUpload("zip", f"{name} is a spreadsheet, but not .xlsx.", "Save it as .xlsx or csv.")
    raise InvalidUpload(
        "zip",
        f"{name} is a zip archive of {len(members):,} files, and none is a NumPy array.",
        "Unpack it and upload the file with the outputs, or save numpy.savez(file, logits=..., labels=...).",
    )


def sniff_gzip(name: str, file: BinaryIO) -> Format:
    """Look at the first bytes inside; only text tables and JSON are read from gzip."""
    file.seek(0)
    with reading(name):
        head = gzip.GzipFile(fileobj=file).read(HEAD)
    inner = PurePath(name).stem
    if not head:
        raise InvalidUpload("empty", f"{name} unpacks to 0 bytes.", "Check that saving it ended, and upload it again.")
    refuse_texts(inner, head)
    if head.startswith((b"PK", b"\x93NUMPY", b"\x89HDF", b"PAR1", b"\x1f\x8b")):
        raise InvalidUpload(
            "zip", f"{name} is packed with gzip around a format that packs itself.", "Unpack it with gunzip first."
        )
    refuse_pickles(name, head, inner)
    refuse_others(inner, head)
    return "gzipped json" if is_json(head) else "gzipped text"


CHUNK = 2**24
LONGEST_NAME = 120
"""Characters of a file's name in a sentence; an upload may have any name."""


def in_memory(source: Any) -> bool:
    """Whether a source is a table or a dictionary of arrays in memory and not a file."""
    rows = isinstance(source, list) and all(isinstance(row, dict) for row in source)
    return isinstance(source, Mapping) or rows or is_pandas(source) or hasattr(source, "__arrow_c_stream__")


def open_source(source: Source, allowance: Allowance, choices: Choices, stack: ExitStack) -> Contents:
    """Recognise the format and list the arrays; the choices say how text is written.

    Parameters
    ----------
    stack : closes what is opened here; a file that was handed in stays open.
    """
    contents: Contents
    if isinstance(source, Mapping):
        contents = open_arrays(source, allowance)
    elif in_memory(source) and isinstance(source, list):
        contents = open_records(source, allowance, choices)
    elif in_memory(source):
        contents = open_frame(source, allowance, bool(choices.drop_bad_rows))
    else:
        name, file = open_file(source, stack)
        size = file.seek(0, io.SEEK_END)
        check_upload(size, name)
        contents = contents_of(sniff(name, file), name, file, size, allowance, choices)
    return contents


def check_upload(size: int, name: str) -> None:
    """Refuse a file that is larger than :data:`MAX_UPLOAD`."""
    if size > MAX_UPLOAD:
        raise InvalidUpload(
            "too_large",
            # In the unit in which Streamlit writes its own limit beside the upload.
            f"{name} has {size / 2**20:,.0f} MB; at most {MAX_UPLOAD / 2**20:,.0f} MB are read.",
            "Save float32 instead of float64, or fewer rows: 20,000 are plenty to calibrate.",
        )


def open_file(source: Source, stack: ExitStack) -> tuple[str, BinaryIO]:
    """The name for people and an open binary file."""
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], (str, Path)):
        name, content = source
        return shown_name(name), io.BytesIO(content) if isinstance(content, (bytes, bytearray, memoryview)) else content
    if not isinstance(source, (str, Path)) and hasattr(source, "__array__"):
        raise InvalidUpload(
            "source",
            f"A single array was given ({shortened(type(source).__name__)}), and outputs need labels beside them.",
            "Give both by name, as {'outputs': outputs, 'labels': labels}.",
        )
    if not isinstance(source, (str, Path)):
        raise InvalidUpload(
            "source",
            f"A {shortened(type(source).__name__)} is neither a file nor a table that is read.",
            "Give a path, (name, bytes), arrays by name, a DataFrame, an Arrow table or a list of dictionaries.",
        )
    path = Path(source)
    try:
        file = stack.enter_context(path.open("rb"))
    except (OSError, ValueError) as error:  # a ValueError: no system takes a path with such characters
        raise InvalidUpload(
            "missing",
            f"{shown_name(path)} cannot be opened ({reason(error)}).",
            "Check the path; to name an array inside a file, give its name as the outputs or the labels.",
        ) from error
    if not file.seekable():
        raise InvalidUpload(
            "missing",
            f"{shown_name(path)} is a pipe, and a file is read in more than one pass.",
            "Write what it gives to a file first, and name that.",
        )
    return shown_name(path), file


def shown_name(path: str | Path) -> str:
    """A file's name for sentences: one line that stays short, with the ending that says what it should hold."""
    name = one_line(Path(path).name) or "The file"
    ending = PurePath(name).suffix[-12:]
    return name if len(name) <= LONGEST_NAME else shortened(name, LONGEST_NAME - len(ending)) + ending


def contents_of(found: str, name: str, file: BinaryIO, size: int, allowance: Allowance, choices: Choices) -> Contents:
    """The reader of one format; each loads pyarrow, h5py or openpyxl only where it needs it."""
    file.seek(0)
    drop = bool(choices.drop_bad_rows)
    if found == "npz":
        return open_npz(name, file, allowance)
    if found == "npy":
        return open_npy(name, file, size, allowance)
    if found == "hdf5":
        return open_hdf5(name, file, allowance)
    if found == "parquet":
        return open_parquet(name, file, allowance, drop)
    if found == "arrow":
        return open_arrow(name, file, allowance, drop)
    if found == "xlsx":
        return open_spreadsheet(name, file, allowance, choices)
    content = content_of(name, file, found.startswith("gzipped"))
    if found.endswith("json"):
        return open_json(name, as_text(content, infer_encoding(content), name), allowance, choices)
    return open_text(name, content, allowance, choices)


def content_of(name: str, file: BinaryIO, gzipped: bool) -> bytes:
    """The bytes of a text, unpacked, if they are not more than :data:`MAX_TEXT`."""
    source = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if gzipped else file
    content = bytearray()
    with reading(name):
        while chunk := source.read(CHUNK):
            content += chunk
            if len(content) > MAX_TEXT:
                raise InvalidUpload(
                    "too_large",
                    f"The text of {name} has more than {megabytes(MAX_TEXT)}.",
                    "Save it as npz or Parquet with float32 columns, or fewer rows: 20,000 are plenty to calibrate.",
                )
    return bytes(content)
