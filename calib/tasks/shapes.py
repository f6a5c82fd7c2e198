"""Shapes of files with several tasks: logs of decisions, long tables, pairs of columns, matrices, several models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.canonical import Kind
from calib.data import inspect
from calib.data.guess.columns import Column
from calib.data.guess.metadata import LEAST_OF_PROBLEM, names_models
from calib.data.names import tokens
from calib.data.read.base import Array
from calib.data.words import (
    CONFIDENCE,
    CORRECT,
    LABEL,
    MISSING,
    PREDICTED,
    PROBABILITY,
    PROBLEM,
    TRUTH,
)
from calib.metrics.confidence import Bools
from calib.numerics import Ints
from calib.tasks.tasks import TaskKind

ANSWERS = PREDICTED | {"answer", "verdict", "choice"}
UNIT = CONFIDENCE | PROBABILITY
TASK_WORDS = PROBLEM | {"task"}
"""Words that alone name a column with the task of each row."""
BETWEEN = " · "
"""Between the names of a row's model and question, where a table has both."""

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
    refused : (n,) whether the model refused.
    used : names of its columns.
    """

    outputs: Array
    labels: Array | None
    kind: Kind
    class_names: tuple[str, ...] | None = None
    refused: Bools | None = None
    used: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subtable:
    """Table of one task, which is read as a file of its own.

    Attributes
    ----------
    columns : its columns.
    roles : roles of columns that are known; the others are inferred.
    rows : (n,) shared row of each row.
    """

    columns: Mapping[str, Array]
    roles: Mapping[str, object]
    rows: Ints


def logged(columns: Columns) -> Iterator[tuple[str, Problem]]:
    """Questions of a log of decisions."""
    for column in columns:
        if not (column.startswith("answers_") and column.endswith("_type")):
            continue
        name = column.removeprefix("answers_").removesuffix("_type")
        prefix = f"answers_{name}_"
        label = next((each for each in (f"labels_{name}", name) if each in columns), "")
        labels = columns.get(label)
        refusal = columns.get(f"{prefix}refusal")
        refused = None if refusal is None else is_there(refusal)
        every = f"{prefix}probabilities_"
        classes = tuple(each.removeprefix(every) for each in columns if each.startswith(every))
        kinds = {str(kind) for kind in np.unique(columns[column]) if kind}
        single = [f"{prefix}{field}" for field in ("probability", *sorted(kinds))]
        single = [each for each in single if in_unit(columns.get(each))]
        about: dict[str, Any] = {"refused": refused, "used": (label,)}
        if len(classes) > 1:
            outputs = np.column_stack([columns[every + each] for each in classes])
            yield name, Problem(outputs, labels, "probabilities", classes, **about)
        elif single:
            yield name, Problem(columns[single[0]], labels, "binary_probability", **about)
        elif f"{prefix}choice" in columns and in_unit(columns.get(f"{prefix}confidence")):
            right = None if labels is None else agrees(columns[f"{prefix}choice"], labels)
            yield name, Problem(columns[f"{prefix}confidence"], right, "pairs", **about)


def task_columns(columns: Columns) -> list[str]:
    """Columns of a long table that name the question or the model of each row."""
    keys = []
    for name, cells in columns.items():
        if cells.ndim > 1:
            continue
        column = Column(name, cells)
        several = is_question(name) and cells.dtype.kind in "UO"
        n = len(np.unique(cells)) if several else 0
        if names_models(column) or (n > 1 and n * LEAST_OF_PROBLEM <= len(cells)):
            keys.append(name)
    return keys


def is_question(name: str) -> bool:
    """Return whether a column is called question, task or criterion and nothing else."""
    return bool(tokens(name)) and {*tokens(name)} <= TASK_WORDS


def kind_of_tasks(keys: list[str]) -> TaskKind:
    """Questions, unless rows are told apart by their model alone."""
    return "questions" if any(map(is_question, keys)) else "models"


def named_tasks(columns: Columns, keys: list[str]) -> Array:
    """Name of each row's task."""
    parts = [[str(cell) or "(missing)" for cell in columns[key].tolist()] for key in keys]
    return np.array([BETWEEN.join(row) for row in zip(*parts, strict=True)])


def long(columns: Columns, keys: list[str], shared: Ints) -> Iterator[tuple[str, Subtable]]:
    """Tasks of a long table, in the order in which they begin."""
    task = named_tasks(columns, keys)
    rest = {name: cells for name, cells in columns.items() if name not in keys}
    roles = roles_by_name(rest)
    names, first = np.unique(task, return_index=True)
    for name in names[np.argsort(first)]:
        inside = task == name
        table = {column: cells[inside] for column, cells in rest.items()}
        yield str(name), Subtable(table, roles, shared[inside])


def roles_by_name(columns: Columns) -> dict[str, object]:
    """Roles of one confidence, the answer and the truth, where names leave no doubt; else none."""
    tokens_by_name = {name: {*tokens(name)} for name in columns}
    outputs = [
        name for name, own in tokens_by_name.items() if own & CONFIDENCE and in_unit(columns[name])
    ]
    answers = [
        name for name, own in tokens_by_name.items() if own & ANSWERS and name not in outputs
    ]
    truth = [
        name
        for name, own in tokens_by_name.items()
        if own & (TRUTH | LABEL) and name not in answers
    ]
    if len(outputs) != 1 or len(answers) != 1 or len(truth) != 1:
        return {}
    roles = {"outputs": outputs[0], "predicted": answers[0], "outcome": truth[0]}
    return {**roles, "kind": "pairs"}


def paired(columns: Columns) -> Iterator[tuple[str, Problem]]:
    """Tasks of pairs of columns: an outcome or whether it is correct, and its probability."""
    outcomes: dict[tuple[str, ...], tuple[str, Kind]] = {}
    for name, cells in columns.items():
        if cells.ndim == 1 and len({*np.unique(cells[is_there(cells)]).tolist()}) <= 2:
            parts = tokens(name)
            stem = tuple(part for part in parts if part not in CORRECT)
            outcomes[stem] = (name, "binary_probability" if len(stem) == len(parts) else "pairs")
    for name, cells in columns.items():
        parts = tokens(name)
        stem = tuple(part for part in parts if part not in UNIT)
        if len(stem) < len(parts) and stem in outcomes and in_unit(cells):
            outcome, kind = outcomes[stem]
            task = beginning(name, stem) if kind == "pairs" else outcome
            yield task, Problem(cells, columns[outcome], kind, used=(name, outcome))


def beginning(name: str, stem: tuple[str, ...]) -> str:
    """Beginning of a column's name that consists of some words, as it is spelled; else the words."""
    beginnings = (name[:end] for end in range(1, len(name)))
    return next((text for text in beginnings if tokens(text) == stem), "_".join(stem))


def matrices(columns: Columns) -> Iterator[tuple[str, Problem]]:
    """Labels of a matrix of probabilities beside a matrix of 0 and 1, as of a network with several sigmoids."""
    wide = {name: cells for name, cells in columns.items() if cells.ndim == 2}
    truths = [name for name, cells in wide.items() if np.isin(cells, (0, 1)).all()]
    truths = [name for name in truths if (wide[name].sum(axis=1) != 1).any()]
    outputs = [
        name
        for name, cells in wide.items()
        if name not in truths and ((cells >= 0) & (cells <= 1)).all()
    ]
    if len(truths) != 1 or len(outputs) != 1:
        return
    truth, output = wide[truths[0]], wide[outputs[0]]
    if truth.shape != output.shape:
        return
    count = output.shape[1]
    texts = [cells.tolist() for cells in columns.values() if cells.dtype.kind == "U"]
    names = next((text for text in texts if len(text) == len({*text}) == count), None)
    for j, name in enumerate(names or [f"label {j}" for j in range(count)]):
        labels = truth[:, j].astype(int)
        used = (truths[0], outputs[0])
        yield str(name), Problem(output[:, j], labels, "binary_probability", used=used)


def models(columns: Columns) -> Iterator[tuple[str, Subtable]]:
    """Models side by side with one outcome."""
    if len({cells.shape for cells in columns.values()}) != 1:
        return  # arrays, not columns of a table
    rows = np.arange(len(next(iter(columns.values()))))
    roles = inspect(arrow(columns)).models
    used = {name for each in roles.values() for name in names_of(each)}
    for name, own in roles.items():
        rest = {
            column: cells
            for column, cells in columns.items()
            if column in names_of(own) or column not in used
        }
        yield name, Subtable(rest, own, rows)


def scorer_columns(names: Iterable[str]) -> dict[str, str]:
    """Columns with the values of an evaluation log's scorers, by scorer."""
    return {
        name.removeprefix("scores_").removesuffix("_value"): name
        for name in names
        if name.startswith("scores_") and name.endswith("_value")
    }


def scorers(columns: Columns) -> Iterator[tuple[str, Subtable]]:
    """Scorers of an evaluation log beside one confidence."""
    values = scorer_columns(columns)
    outputs = [name for name, cells in columns.items() if {*tokens(name)} & UNIT and in_unit(cells)]
    if len(values) < 2 or len(outputs) != 1:
        return
    rows = np.arange(len(columns[outputs[0]]))
    rest = {name: cells for name, cells in columns.items() if not name.startswith("scores_")}
    for scorer, value in values.items():
        roles = {"outcome": value, "outputs": outputs[0]}
        yield scorer, Subtable(rest | {value: columns[value]}, roles, rows)


def arrow(columns: Mapping[str, Array]) -> Any:
    """Columns as a table of Arrow."""
    import pyarrow as pa

    return pa.table({name: pa.array(cells) for name, cells in columns.items() if cells.ndim == 1})


def names_of(roles: Mapping[str, object]) -> tuple[str, ...]:
    """Columns with the roles of outcome and outputs."""
    values = [roles[role] for role in ("outcome", "outputs", "predicted") if role in roles]
    return tuple(
        str(name)
        for value in values
        for name in ((value,) if isinstance(value, str) else value)  # type: ignore[attr-defined]
    )


def is_there(cells: Array) -> Bools:
    """Mask of the cells that hold a value."""
    if cells.dtype.kind in "fiub":
        return np.isfinite(cells)
    return np.array([str(cell).strip() not in MISSING | {""} for cell in cells.tolist()], bool)


def in_unit(cells: Array | None) -> bool:
    """Return whether numbers lie in [0, 1], where there are any."""
    if cells is None or cells.dtype.kind not in "fiu" or cells.ndim > 1:
        return False
    finite = cells[np.isfinite(cells)]
    return bool(((finite >= 0) & (finite <= 1)).all())


def agrees(answers: Array, labels: Array) -> Array:
    """1 where an answer is the label, 0 where it is not, NaN where there is no label."""
    same = np.array(
        [str(a) == str(b) for a, b in zip(answers.tolist(), labels.tolist(), strict=True)]
    )
    return np.where(is_there(labels), same.astype(float), np.nan)
