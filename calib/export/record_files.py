"""The files of an exported calibrator: a JSON text that describes it, and an npz with the arrays it names.

The two lie beside each other or in a bundle, and are written as :mod:`calib.records` says. A checksum in the JSON
covers both.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from calib.data.read.arrays import open_zip, read_member
from calib.errors import CalibrationError
from calib.records import LARGEST, MAX_DIRECTORY, MAX_TEXT, BadRecord, arrays_of, npz_of, open_npz, parse

FORMAT = 3
"""Version of the record; raised when an older calib could not use all of a newer file, as decisions and sets (3)."""

MAX_VALUES = 2**21
"""Values in the JSON (two million): the names of a million classes, or eleven values for each of 80,000."""

_BUNDLED = ("calibrator.json", "calibrator.npz")

DIRECTORY_SIZE = slice(-10, -6)
"""Where an archive without a comment says how many bytes its directory has (APPNOTE.TXT 6.3.10, section 4.3.16)."""


def pack(fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[str, bytes]:
    """The JSON text and the npz bytes of a record; equal content, equal bytes.

    Parameters
    ----------
    fields : what JSON can hold, in the order in which it is written.
    arrays : arrays of numbers, booleans or text by name.

    Raises
    ------
    CalibrationError
        If they are more than :func:`unpack` would read, or a text cannot be written as UTF-8.
    """
    size = sum(array.nbytes for array in arrays.values())
    if size > LARGEST:
        raise CalibrationError(
            f"The calibrator carries {size / 1e9:.1f} GB, and an export holds up to {LARGEST / 1e9:.1f} GB; fit it "
            "with a smaller training set, or with a reduction of it."
        )
    npz = npz_of(arrays)
    if int.from_bytes(npz[DIRECTORY_SIZE], "little") > MAX_DIRECTORY:
        raise _too_many(arrays)
    record = {"format": FORMAT, **fields}
    record["sha256"] = digest(record, npz)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    try:
        if len(text.encode()) > MAX_TEXT or n_values(text) > MAX_VALUES:
            raise _too_many(arrays)
    except UnicodeEncodeError as error:
        raise CalibrationError(
            f"A name or note of the calibrator holds {error.object[error.start]!a}, half of a two-part "
            "character, and cannot be written to a file; write it without."
        ) from None
    return text, npz


def unpack(text: str, npz: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Undo :func:`pack`; the fields come with the format and without the checksum.

    Raises
    ------
    CalibrationError
        If the record was made by a newer calib, is damaged, or unpacks to more than any calibrator does.
    """
    record = _parsed(text)
    newest = record["format"]
    if newest > FORMAT:
        raise CalibrationError(
            f"The calibrator was exported in format {newest}; this version of calib reads up to {FORMAT}. Update calib."
        )
    if record.pop("sha256", None) != digest(record, npz):
        raise CalibrationError(
            "The calibrator's checksum does not match: the file is damaged, or the npz and the json are of "
            "different exports. Export it again."
        )
    with damage_in_words():
        return record, arrays_of(npz)


def _parsed(text: str) -> dict[str, Any]:
    """A record's fields, of which the format is known to be one."""
    if len(text) > MAX_TEXT:
        raise CalibrationError(f"The calibrator's JSON has {len(text) / 1e6:,.0f} MB, which no calibrator's has.")
    if (most := n_values(text)) > MAX_VALUES:
        raise CalibrationError(
            f"The calibrator's JSON may hold {most:,} values, and no calibrator's has {MAX_VALUES:,}."
        )
    try:
        record = parse(text)
        json.dumps(record, ensure_ascii=False).encode()  # fails for half a two-part character, which nothing can show
        if isinstance(record, dict) and type(record.get("format")) is int:
            return record
    except (BadRecord, UnicodeEncodeError):
        pass
    raise CalibrationError("This is not a calibrator's record: its JSON is damaged or is of another program.")


def n_values(text: str) -> int:
    """Values that a JSON text can hold at most, counted before any is made: each may take 200 bytes."""
    return 1 + sum(text.count(mark) for mark in "[{,")


def _too_many(arrays: Mapping[str, np.ndarray]) -> CalibrationError:
    return CalibrationError(
        f"The calibrator is made of {len(arrays):,} arrays, more than an export holds; fit it with one map that "
        "all classes share."
    )


def digest(record: Mapping[str, Any], npz: bytes) -> str:
    """SHA-256 of a record without its checksum and of its arrays."""
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(canonical + b"\0" + npz).hexdigest()


def holds_arrays(npz: bytes) -> bool:
    """Whether bytes are an archive with anything in it."""
    try:
        with open_npz(npz) as members:
            return bool(members.namelist())
    except zipfile.BadZipFile:
        return False
    except ValueError:
        return True  # more than are looked through


@contextmanager
def damage_in_words() -> Iterator[None]:
    """Whatever goes wrong with what a record holds becomes one sentence."""
    try:
        yield
    except CalibrationError:
        raise
    except MemoryError as error:
        raise CalibrationError(
            "The calibrator's files unpack to more memory than a calibrator takes; they were probably changed, so "
            "export the calibrator again."
        ) from error
    except Exception as error:  # zipfile, NumPy and the methods raise many types on what they have not written
        raise CalibrationError(
            f"The calibrator's record does not hold what it should ({type(error).__name__}); it was damaged or "
            "changed, so export the calibrator again."
        ) from error


def read_pair(path: Path) -> tuple[str, bytes]:
    """The text and the npz bytes of a record, either file of which is at ``path``.

    Raises
    ------
    CalibrationError
        If either is missing.
    """
    npz = read_file(_part(path, ".npz"))
    return decoded(read_file(_part(path, ".json"), npz)), npz


def read_bundle(path: Path) -> tuple[str, bytes]:
    """The text and the npz bytes of the record in a bundle, whose other members are left alone.

    Raises
    ------
    CalibrationError
        If there is no bundle, or what it holds is damaged, no calibrator, or larger than any is.
    """
    content = read_file(path)
    if not is_bundle(content):
        raise CalibrationError(
            f"{path.name} is no bundle of an exported calibrator, which holds {' and '.join(_BUNDLED)}; choose the "
            "zip that was exported."
        )
    return unbundled(content, path.name)


def is_bundle(content: bytes) -> bool:
    """Whether bytes are an archive with a record in it; raises as :func:`read_bundle` where they are no archive."""
    with damage_in_words(), open_zip(io.BytesIO(content)) as bundle:
        return set(_BUNDLED) <= set(bundle.namelist())


def unbundled(content: bytes, name: str) -> tuple[str, bytes]:
    """The text and the npz bytes of the record in the bytes of a bundle; raises as :func:`read_bundle`."""
    with damage_in_words(), open_zip(io.BytesIO(content)) as bundle:
        members = [bundle.getinfo(part) for part in _BUNDLED]
        if sum(member.file_size for member in members) > LARGEST:
            raise CalibrationError(f"The calibrator in {name} unpacks to more than 1 GB, which no calibrator does.")
        text, npz = (read_member(bundle, member) for member in members)
    return decoded(text), npz


def read_file(path: Path, npz: bytes | None = None) -> bytes:
    """The content of a file; where it is the record that belongs to ``npz`` and is missing, this may say why."""
    if path.is_file():
        if path.stat().st_size > (most := LARGEST if npz is None else MAX_TEXT):
            raise CalibrationError(
                f"{path.name} has {path.stat().st_size / 1e6:,.0f} MB; no export has over {most / 1e6:,.0f}."
            )
        return path.read_bytes()
    if npz is not None and not holds_arrays(npz):
        raise CalibrationError(
            f"{path.with_suffix('.npz').name} holds no arrays ({len(npz):,} bytes) and has no {path.name} beside "
            "it, which says what it is; keep the .npz and the .json of an export together, or export them again."
        )
    paired = "; an .npz and its .json belong together" if path.suffix.lower() in (".npz", ".json") else ""
    raise CalibrationError(f"{path.name} was not found in {path.parent}{paired}.")


def _part(path: Path, suffix: str) -> Path:
    # The file that was named is read as it is named: on most disks c.NPZ is not c.npz.
    return path if path.suffix.lower() == suffix else path.with_suffix(suffix)


def decoded(content: bytes) -> str:
    """The text of a record's JSON."""
    # What is no text cannot have the record's checksum either, which says what to do.
    return content.decode("utf-8", "replace")
