"""A data set, a finished fit and a finished study as folders, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calib.data import Predictions
from calib.errors import CalibrationError
from calib.evaluation.kinds import STUDIES
from calib.export.flat_state import flatten, unflatten
from calib.jobs import FitSpec, Job, TaskSpec
from calib.registry import calibrator
from calib.workspace.arrays import read_folder, write_folder
from calib.workspace.folders import Damaged, Items
from calib.workspace.tables import put_together, taken_apart

ARRAYS = (
    "logits",
    "labels",
    "given_split",
    "groups",
    "features",
    "train_features",
    "train_labels",
    "feature_mean",
    "feature_scale",
)
PLAIN = ("class_names", "kind", "floor")
COSTS = ("seconds", "cpu_seconds", "message")
"""What a finished job says of itself beside its result."""


def put_data(items: Items, data: Predictions, **options: Any) -> None:
    """Store a data set under its hash.

    Its name and findings are not part of its content: another person may have given the same bytes another name.
    """
    arrays = {name: array for name in ARRAYS if (array := getattr(data, name)) is not None}
    record, _ = flatten({name: getattr(data, name) for name in PLAIN})
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
        made = calibrator(record["method"], **record["params"])
        for name, value in unflatten(record["state"], arrays).items():
            if not name.endswith("_") or name.startswith("_"):
                raise Damaged(f"The stored fit holds {name!r}, which is nothing that a method learns.")
            setattr(made, name, value)
    except (Damaged, CalibrationError, KeyError, TypeError, AttributeError) as error:
        items.remove("fits", spec.key)
        raise Damaged(str(error)) from error
    return _done(spec, record, made)


def put_study(items: Items, job: Job, **options: Any) -> None:
    """Store the table of a study that is done under the study's key."""
    columns, arrays = taken_apart(job.result)
    record = {"columns": columns, **_costs(job)}
    items.put("studies", job.key, lambda folder: write_folder(folder, record, arrays), **options)


def get_study(items: Items, kind: str, spec: TaskSpec) -> Job | None:
    """The job of a stored study of this kind, done, or None if there is none; raises as :func:`get_data` does."""
    folder = items.find("studies", spec.key)
    if folder is None:
        return None
    try:
        record, arrays = read_folder(folder)
        table = put_together(record["columns"], arrays)
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
