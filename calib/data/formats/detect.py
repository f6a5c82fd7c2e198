"""From a path or an upload to the list of its arrays."""

from __future__ import annotations

import io
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import BinaryIO

from calib.data.checks.report import Rejected, Report, one_line, shortened
from calib.data.formats.base import Contents
from calib.data.formats.npz import NpzContents
from calib.data.formats.numpy import NpyContents
from calib.data.formats.sniff import ending_is_right, sniff
from calib.data.limits import Allowance, check_upload
from calib.data.options import Choices

Source = str | Path | tuple[str, bytes] | tuple[str, BinaryIO]
"""A path, or what an upload gives: its file name with its bytes or an open binary file."""

LONGEST_NAME = 120
"""Characters of a file's name in a sentence; an upload may have any name."""


def open_source(source: Source, allowance: Allowance, report: Report, stack: ExitStack) -> Contents:
    """Recognise the format and list the arrays; the choices say how text is written.

    Parameters
    ----------
    stack : closes what is opened here; a file that was handed in stays open.
    """
    name, file = open_file(source, stack)
    size = file.seek(0, io.SEEK_END)
    check_upload(size, name)
    found = sniff(name, file)
    if not ending_is_right(name, found):
        report.info("ending", f"{name} holds {found} by its content, whatever its name says; read as that.")
    file.seek(0)
    return contents_of(found, name, file, size, allowance, report.choices)


def open_file(source: Source, stack: ExitStack) -> tuple[str, BinaryIO]:
    """The name for people and an open binary file."""
    if isinstance(source, tuple):
        name, content = source
        return shown_name(name), io.BytesIO(content) if isinstance(content, (bytes, bytearray, memoryview)) else content
    path = Path(source)
    try:
        return shown_name(path), stack.enter_context(path.open("rb"))
    except OSError as error:
        raise Rejected(
            "missing",
            f"{shown_name(path)} cannot be opened ({error.strerror or error}).",
            "Check the path; to name an array inside a file, give its name as the outputs or the labels.",
        ) from error


def shown_name(path: str | Path) -> str:
    """A file's name for sentences: one line that stays short, with the ending that says what it should hold."""
    name = one_line(Path(path).name) or "The file"
    ending = PurePath(name).suffix[-12:]
    return name if len(name) <= LONGEST_NAME else shortened(name, LONGEST_NAME - len(ending)) + ending


def contents_of(found: str, name: str, file: BinaryIO, size: int, allowance: Allowance, choices: Choices) -> Contents:
    """The reader of one format; pyarrow and h5py are loaded only where they are needed."""
    if found == "npz":
        return NpzContents(name, file, allowance)
    if found == "npy":
        return NpyContents(name, file, size, allowance)
    if found == "hdf5":
        from calib.data.formats.hdf5 import Hdf5Contents

        return Hdf5Contents(name, file, size, allowance)
    if found == "parquet":
        from calib.data.formats.parquet import open_parquet

        return open_parquet(name, file, allowance, bool(choices.drop_bad_rows))
    from calib.data.formats.text import open_text

    return open_text(name, file, found == "gzipped text", allowance, choices)
