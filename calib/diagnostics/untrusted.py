"""An exported calibrator from somebody else: read as data, and believed only as far as it behaves like one."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from calib.data.checks.report import Rejected
from calib.data.formats.npz import NpzContents
from calib.data.formats.zipped import open_zip, read_member
from calib.data.limits import MAX_CLASSES, MAX_RECORD, Allowance, check_upload, megabytes
from calib.errors import CalibrationError
from calib.export.runtime import ExportedCalibrator, from_record
from calib.metrics.top_label import ROUNDING
from calib.registry import METHODS

_PLAIN = "biufUS"
_PICKLE = b"\x80"
_BUNDLED = ("calibrator.json", "calibrator.npz")


def read_uploaded(files: Sequence[tuple[str, BinaryIO]]) -> ExportedCalibrator:
    """The calibrator that uploaded files hold; nothing is unpickled, and sizes are checked before they are allocated.

    Parameters
    ----------
    files : (name, open binary file) of the npz and the json, or of a bundle, whose pickle is left alone.

    Raises
    ------
    CalibrationError
        In one sentence, whatever is wrong with the files.
    """
    text, arrays = _parts(files)
    _check_arrays(arrays)
    with _in_one_sentence("The calibrator's record does not hold what it should"):
        record = text.decode("utf-8")
        _check_class_count(record)
        made = from_record(record, arrays)
        _check_record(made)
    with _in_one_sentence(f"The calibrator's record does not fit {METHODS[made.method].title}"):
        _check_behaviour(made)
    return made


def _parts(files: Sequence[tuple[str, BinaryIO]]) -> tuple[bytes, bytes]:
    """The bytes of the json and of the npz."""
    found: dict[str, bytes] = {}
    for name, file in files:
        content = _content(name, file)
        if name.lower().endswith((".pkl", ".pickle")) or content.startswith(_PICKLE):
            raise CalibrationError(
                f"{name} is a pickle, which can run code when it is read, so it is not; upload the calibrator's npz "
                "and json, or its bundle."
            )
        if content.lstrip()[:1] == b"{":
            found["json"] = content
        elif zipfile.is_zipfile(io.BytesIO(content)):
            found |= _of_archive(content)
        else:
            raise CalibrationError(f"{name} is no part of an exported calibrator, which is an npz with its json.")
    for kind, other in (("json", "npz"), ("npz", "json")):
        if kind not in found:
            raise CalibrationError(f"The calibrator's {kind} is missing; upload it together with the {other}.")
    if len(found["json"]) > MAX_RECORD:
        raise CalibrationError(
            f"The calibrator's json has {megabytes(len(found['json']))}; at most {megabytes(MAX_RECORD)} are read."
        )
    return found["json"], found["npz"]


def _content(name: str, file: BinaryIO) -> bytes:
    size = file.seek(0, io.SEEK_END)
    with _in_one_sentence(name):
        check_upload(size, name)
    file.seek(0)
    return file.read()


def _of_archive(content: bytes) -> dict[str, bytes]:
    """An npz is itself; of a bundle, its two parts that are data."""
    with _in_one_sentence("The bundle cannot be read"), open_zip(io.BytesIO(content)) as archive:
        if not set(_BUNDLED) <= set(archive.namelist()):
            return {"npz": content}
        allowance = Allowance()
        members = [archive.getinfo(part) for part in _BUNDLED]
        for member in members:
            allowance.take(member.file_size, f"{member.filename} in the bundle")
        record, arrays = (read_member(archive, member) for member in members)
        return {"json": record, "npz": arrays}


def _check_arrays(content: bytes) -> None:
    """Refuse arrays that are larger than they say, too large, or no plain numbers and text, before any is read."""
    with _in_one_sentence("The calibrator's npz cannot be read"):
        with open_zip(io.BytesIO(content)) as archive:
            others = [name for name in archive.namelist() if not name.endswith(".npy")]
        if others:
            raise CalibrationError(
                f"The calibrator's npz holds {others[0][:80]!r}, which is no array; export it again."
            )
        contents, allowance = NpzContents("the calibrator's npz", io.BytesIO(content), Allowance()), Allowance()
        for array in contents.arrays:
            dtype = np.dtype(array.dtype) if array.dtype != "object" else np.dtype(object)
            if dtype.kind not in _PLAIN:
                raise CalibrationError(
                    f"The calibrator's array {array.name[:80]!r} holds {array.dtype[:80]}, not plain numbers or text; "
                    "nothing in an upload is unpickled."
                )
            allowance.take(dtype.itemsize * int(np.prod(array.shape, dtype=object)), f"The array {array.name[:80]!r}")


def _check_class_count(record: str) -> None:
    """Refuse a number of classes that nothing was fitted on, before any name is made for each."""
    found = json.loads(record)
    state = found.get("state") if isinstance(found, dict) else None
    n_classes = state.get("n_classes_") if isinstance(state, dict) else None
    if type(n_classes) is not int or not 2 <= n_classes <= MAX_CLASSES:
        raise CalibrationError(
            f"The json is no calibrator's record: it names {n_classes!r:.40} classes, and there can be 2 to "
            f"{MAX_CLASSES:,}."
        )


def _check_record(made: ExportedCalibrator) -> None:
    """Refuse a floor, metadata or a standardisation that nothing could have been fitted with."""
    if made.floor is not None and not (isinstance(made.floor, float) and 0.0 < made.floor < 1.0):
        raise CalibrationError(f"The calibrator's floor is {made.floor!r:.40}, and no probability between 0 and 1.")
    if not isinstance(made.metadata, dict):
        raise CalibrationError("The calibrator's metadata are no list of names and values; export it again.")
    for array in (made.feature_mean, made.feature_scale):
        if array is not None and not (array.dtype.kind == "f" and np.isfinite(array).all()):
            raise CalibrationError("The calibrator's standardisation of features is not made of finite numbers.")


def _check_behaviour(made: ExportedCalibrator) -> None:
    """Let it predict a few rows: whatever its state says, probabilities have to come out."""
    if made.needs_features:
        return  # judged on the fresh rows themselves, which bring features
    logits = np.random.default_rng(0).normal(scale=3.0, size=(8, made.n_classes))
    probs = made.calibrator.predict_proba(logits)
    if not (np.isfinite(probs).all() and probs.min() >= -ROUNDING and probs.max() <= 1 + ROUNDING):
        raise CalibrationError("The calibrator's record does not make probabilities; export it again.")


@contextmanager
def _in_one_sentence(start: str) -> Iterator[None]:
    """Whatever goes wrong with what others wrote becomes one sentence."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except CalibrationError:
        raise
    except Rejected as rejected:
        raise CalibrationError(f"{rejected.finding.message} {rejected.finding.action}".strip()) from None
    except (Exception, RecursionError, MemoryError) as error:
        raise CalibrationError(
            f"{start} ({type(error).__name__}); it was damaged or changed, so export the calibrator again."
        ) from error
