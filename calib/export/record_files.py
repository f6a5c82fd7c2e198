"""Where on disk the two parts of a calibrator's record lie: an npz with its json beside it, or a bundle."""

from __future__ import annotations

import io
from pathlib import Path

from calib.data.formats.zipped import open_zip, read_member
from calib.errors import CalibrationError
from calib.export.archive import LARGEST, damage_in_words, holds_arrays

_BUNDLED = ("calibrator.json", "calibrator.npz")


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
