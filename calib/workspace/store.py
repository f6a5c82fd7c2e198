"""A data set, a finished fit and a finished study as stored files, and back.

A table is a record of its columns, with their order, types and texts, and an array for each column of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calib.canonical import Kind
from calib.data import Predictions
from calib.data.checks.report import InvalidUpload
from calib.data.event import Event
from calib.data.interpret.roles import ROW_ROLES, ColumnRole
from calib.data.options import WeightKind
from calib.data.predictions import as_outputs
from calib.data.scales import Scale
from calib.diagnostics.judgement import from_state, state_of
from calib.errors import CalibrationError
from calib.evaluation.studies import STUDIES
from calib.jobs import FitSpec, Job, TaskSpec
from calib.jobs.tasks import Fitted
from calib.records import BadRecord as BadMessage
from calib.records import flatten, unflatten
from calib.records import unflatten as typed
from calib.registry import calibrator
from calib.top_k import TopK
from calib.workspace.content import read_content, write_content
from calib.workspace.files import Damaged, Items, Unreadable
from calib.workspace.files import Kind as Stored

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = "biuf"
"""Kinds of arrays that are a column; all else must be text."""
MISSING: dict[str, object] = {"str": float("nan"), "object": None}
"""What stands for no text, by the type of the column."""

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
TOP_K = "top_k."
"""Before the names of the arrays of a top k, which stand in place of the logits."""
_NOT_AS_WRITTEN = "What is stored does not hold what it should; it was damaged on disk."


@dataclass(frozen=True)
class DataRecord:
    """What is stored of a data set beside its arrays."""

    class_names: tuple[str, ...]
    kind: Kind
    scale: Scale | None
    floor: float | None
    weight_kind: WeightKind | None
    event: Event | None
    roles: tuple[ColumnRole, ...]


@dataclass(frozen=True)
class Costs:
    """What a finished job says of itself beside its result."""

    seconds: float
    cpu_seconds: float
    message: str


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


def put_data(items: Items, data: Predictions, **options: Any) -> None:
    """Store a data set under its hash.

    Its name and findings are not part of its content: another person may have given the same bytes another name.
    """
    arrays = {name: array for name in ARRAYS if (array := getattr(data, name)) is not None}
    logits: Any = arrays["logits"]
    if isinstance(logits, TopK):
        del arrays["logits"]
        arrays |= {f"{TOP_K}{name}": array for name, array in logits.arrays().items()}
    about = DataRecord(**{each.name: getattr(data, each.name) for each in fields(DataRecord)})
    record, _ = flatten(asdict(about))
    items.put("data", data.sha256, lambda file: write_content(file, record, arrays), **options)


def get_data(items: Items, sha256: str) -> Predictions | None:
    """A stored data set, mapped from disk, or None if there is none.

    Raises
    ------
    Damaged
        If it is not as it was stored; it is removed, so that the next upload stores it anew.
    Unreadable
        If the disk does not answer; it stays.
    """
    path = items.find("data", sha256)
    if path is None:
        return None
    with _removed_if_damaged(items, "data", sha256):
        record, arrays = read_content(path)
        about: DataRecord = typed(record, {}, DataRecord)
        if about.kind == "topk":
            held = {name.removeprefix(TOP_K): arrays.pop(name) for name in list(arrays) if name.startswith(TOP_K)}
            return _with_top_k(about, TopK(**held, n_classes=len(about.class_names)), arrays, sha256)
        _check_arrays(about, arrays)
        return Predictions(**vars(about), **cast(Any, arrays), sha256=sha256)


def _with_top_k(about: DataRecord, outputs: TopK, arrays: Mapping[str, Any], sha256: str) -> Predictions:
    """A stored data set of the top k of very many classes; raises Damaged unless it is one."""
    data = Predictions(**vars(about), **arrays, logits=as_outputs(outputs), sha256=sha256)
    try:
        data.check()
    except InvalidUpload as error:
        raise Damaged(_NOT_AS_WRITTEN) from error
    return data


def put_fit(items: Items, job: Job, **options: Any) -> None:
    """Store the calibrator of a fit that is done, with its judgement where there is one, under the fit's key."""
    assert isinstance(job.spec, FitSpec)
    assert job.calibrator is not None
    job.calibrator.check_state()
    judged = None if job.judgement is None else state_of(job.judgement)
    outline, arrays = flatten({"state": job.calibrator.get_state(), "judgement": judged})
    record = {**outline, **_costs(job)}
    items.put("fits", job.key, lambda file: write_content(file, record, arrays), **options)


def get_fit(items: Items, spec: FitSpec) -> Job | None:
    """The job of a stored fit, done, or None if there is none; raises as :func:`get_data` does."""
    path = items.find("fits", spec.key)
    if path is None:
        return None
    with _removed_if_damaged(items, "fits", spec.key):
        record, arrays = read_content(path)
        fitted = calibrator(spec.method, **spec.params)
        fitted.set_state(unflatten(record["state"], arrays))
        judged = unflatten(record.get("judgement"), arrays)
        return _done(spec, record, Fitted(fitted, None if judged is None else from_state(judged)))


def put_study(items: Items, job: Job, **options: Any) -> None:
    """Store the table of a study that is done under the study's key."""
    columns, arrays = columns_and_arrays(job.result)
    record = {"columns": columns, **_costs(job)}
    items.put("studies", job.key, lambda file: write_content(file, record, arrays), **options)


def get_study(items: Items, kind: str, spec: TaskSpec) -> Job | None:
    """The job of a stored study of this kind, done, or None if there is none; raises as :func:`get_data` does."""
    path = items.find("studies", spec.key)
    if path is None:
        return None
    with _removed_if_damaged(items, "studies", spec.key):
        record, arrays = read_content(path)
        table = table_from(typed(record["columns"], {}, list[Mapping[str, Any]]), arrays)
        if tuple(table.columns) != STUDIES[kind].columns:
            raise Damaged("The stored study has other columns than this version gives it.")
        return _done(spec, record, table)


@contextmanager
def _removed_if_damaged(items: Items, kind: Stored, name: str) -> Iterator[None]:
    try:
        yield
    except Unreadable:
        raise
    except (
        Damaged,
        BadMessage,
        CalibrationError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        with suppress(OSError):
            items.remove(kind, name)
        raise Damaged(_NOT_AS_WRITTEN) from error


def _costs(job: Job) -> dict[str, Any]:
    return {"costs": asdict(Costs(job.seconds, job.cpu_seconds, job.message))}


def _done(spec: FitSpec | TaskSpec, record: dict[str, Any], result: Any) -> Job:
    done = Job(spec.key, spec, state="done", fraction=1.0, result=result)
    return replace(done, **vars(typed(record["costs"], {}, Costs)))


def _check_arrays(about: DataRecord, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise Damaged unless these are the arrays of one data set."""
    (n, n_classes), labels = arrays["logits"].shape, arrays["labels"]
    of_rows = [arrays[name] for name in ("labels", "given_split", "features", *ROW_ROLES) if name in arrays]
    if not (
        arrays.keys() <= set(ARRAYS)
        and arrays["logits"].dtype.kind == "f"
        and n_classes == len(about.class_names)
        and all(array.ndim and len(array) == n for array in of_rows)
        and labels.ndim == 1
        and labels.dtype == np.int64
        and (not n or (labels.min() >= 0 and labels.max() < n_classes))
    ):
        raise Damaged(_NOT_AS_WRITTEN)
