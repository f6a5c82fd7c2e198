"""Named arrays and a record as files of one folder: npy and JSON with checksums, and nothing that runs code."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from calib.workspace.folders import Damaged, write_file

FORMAT = 1
RECORD = "record.json"
MAPPED = 1 << 20
"""Bytes from which an array stays on disk; a smaller one is worth more in memory than as an open file."""


def write_folder(folder: Path, record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write into an empty folder; the bytes of an array go to the file straight from memory.

    Parameters
    ----------
    record : what JSON can hold.
    arrays : by name; no objects among them.
    """
    files = {}
    for number, (name, array) in enumerate(arrays.items()):
        path = folder / f"{number}.npy"
        with open(path, "xb") as file:
            np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        files[name] = {"file": path.name, "sha256": _digest(path)}
    content = {"format": FORMAT, "record": dict(record), "arrays": files}
    text = json.dumps({**content, "sha256": _digest_of(content)}, ensure_ascii=False)
    write_file(folder / RECORD, text.encode())


def read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Undo :func:`write_folder`. Large arrays are mapped from their files: read-only, and shared by all who open them.

    Raises
    ------
    Damaged
        If anything is missing or is not as it was written.
    """
    try:
        content = json.loads((folder / RECORD).read_bytes())
        expected = content.pop("sha256")
        if content["format"] != FORMAT or expected != _digest_of(content):
            raise Damaged(f"{folder.parent.name}/{folder.name[:12]} is of another format or was changed on disk.")
        arrays = {}
        for name, entry in content["arrays"].items():
            path = folder / Path(entry["file"]).name
            if _digest(path) != entry["sha256"]:
                raise Damaged(f"{path.name} of {folder.parent.name}/{folder.name[:12]} was changed on disk.")
            arrays[name] = _read(path)
        return content["record"], arrays
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise Damaged(
            f"{folder.parent.name}/{folder.name[:12]} cannot be read ({type(error).__name__}); it was damaged on disk."
        ) from error


def _read(path: Path) -> np.ndarray:
    mode: Literal["r"] | None = "r" if path.stat().st_size >= MAPPED else None
    return np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False))


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
