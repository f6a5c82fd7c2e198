"""The record of an exported calibrator: a JSON text that says what it is, and an npz with the arrays it names.

Nothing of it is unpickled, a checksum in the JSON covers both, and sizes are checked before memory is taken.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from calib.data.formats.zipped import open_member, open_zip
from calib.errors import CalibrationError

FORMAT = 1
"""Version of the record; raised when an older calib could not read a newer file."""

LARGEST = 2**30
"""Bytes of unpacked arrays (1 GiB); a fitted calibrator has megabytes, with a training set a hundred."""

MAX_DIRECTORY = 2**25
"""Bytes of the directory of the arrays (32 MiB): five for each of 80,000 classes."""


def pack(fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[str, bytes]:
    """The JSON text and the npz bytes of a record; equal content, equal bytes.

    Parameters
    ----------
    fields : what JSON can hold, in the order in which it is written.
    arrays : arrays of numbers, booleans or text by name.

    Raises
    ------
    CalibrationError
        If they are more than :func:`unpack` would read.
    """
    size = sum(array.nbytes for array in arrays.values())
    if size > LARGEST:
        raise CalibrationError(
            f"The calibrator carries {size / 1e9:.1f} GB, and an export holds up to {LARGEST / 1e9:.1f} GB; fit it "
            "with a smaller training set, or with a reduction of it."
        )
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    try:
        open_zip(buffer, MAX_DIRECTORY).close()
    except ValueError:
        raise CalibrationError(
            f"The calibrator is made of {len(arrays):,} arrays, more than an export holds; fit it with one map that "
            "all classes share."
        ) from None
    npz = buffer.getvalue()
    record = {"format": FORMAT, **fields}
    record["sha256"] = digest(record, npz)
    return json.dumps(record, indent=1, ensure_ascii=False), npz


def unpack(text: str, npz: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Undo :func:`pack`; the fields come with the format and without the checksum.

    Raises
    ------
    CalibrationError
        If the record was made by a newer calib, is damaged, or unpacks to more than any calibrator does.
    """
    try:
        record = json.loads(text)
        newest = int(record["format"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise CalibrationError(
            "This is not a calibrator's record: its JSON is damaged or is of another program."
        ) from None
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
        return record, _read_arrays(npz)


def digest(record: Mapping[str, Any], npz: bytes) -> str:
    """SHA-256 of a record without its checksum and of its arrays."""
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(canonical + b"\0" + npz).hexdigest()


def holds_arrays(npz: bytes) -> bool:
    """Whether bytes are an archive with anything in it."""
    try:
        with open_zip(io.BytesIO(npz), MAX_DIRECTORY) as members:
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
    except Exception as error:  # zipfile, NumPy and the methods raise many types on what they have not written
        raise CalibrationError(
            f"The calibrator's record does not hold what it should ({type(error).__name__}); it was damaged or "
            "changed, so export the calibrator again."
        ) from error


def _read_arrays(npz: bytes) -> dict[str, np.ndarray]:
    with open_zip(io.BytesIO(npz), MAX_DIRECTORY) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > LARGEST:
            raise CalibrationError("The calibrator's arrays unpack to more than 1 GB, which no calibrator does.")
        return {member.filename.removesuffix(".npy"): _read_array(archive, member) for member in members}


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    # np.load would read a member that is no array whole, whatever it unpacks to.
    with open_member(archive, member) as stream:
        return npy_format.read_array(stream, allow_pickle=False)
