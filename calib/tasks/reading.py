"""The tasks of a file: logs of decisions, long tables with a column that names the task, and pairs of columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.canonical import Kind
from calib.data import Choices, inspect
from calib.data.array_names import canonical
from calib.data.build.join import is_id
from calib.data.findings import InvalidUpload, listed
from calib.data.loading import findings_as_error
from calib.data.names import tokens
from calib.data.options import Source
from calib.data.read.base import Array, Contents
from calib.data.read.files import open_source
from calib.data.words import CONFIDENCE, CORRECT, LABEL, MISSING, PREDICTED, PROBABILITY, TRUTH
from calib.metrics.confidence import Bools
from calib.numerics import Ints
from calib.tasks.tasks import TaskKind, Tasks

FEWEST_ROWS = 20
"""Labelled answers of a task that can be judged."""
MOST_VERSIONS = 3
"""Versions of a model that are named."""
TASK_COLUMNS: dict[str, TaskKind] = {
    "question": "questions",
    "task": "questions",
    "criterion": "questions",
    "model": "models",
}
"""Names of a column that names the task of each row."""
ANSWERS = PREDICTED | {"answer", "verdict", "choice"}
UNIT = CONFIDENCE | PROBABILITY

Columns = dict[str, Array]


@dataclass(frozen=True)
class Problem:
    """Outputs and labels of one task before rows without either are left out.

    Attributes
    ----------
    outputs : (n,) probabilities or confidences, or (n, n_classes) probabilities.
    labels : (n,) labels; None where there are none.
    kind : form of the outputs.
    class_names : names of the columns of outputs.
    rows : (n,) shared row of each row.
    refused : (n,) whether the model refused.
    """

    outputs: Array
    labels: Array | None
    kind: Kind
    class_names: tuple[str, ...] | None = None
    rows: Ints | None = None
    refused: Bools | None = None


def tasks_of(source: Source, cluster: str | None = None) -> Tasks:
    """Read all prediction problems of a file or table.

    Read are logs of decisions (``answers`` by question beside ``labels``), long tables with a column ``question``,
    ``task``, ``criterion`` or ``model``, pairs of columns (``fraud, fraud_p``; ``gpt_confidence, gpt_correct``), and
    outputs of several models beside one outcome.

    Parameters
    ----------
    source : str, Path, DataFrame or tuple
        As for :func:`calib.load`.
    cluster : str or None, default None
        Column whose rows belong together; rows with the same id are one row in any case.

    Returns
    -------
    Tasks
        Tasks with labels under their names, the others under ``reasons``.

    Raises
    ------
    DataError
        If the table holds no several tasks, or an id twice.
    """
    with findings_as_error(), ExitStack() as stack:
        contents = open_source(source, Choices(), stack)
        columns = dict(_readable(contents))
        n = len(next(iter(columns.values()), ()))
        ids = next((name for name in columns if is_id(name)), None)
        key = _task_column(columns)
        if logged := dict(_logged(columns)):
            kind, problems = TASK_COLUMNS["question"], logged
        elif key is not None:
            kind, problems = TASK_COLUMNS[canonical(key).base], {}
        elif len(paired := dict(_paired(columns))) > 1:
            correct = all(problem.kind == "pairs" for problem in paired.values())
            kind, problems = ("models" if correct else "labels"), paired
        else:
            kind, problems = "models", dict(_models(source, columns))
        parts = () if ids is None else (columns[ids], *(() if key is None else (columns[key],)))
        _refuse_twins(parts, contents.name)
        shared = np.arange(n)
        if key is not None:
            if ids is not None:
                shared = np.unique(columns[ids], return_inverse=True)[1]
            problems = dict(_long(columns, key, shared))
        if not problems:
            reason = f"{contents.name} holds one problem, or none: {listed([*columns])}."
            action = "Name pairs of columns as fraud and fraud_p, or read it by calib.load."
            raise InvalidUpload("tasks", reason, action)
        clusters = np.arange(shared.max() + 1)
        if cluster is not None:
            if cluster not in columns:
                reason = f"{contents.name} has no column {cluster!r}."
                raise InvalidUpload("no_such_array", reason, f"Choose of {listed([*columns])}.")
            clusters[shared] = np.unique(columns[cluster], return_inverse=True)[1]
    return _built(kind, problems, clusters, cluster is not None, _version(columns, key))


def _built(
    kind: TaskKind, problems: dict[str, Problem], clusters: Ints, clustered: bool, version: str
) -> Tasks:
    """Tasks of problems; those that cannot be judged with their reasons."""
    predictions, rows, reasons, left_out, n_labelled = {}, {}, {}, {}, {}
    for name, problem in problems.items():
        n = len(problem.outputs)
        shared = np.arange(n) if problem.rows is None else problem.rows
        outputs = problem.outputs.reshape(n, -1)
        answered = np.isfinite(outputs).all(axis=1)
        refused = np.zeros(n, bool) if problem.refused is None else problem.refused
        labelled = np.zeros(n, bool) if problem.labels is None else _is_there(problem.labels)
        used = answered & labelled
        left_out[name] = {
            "refused": int((refused & ~answered).sum()),
            "no answer": int((~refused & ~answered).sum()),
            "no label": int((answered & ~labelled).sum()),
        }
        n_labelled[name] = int(used.sum())
        labels = np.zeros(0) if problem.labels is None else problem.labels[used]
        if reason := _reason(outputs[used], labels):
            reasons[name] = reason
            continue
        arrays: dict[str, Any] = {"outputs": problem.outputs[used], "labels": _plain(labels)}
        if clustered:
            arrays["clusters"] = clusters[shared[used]]
        names = problem.class_names
        options: dict[str, Any] = (
            {} if names is None else {"class_names": names, "label_values": names}
        )
        found = inspect(arrays, kind=problem.kind, **options)
        if found.predictions is None or len(found.predictions) != used.sum():
            reasons[name] = found.findings[0].message.rstrip(".")
            continue
        predictions[name] = replace(found.predictions, name=name)
        rows[name] = shared[used]
    models = {name: name if kind == "models" else version for name in problems}
    return Tasks(kind, predictions, rows, clusters, reasons, left_out, n_labelled, models)


def _version(columns: Columns, key: str | None) -> str:
    """Names of the model in a column of its own; empty where there is none, or many names."""
    for name, cells in columns.items():
        if name != key and tokens(name)[-1:] == ("model",) and cells.dtype.kind in "UO":
            names = [one for one in np.unique(cells).tolist() if one]
            return ", ".join(names) if len(names) <= MOST_VERSIONS else ""
    return ""


def _readable(contents: Contents) -> Iterator[tuple[str, Array]]:
    """Columns of numbers or texts; lists, such as the choices that a model had, belong to no task."""
    for name in contents.names:
        with suppress(InvalidUpload):
            yield name, contents.read(name)


def _reason(outputs: Array, labels: Array) -> str:
    """Return why rows cannot be judged, or nothing."""
    if not len(labels):
        return "no labels"
    if len(labels) < FEWEST_ROWS:
        return f"{len(labels)} rows, fewer than {FEWEST_ROWS}"
    if len(np.unique(labels)) == 1:
        return f"one value, {labels[0]}"
    return "constant score" if (outputs == outputs[0]).all() else ""


def _logged(columns: Columns) -> Iterator[tuple[str, Problem]]:
    """Questions of a log of decisions."""
    for column in columns:
        if not (column.startswith("answers_") and column.endswith("_type")):
            continue
        name = column.removeprefix("answers_").removesuffix("_type")
        own = f"answers_{name}_"
        labels = columns.get(f"labels_{name}")
        refusal = columns.get(f"{own}refusal")
        refused = None if refusal is None else _is_there(refusal)
        every = f"{own}probabilities_"
        classes = tuple(each.removeprefix(every) for each in columns if each.startswith(every))
        kinds = {str(kind) for kind in np.unique(columns[column]) if kind}
        single = [f"{own}{field}" for field in ("probability", *sorted(kinds))]
        single = [each for each in single if _in_unit(columns.get(each))]
        if len(classes) > 1:
            outputs = np.column_stack([columns[every + each] for each in classes])
            yield name, Problem(outputs, labels, "probabilities", classes, refused=refused)
        elif single:
            yield name, Problem(columns[single[0]], labels, "binary_probability", refused=refused)
        elif f"{own}choice" in columns and _in_unit(columns.get(f"{own}confidence")):
            right = None if labels is None else _agrees(columns[f"{own}choice"], labels)
            yield name, Problem(columns[f"{own}confidence"], right, "pairs", refused=refused)


def _task_column(columns: Columns) -> str | None:
    """Column of a long table that names the task of each row."""
    for name, cells in columns.items():
        named = canonical(name).base in TASK_COLUMNS and cells.dtype.kind in "UO"
        if named and 1 < len(np.unique(cells)) <= len(cells) / 2:
            return name
    return None


def _long(columns: Columns, key: str, shared: Ints) -> Iterator[tuple[str, Problem]]:
    """Tasks of a long table.

    Raises
    ------
    InvalidUpload
        Unless one column is a confidence or probability and one the outcome.
    """
    rest = {name: {*tokens(name)} for name in columns if name != key}
    outputs = [name for name, t in rest.items() if t & UNIT and _in_unit(columns[name])]
    correct = [name for name, t in rest.items() if t & CORRECT and name not in outputs]
    answers = [name for name, t in rest.items() if t & ANSWERS and name not in outputs + correct]
    truth = [
        name
        for name, t in rest.items()
        if t & (TRUTH | LABEL) and name not in outputs + correct + answers
    ]
    if len(outputs) != 1 or len(correct or truth) != 1 or (not correct and len(answers) > 1):
        reason = f"Of {listed([*rest])} several or none are the confidence, or the outcome."
        action = "Call them confidence and correct; or confidence, answer and label."
        raise InvalidUpload("tasks", reason, action)
    values = columns[(correct or truth)[0]]
    pairs = bool(correct or answers)
    if not correct and answers:
        values = _agrees(columns[answers[0]], values)
    first = np.unique(columns[key], return_index=True)
    for name in first[0][np.argsort(first[1])]:
        own = columns[key] == name
        kind: Kind = "pairs" if pairs else "binary_probability"
        yield str(name), Problem(columns[outputs[0]][own], values[own], kind, rows=shared[own])


def _paired(columns: Columns) -> Iterator[tuple[str, Problem]]:
    """Tasks of pairs of columns: an outcome or whether it is correct, and its probability."""
    outcomes: dict[tuple[str, ...], tuple[str, Kind]] = {}
    for name, cells in columns.items():
        if len({*np.unique(cells[_is_there(cells)]).tolist()}) <= 2:
            parts = tokens(name)
            stem = tuple(part for part in parts if part not in CORRECT)
            outcomes[stem] = (name, "binary_probability" if len(stem) == len(parts) else "pairs")
    for name, cells in columns.items():
        parts = tokens(name)
        stem = tuple(part for part in parts if part not in UNIT)
        if len(stem) < len(parts) and stem in outcomes and _in_unit(cells):
            outcome, kind = outcomes[stem]
            task = _prefix(name, stem) if kind == "pairs" else outcome
            yield task, Problem(cells, columns[outcome], kind)


def _prefix(name: str, stem: tuple[str, ...]) -> str:
    """Beginning of a column's name that consists of some words, as it is spelled; else the words."""
    beginnings = (name[:end] for end in range(1, len(name)))
    return next((text for text in beginnings if tokens(text) == stem), "_".join(stem))


def _models(source: Source, columns: Columns) -> Iterator[tuple[str, Problem]]:
    """Models with one outcome."""
    for name, roles in inspect(source).models.items():
        outputs, outcome = roles["outputs"], str(roles["outcome"])
        names = (outputs,) if isinstance(outputs, str) else tuple(outputs)  # type: ignore[arg-type]
        values = np.column_stack([columns[each] for each in names]).astype(float)
        if len(names) == 1:
            yield name, Problem(values[:, 0], columns[outcome], "binary_probability")
        else:
            yield name, Problem(values, columns[outcome], "probabilities")


def _refuse_twins(parts: tuple[Array, ...], file: str) -> None:
    """Refuse two rows with one id.

    Raises
    ------
    InvalidUpload
        With the numbers of their lines.
    """
    if not parts:
        return
    first: dict[tuple[Any, ...], int] = {}
    has_header = file.lower().endswith((".csv", ".tsv", ".txt"))
    for number, row in enumerate(zip(*(part.tolist() for part in parts), strict=True)):
        before = first.setdefault(row, number)
        if before != number:
            lines = f"{before + 1 + has_header:,} and {number + 1 + has_header:,}"
            reason = f"Lines {lines} of {file} have the same id, {row[0]!r}."
            raise InvalidUpload("twins", reason, "Keep one of them, or give each an id of its own.")


def _is_there(cells: Array) -> Bools:
    """Which cells hold a value."""
    if cells.dtype.kind in "fiub":
        return np.isfinite(cells)
    return np.array([str(cell).strip() not in MISSING | {""} for cell in cells.tolist()])


def _in_unit(cells: Array | None) -> bool:
    """Whether numbers lie in [0, 1], where there are any."""
    if cells is None or cells.dtype.kind not in "fiu" or cells.ndim > 1:
        return False
    known = cells[np.isfinite(cells)]
    return bool(((known >= 0) & (known <= 1)).all())


def _agrees(answers: Array, labels: Array) -> Array:
    """1 where an answer is the label, 0 where it is not, NaN where there is no label."""
    same = np.array(
        [str(a) == str(b) for a, b in zip(answers.tolist(), labels.tolist(), strict=True)]
    )
    return np.where(_is_there(labels), same.astype(float), np.nan)


def _plain(labels: Array) -> Array:
    """Whole numbers and truth values as integers."""
    if labels.dtype.kind == "b" or (labels.dtype.kind == "f" and (labels % 1 == 0).all()):
        return labels.astype(int)
    return labels
