"""A data set, a finished fit and a finished study as folders, and back.

A folder holds named arrays (npy) and a JSON record with checksums; nothing in it runs code. A table is a record of its
columns, with their order, types and texts, and an array for each column of numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calib.data import Predictions
from calib.data.event import Event
from calib.data.interpret.roles import ROW_ROLES, ColumnRole
from calib.errors import CalibrationError
from calib.evaluation.studies import STUDIES
from calib.export.archive import flatten, unflatten
from calib.jobs import FitSpec, Job, TaskSpec
from calib.registry import calibrator
from calib.workspace.folders import Damaged, Items, write_file

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = "biuf"
"""Kinds of arrays that are a column; all else must be text."""
MISSING: dict[str, object] = {"str": float("nan"), "object": None}
"""What stands for no text, by the type of the column."""

FORMAT = 1
RECORD = "record.json"
MAPPED = 1 << 20
"""Bytes from which an array stays on disk; a smaller one is worth more in memory than as an open file."""
ARRAYS = (
    "logits",
    "labels",
    "given_split",
    *ROW_ROLES,
    "features",
    "train_features",
    "train_labels",
    "feature_mean",
    "feature_scale",
)
PLAIN = ("class_names", "kind", "scale", "floor", "weight_kind")
COSTS = ("seconds", "cpu_seconds", "message")
"""What a finished job says of itself beside its result."""


def columns_and_arrays(table: pd.DataFrame) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """The columns as JSON can hold them, without the numbers, and those of numbers by name.

    Raises
    ------
    ValueError
        For a table that could not be put together exactly: with names for its rows, columns of one name, or one that
        is neither numbers nor text.
    """
    import pandas as pd

    names = table.columns
    if not (
        table.index.equals(pd.RangeIndex(len(table))) and names.is_unique and all(isinstance(n, str) for n in names)
    ):
        raise ValueError("A table whose rows have names, or whose columns have none of their own, cannot be stored.")
    columns: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for name in names:
        column = table[name]
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in NUMBERS:
            arrays[name] = column.to_numpy()
            columns.append({"name": name})
        else:
            columns.append({"name": name, "type": str(column.dtype), "text": _texts(column)})
    return columns, arrays


def table_from(columns: Sequence[Mapping[str, Any]], arrays: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Undo :func:`columns_and_arrays`; ValueError, KeyError or TypeError for what it cannot have given."""
    import pandas as pd

    series: dict[str, Any] = {}
    for column in columns:
        if "text" not in column:
            series[column["name"]] = arrays[column["name"]]
            continue
        missing = MISSING[column["type"]]
        if not all(text is None or isinstance(text, str) for text in column["text"]):
            raise TypeError("A column of text holds something else.")
        texts = [missing if text is None else text for text in column["text"]]
        series[column["name"]] = pd.Series(texts, dtype=column["type"])
    return pd.DataFrame(series)


def _texts(column: pd.Series[Any]) -> list[str | None]:
    kind, texts = str(column.dtype), column.tolist()
    if kind == "str":
        texts = [None if gap else text for text, gap in zip(texts, column.isna(), strict=True)]
    if kind not in MISSING or not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError(f"The column {column.name} is neither numbers nor text, and cannot be stored.")
    return texts


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


def put_data(items: Items, data: Predictions, **options: Any) -> None:
    """Store a data set under its hash.

    Its name and findings are not part of its content: another person may have given the same bytes another name.
    """
    arrays = {name: array for name in ARRAYS if (array := getattr(data, name)) is not None}
    plain = {name: getattr(data, name) for name in PLAIN}
    plain["event"] = None if data.event is None else asdict(data.event)
    plain["roles"] = [asdict(role) for role in data.roles]
    record, _ = flatten(plain)
    items.put("data", data.sha256, lambda folder: write_folder(folder, record, arrays), **options)


def get_data(items: Items, sha256: str) -> Predictions | None:
    """A stored data set, mapped from disk, or None if there is none.

    Raises
    ------
    Damaged
        If it is not as it was stored; it is removed, so that the next upload stores it anew.
    """
    folder = items.find("data", sha256)
    if folder is None:
        return None
    try:
        record, arrays = read_folder(folder)
        record["class_names"] = tuple(record["class_names"])
        record["event"] = None if record["event"] is None else Event(**record["event"])
        record["roles"] = tuple(ColumnRole(**role) for role in record["roles"])
        fields: dict[str, Any] = {**record, **arrays}
        return Predictions(**fields, sha256=sha256)
    except (Damaged, TypeError, KeyError) as error:
        items.remove("data", sha256)
        raise Damaged(str(error)) from error


def put_fit(items: Items, job: Job, **options: Any) -> None:
    """Store the calibrator of a fit that is done under the fit's key."""
    assert isinstance(job.spec, FitSpec)
    assert job.calibrator is not None
    outline, arrays = flatten(job.calibrator.get_state())
    params, _ = flatten(dict(job.spec.params))
    record = {"method": job.spec.method, "params": params, "state": outline, **_costs(job)}
    items.put("fits", job.key, lambda folder: write_folder(folder, record, arrays), **options)


def get_fit(items: Items, spec: FitSpec) -> Job | None:
    """The job of a stored fit, done, or None if there is none; raises as :func:`get_data` does."""
    folder = items.find("fits", spec.key)
    if folder is None:
        return None
    try:
        record, arrays = read_folder(folder)
        fitted = calibrator(record["method"], **record["params"])
        for name, value in unflatten(record["state"], arrays).items():
            if not name.endswith("_") or name.startswith("_"):
                raise Damaged(f"The stored fit holds {name!r}, which is nothing that a method learns.")
            setattr(fitted, name, value)
    except (Damaged, CalibrationError, KeyError, TypeError, AttributeError) as error:
        items.remove("fits", spec.key)
        raise Damaged(str(error)) from error
    return _done(spec, record, fitted)


def put_study(items: Items, job: Job, **options: Any) -> None:
    """Store the table of a study that is done under the study's key."""
    columns, arrays = columns_and_arrays(job.result)
    record = {"columns": columns, **_costs(job)}
    items.put("studies", job.key, lambda folder: write_folder(folder, record, arrays), **options)


def get_study(items: Items, kind: str, spec: TaskSpec) -> Job | None:
    """The job of a stored study of this kind, done, or None if there is none; raises as :func:`get_data` does."""
    folder = items.find("studies", spec.key)
    if folder is None:
        return None
    try:
        record, arrays = read_folder(folder)
        table = table_from(record["columns"], arrays)
        if tuple(table.columns) != STUDIES[kind].columns:
            raise Damaged("The stored study has other columns than this version gives it.")
        return _done(spec, record, table)
    except (Damaged, ValueError, KeyError, TypeError, AttributeError) as error:
        items.remove("studies", spec.key)
        raise Damaged(str(error)) from error


def _costs(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in COSTS}


def _done(spec: FitSpec | TaskSpec, record: dict[str, Any], result: Any) -> Job:
    done = Job(spec.key, spec, state="done", fraction=1.0, result=result)
    return replace(done, **{name: record[name] for name in COSTS})
