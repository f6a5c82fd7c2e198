"""The record of an exported calibrator as files: a JSON text that describes it, and an npz with the arrays it names.

The two lie beside each other or in a bundle. Learned state becomes JSON plus named arrays, and back, exactly. Nothing
is unpickled, a checksum in the JSON covers both, and sizes are checked before memory is taken.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from calib.data.formats.archives import open_member, open_zip, read_member
from calib.data.limits import MAX_RECORD
from calib.errors import CalibrationError

FORMAT = 3
"""Version of the record; raised when an older calib could not use all of a newer file, as decisions and sets (3)."""

LARGEST = 2**30
"""Bytes of unpacked arrays (1 GiB); a fitted calibrator has megabytes, with a training set a hundred."""

MAX_DIRECTORY = 2**25
"""Bytes of the directory of the arrays (32 MiB): five for each of 80,000 classes."""

MAX_DEPTH = 32
"""Lists and dictionaries of the JSON inside each other; a calibrator has five."""

CHUNK = 2**20
"""Bytes of an array that are unpacked at a time."""

PLAIN = "biufUS"
"""Kinds of arrays that are exported: numbers, booleans and text."""

_BUNDLED = ("calibrator.json", "calibrator.npz")
ARRAY = "$array"
"""A JSON object with this one key stands for the array of that name."""


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
        if len(text.encode()) > MAX_RECORD:
            raise _too_many(arrays)
    except UnicodeEncodeError as error:
        raise CalibrationError(
            f"A name or note of the calibrator holds {error.object[error.start]!a}, half of a two-part "
            "character, and cannot be written to a file; write it without."
        ) from None
    return text, npz


def npz_of(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An npz of arrays that hold no Python objects, which only a pickle could keep.

    NumPy refuses such arrays itself from 2.1 on; before, it takes its option ``allow_pickle`` for an array's name.
    """
    if objects := [name for name, array in arrays.items() if array.dtype.hasobject]:
        raise TypeError(f"{', '.join(objects)} hold Python objects, which are not written")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # an array is never its option
    return buffer.getvalue()


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
        return record, _read_arrays(npz)


def _parsed(text: str) -> dict[str, Any]:
    """A record's fields, of which the format is known to be one."""
    if len(text) > MAX_RECORD:
        raise CalibrationError(f"The calibrator's JSON has {len(text) / 1e6:,.0f} MB, which no calibrator's has.")
    try:
        record = json.loads(text)
        if isinstance(record, dict) and type(record.get("format")) is int and not _deeper(record, MAX_DEPTH):
            return record
    except (ValueError, RecursionError):
        pass
    raise CalibrationError("This is not a calibrator's record: its JSON is damaged or is of another program.")


def _deeper(value: Any, than: int) -> bool:
    """Whether lists and dicts lie further inside each other than so many."""
    if not isinstance(value, (dict, list)):
        return False
    return than == 0 or any(_deeper(item, than - 1) for item in (value.values() if isinstance(value, dict) else value))


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
    # np.load would read a member that is no array whole, whatever it unpacks to, and take the memory for any shape.
    with open_member(archive, member) as stream:
        version = npy_format.read_magic(stream)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran_order, dtype = read(stream)
        size = member.file_size - stream.tell()
        if dtype.kind not in PLAIN or prod(shape) * dtype.itemsize != size:
            raise ValueError("The shape is not that of what the array holds.")
        content = bytearray()
        while part := stream.read(min(CHUNK, size - len(content))):
            content += part
    if len(content) != size:
        raise EOFError("The array is cut off.")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran_order else "C")


def read_pair(path: Path) -> tuple[str, bytes]:
    """The text and the npz bytes of a record, either file of which is at ``path``.

    Raises
    ------
    CalibrationError
        If either is missing.
    """
    npz = read_file(_part(path, ".npz"))
    return _decoded(read_file(_part(path, ".json"), npz)), npz


def read_bundle(path: Path) -> tuple[str, bytes]:
    """The text and the npz bytes of the record in a bundle, whose other members are left alone.

    Raises
    ------
    CalibrationError
        If there is no bundle, or what it holds is damaged, no calibrator, or larger than any is.
    """
    content = read_file(path)
    with damage_in_words(), open_zip(io.BytesIO(content)) as bundle:
        if not set(_BUNDLED) <= set(bundle.namelist()):
            raise CalibrationError(
                f"{path.name} is no bundle of an exported calibrator, which holds {' and '.join(_BUNDLED)}; choose the "
                "zip that was exported."
            )
        members = [bundle.getinfo(name) for name in _BUNDLED]
        if sum(member.file_size for member in members) > LARGEST:
            raise CalibrationError(
                f"The calibrator in {path.name} unpacks to more than 1 GB, which no calibrator does."
            )
        text, npz = (read_member(bundle, member) for member in members)
    return _decoded(text), npz


def read_file(path: Path, npz: bytes | None = None) -> bytes:
    """The content of a file; where it is the record that belongs to ``npz`` and is missing, this may say why."""
    if path.is_file():
        if path.stat().st_size > (most := LARGEST if npz is None else MAX_RECORD):
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


def _decoded(content: bytes) -> str:
    # What is no text cannot have the record's checksum either, which says what to do.
    return content.decode("utf-8", "replace")


def flatten(value: Any, path: str = "") -> tuple[Any, dict[str, np.ndarray]]:
    """Split nested dicts and lists into what JSON can hold and the arrays.

    Parameters
    ----------
    value : dicts with string keys, lists, tuples (which become lists), arrays of numbers, booleans or text,
        Python and NumPy scalars, strings and None, nested at will.
    path : name of the value; an array's name is the path of keys to it, joined by ``/`` (a ``/`` inside a
        key is written ``~1`` and ``~`` is written ``~0``, as in JSON pointers).

    Returns
    -------
    outline : the value with every array replaced by ``{"$array": name}``; JSON can hold it.
    arrays : the arrays by name.

    Raises
    ------
    CalibrationError
        For anything else: a file that needs no unpickling can only hold plain things.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in PLAIN:
            raise CalibrationError(f"{path or 'The value'} is an array of {value.dtype}, which cannot be exported.")
        return {ARRAY: path}, {path: value}
    if isinstance(value, Mapping):
        items = {_text_key(key, path): item for key, item in value.items()}
        if ARRAY in items:
            raise CalibrationError(f"{path or 'The value'} has the key {ARRAY!r}, which is reserved.")
    elif isinstance(value, (list, tuple)):
        items = {str(i): item for i, item in enumerate(value)}
    else:
        return plain_scalar(value, path), {}
    outlines, arrays = {}, {}
    for key, item in items.items():
        name = key.replace("~", "~0").replace("/", "~1")
        outlines[key], inner = flatten(item, f"{path}/{name}" if path else name)
        arrays.update(inner)
    return (outlines if isinstance(value, Mapping) else list(outlines.values())), arrays


def unflatten(outline: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Undo :func:`flatten`."""
    if isinstance(outline, dict):
        if set(outline) == {ARRAY}:
            return arrays[outline[ARRAY]]
        return {key: unflatten(item, arrays) for key, item in outline.items()}
    if isinstance(outline, list):
        return [unflatten(item, arrays) for item in outline]
    return outline


def without_arrays(value: Any) -> Any:
    """The value with every array as a nested list and every tuple as a list: what JSON can hold by itself."""
    outline, arrays = flatten(value)
    return unflatten(outline, {name: array.tolist() for name, array in arrays.items()})


def plain_scalar(value: Any, path: str = "") -> Any:
    """A Python scalar for a Python or NumPy one; :class:`CalibrationError` for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise CalibrationError(f"{path or 'The value'} is a {type(value).__name__}, which cannot be exported.")


def _text_key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise CalibrationError(f"{path or 'The value'} has the key {key!r}; exported dicts need text as keys.")
    return key
