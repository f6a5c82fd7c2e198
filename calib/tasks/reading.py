"""Tasks of a file: its problems are found by a reader, and built here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calib.data import Choices, Inspection, Predictions, inspect
from calib.data.findings import InvalidUpload, listed
from calib.data.loading import findings_as_error, in_a_reader
from calib.data.names import names_model
from calib.data.options import Source
from calib.data.read.base import Array, Contents
from calib.data.read.files import in_memory, open_file, open_source, reads_isolated
from calib.data.upload import is_id
from calib.numerics import Ints
from calib.tasks import shapes
from calib.tasks.shapes import Columns, Problem, Subtable
from calib.tasks.tasks import TaskKind, Tasks

FEWEST_ROWS = 20
"""Labelled answers of a task that can be judged."""
MOST_VERSIONS = 3
"""Versions of a model that are named."""
RUN = re.compile(r"^samples_|_\d{4}-\d\d-\d\dT[\d.:-]+$")
"""Beginning and end of a file's name that lm-evaluation-harness puts around the task's."""
CARRIED = {"weight": "weights", "group": "groups", "time": "times", "cluster": "clusters"}
"""Options that name columns beside the tasks, by role."""


@dataclass(frozen=True)
class Read:
    """Problems of a file, as a reader hands them back.

    Attributes
    ----------
    kind : what the tasks are.
    problems : each by its name.
    clusters : independent unit of each shared row.
    clustered : whether these are of a column that was named.
    version : model that the file names.
    beside : columns that belong to no task.
    """

    kind: TaskKind
    problems: Mapping[str, Problem | Subtable]
    clusters: Ints
    clustered: bool
    version: str
    beside: Mapping[str, Array]


def tasks_of(
    source: Source,
    cluster: str | None = None,
    labels: Source | None = None,
    isolate: bool | None = None,
) -> Tasks:
    """Read all prediction problems of a file or table.

    Read are logs of decisions (``answers`` by question beside ``labels``), long tables with a column ``question``,
    ``task``, ``criterion`` or ``model``, pairs of columns (``fraud, fraud_p``; ``gpt_confidence, gpt_correct``), a
    matrix of probabilities beside one of 0 and 1, outputs of several models beside one outcome, scorers of an
    evaluation log, and folders with a file for each task. Weights, groups, times and clusters come with each task.

    Parameters
    ----------
    source : str, Path, DataFrame or tuple
        As for :func:`calib.load`, or a folder of files that :func:`calib.load` reads.
    cluster : str or None, default None
        Column whose rows belong together; rows with the same id are one row in any case.
    labels : str, Path, DataFrame, tuple or None, default None
        File or table with labels by the id of the rows.
    isolate : bool or None, default None
        As for :func:`calib.load`: whether files are parsed in a process with limits.

    Returns
    -------
    Tasks
        Tasks with labels under their names, the others under ``reasons``.

    Raises
    ------
    DataError
        If the table holds no several tasks, or an id twice.
    """
    if isinstance(source, (str, Path)) and Path(source).is_dir():
        return _folder(Path(source), isolate)
    with findings_as_error(), ExitStack() as stack:  # of files that cannot be opened
        if reads_isolated(isolate, source, labels):
            files = [
                file if file is None or in_memory(file) else open_file(file, stack)
                for file in (source, labels)
            ]
            read = in_a_reader(read_problems, files[0], cluster, files[1])
        else:
            read = read_problems(source, cluster, labels)
    return _built(read)


def read_problems(source: Source, cluster: str | None, labels: Source | None) -> Read:
    """Find the problems of a file; runs in a reader where files are untrusted.

    Raises
    ------
    DataError
        If there are no several, or an id twice.
    """
    with findings_as_error(), ExitStack() as stack:
        contents = open_source(source, Choices(), stack)
        columns = dict(_readable(contents))
        ids = next((name for name in columns if is_id(name) and columns[name].ndim == 1), None)
        keys = shapes.task_columns(columns)
        if labels is not None:
            others = open_source(labels, Choices(), stack)
            columns = _with_labels(columns, contents.name, dict(_readable(others)), others.name)
        n = len(next(iter(columns.values()), ()))
        shared = np.arange(n)
        problems: dict[str, Problem | Subtable]
        kind: TaskKind = "questions"
        if problems := {**dict(shapes.logged(columns))}:
            keys = []
        elif keys:
            rows = ids or next((name for name in columns if _names_rows(name, keys)), None)
            if rows is not None:
                shared = np.unique(columns[rows], return_inverse=True)[1]
            kind, problems = (
                shapes.kind_of_tasks(keys),
                {**dict(shapes.long(columns, keys, shared))},
            )
        elif len(pairs := dict(shapes.paired(columns))) > 1:
            correct = all(problem.kind == "pairs" for problem in pairs.values())
            kind, problems = ("models" if correct else "labels"), {**pairs}
        elif matrix := dict(shapes.matrices(columns)):
            kind, problems = "labels", {**matrix}
        elif scored := dict(shapes.scorers(columns)):
            problems = {**scored}
        else:
            kind, problems = "models", {**dict(shapes.models(columns))}
        if not problems:
            reason = f"{contents.name} holds one problem, or none: {listed([*columns])}."
            action = (
                "Name pairs of columns as fraud and fraud_p. One problem is judged by calib audit; the app's page "
                "Decide certifies its threshold."
            )
            raise InvalidUpload("tasks", reason, action)
        if ids is not None:
            _refuse_twins(_keyed(columns, [ids, *keys]), contents.name)
        if cluster is not None and cluster not in columns:
            reason = f"{contents.name} has no column {cluster!r}."
            raise InvalidUpload("no_such_array", reason, f"Choose of {listed([*columns])}.")
    clusters = np.arange(shared.max(initial=-1) + 1)
    if cluster is not None:
        clusters[shared] = np.unique(columns[cluster], return_inverse=True)[1]
    used = {
        name
        for problem in problems.values()
        if isinstance(problem, Problem)
        for name in problem.used
    }
    beside = {
        name: cells
        for name, cells in columns.items()
        if cells.shape == (n,) and name not in used and not name.startswith(("answers_", "labels_"))
    }
    version = _version(columns, keys)
    return Read(kind, problems, clusters, cluster is not None, version, beside)


def _names_rows(name: str, keys: list[str]) -> bool:
    """Return whether a column holds many questions that several models answered."""
    return shapes.is_question(name) and name not in keys


def _readable(contents: Contents) -> Iterator[tuple[str, Array]]:
    """Columns of numbers or texts; lists, such as the choices that a model had, belong to no task."""
    for name in contents.names:
        with suppress(InvalidUpload):
            yield name, contents.read(name)


def _with_labels(columns: Columns, name: str, others: Columns, other_name: str) -> Columns:
    """Columns beside those of a second file, by the id of their rows.

    Raises
    ------
    InvalidUpload
        If they share no id, or one stands in two rows.
    """
    ids = [column for column in columns if column in others and is_id(column)][:1]
    if not ids:
        reason = f"{name} and {other_name} share no column of ids."
        raise InvalidUpload("ids_differ", reason, "Give both a column id.")
    keys = ids + [key for key in shapes.task_columns(columns) if key in others]
    theirs = _keyed(others, keys)
    _refuse_twins(theirs, other_name)
    place = {key: row for row, key in enumerate(theirs)}
    rows = np.array([place.get(key, -1) for key in _keyed(columns, keys)], int)
    if (rows < 0).all():
        reason = f"No {ids[0]} of {name} occurs in {other_name}."
        raise InvalidUpload("ids_differ", reason, "Use files of the same rows.")
    joined = dict(columns)
    for column, cells in others.items():
        if column not in keys:
            absent: Any = "" if cells.dtype.kind == "U" else np.nan
            joined[column] = np.where(rows < 0, absent, cells[rows])
    return joined


def _keyed(columns: Columns, names: list[str]) -> list[tuple[str, ...]]:
    """Values of some columns in each row, as text: 7 in one file is "7" in another."""
    parts = []
    for name in names:
        cells = columns[name]
        whole = cells.dtype.kind == "f" and (np.floor(cells) == cells).all()
        parts.append((cells.astype(int) if whole else cells).astype(str).tolist())
    return [*zip(*parts, strict=True)]


def _refuse_twins(keys: list[tuple[str, ...]], file: str) -> None:
    """Refuse two rows with one id.

    Raises
    ------
    InvalidUpload
        With the numbers of their lines.
    """
    first: dict[tuple[str, ...], int] = {}
    has_header = file.lower().endswith((".csv", ".tsv", ".txt"))
    for number, key in enumerate(keys):
        before = first.setdefault(key, number)
        if before != number:
            lines = f"{before + 1 + has_header:,} and {number + 1 + has_header:,}"
            reason = f"Lines {lines} of {file} have the same id, {key[0]!r}."
            raise InvalidUpload("twins", reason, "Keep one of them, or give each an id of its own.")


def _version(columns: Columns, keys: list[str]) -> str:
    """Names of the model in a column of its own; empty where there is none, or many names."""
    for name, cells in columns.items():
        if name not in keys and names_model(name) and cells.dtype.kind == "U":
            names = [text for text in np.unique(cells).tolist() if text]
            return ", ".join(names) if len(names) <= MOST_VERSIONS else ""
    return ""


@dataclass
class _Collected:
    """Tasks as they are built, with the attributes of :class:`Tasks`."""

    predictions: dict[str, Predictions] = field(default_factory=dict)
    rows: dict[str, Ints] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)
    labelled: dict[str, int] = field(default_factory=dict)

    def tasks(self, kind: TaskKind, clusters: Ints, models: Mapping[str, str]) -> Tasks:
        """Return the tasks, each with its model."""
        for name, data in self.predictions.items():
            self.predictions[name] = replace(data, model=models[name])
        return Tasks(kind=kind, clusters=clusters, models=models, **vars(self))

    def add(self, name: str, data: Predictions | None, rows: Ints, reason: str) -> None:
        """Keep a task, or why it cannot be judged."""
        if data is None or reason:
            self.reasons[name] = reason
            return
        self.predictions[name] = replace(data, name=name)
        self.rows[name] = rows


def _built(read: Read) -> Tasks:
    """Tasks of problems; those that cannot be judged with their reasons."""
    collected = _Collected()
    roles: dict[str, object] = {}
    carried: tuple[Columns, dict[str, Any]] | None = None
    for name, problem in read.problems.items():
        if isinstance(problem, Subtable):
            roles = _add_subtable(collected, name, problem, roles)
        else:
            if carried is None:
                carried = _carried(read, problem)
            _add_problem(collected, name, problem, *carried)
    clusters = read.clusters
    data = next(iter(collected.predictions.values()), None)
    if not read.clustered and data is not None and data.clusters is not None:
        clusters = _units(collected, clusters)
    elif read.clustered:
        for name, data in collected.predictions.items():
            units = clusters[collected.rows[name]].astype(str)
            collected.predictions[name] = replace(data, clusters=units).identified()
    models = {name: name if read.kind == "models" else read.version for name in read.problems}
    return collected.tasks(read.kind, clusters, models)


def _units(collected: _Collected, clusters: Ints) -> Ints:
    """Unit of each shared row by the clusters that the tasks were read with."""
    names = np.array([f"row {row}" for row in clusters], dtype=object)
    for name, data in collected.predictions.items():
        if data.clusters is not None:
            names[collected.rows[name]] = data.clusters.astype(object)
    units: Ints = np.unique(names.astype(str), return_inverse=True)[1]
    return units


def _carried(read: Read, problem: Problem) -> tuple[Columns, dict[str, Any]]:
    """Columns beside the tasks that say something of their rows, and the options that name them."""
    if problem.labels is None or not read.beside:
        return {}, {}
    outputs = problem.outputs.reshape(len(problem.outputs), -1).max(axis=1)
    answered = np.isfinite(outputs) & shapes.is_there(problem.labels)
    correct = np.arange(len(outputs)) % 2
    table = {**read.beside, "confidence": outputs, "correct": correct}
    table = {name: cells[answered] for name, cells in table.items()}
    roles = {"outputs": "confidence", "outcome": "correct"}
    predictions = inspect(shapes.arrow(table), roles=roles, kind="pairs").predictions
    if predictions is None:
        return {}, {}
    named = {role.column: role.role for role in predictions.roles if role.column in read.beside}
    chosen: dict[str, Any] = {}
    for role, option in CARRIED.items():
        columns = tuple(column for column, named_role in named.items() if named_role == role)
        if columns:
            chosen[option] = columns[0]
    if predictions.weight_kind is not None:
        chosen["weight_kind"] = predictions.weight_kind
    carried = {*CARRIED, "metadata"}
    return {name: read.beside[name] for name, role in named.items() if role in carried}, chosen


def _add_problem(
    collected: _Collected, name: str, problem: Problem, others: Columns, options: dict[str, Any]
) -> None:
    """Build a task of outputs and labels."""
    n = len(problem.outputs)
    outputs = problem.outputs.reshape(n, -1)
    answered = np.isfinite(outputs).all(axis=1)
    refused = np.zeros(n, bool) if problem.refused is None else problem.refused
    labelled = np.zeros(n, bool) if problem.labels is None else shapes.is_there(problem.labels)
    used = answered & labelled
    collected.left_out[name] = {
        "refused": int((refused & ~answered).sum()),
        "no answer": int((~refused & ~answered).sum()),
        "no label": int((answered & ~labelled).sum()),
    }
    collected.labelled[name] = int(used.sum())
    labels = np.zeros(0) if problem.labels is None else problem.labels[used]
    rows = np.flatnonzero(used)
    if reason := _reason(outputs[used], labels):
        collected.add(name, None, rows, reason)
        return
    outcome = "labels" if name in (*others, "outputs") else name  # which names the event
    arrays: dict[str, Any] = {"outputs": problem.outputs[used], outcome: _plain(labels)}
    names = problem.class_names
    classes: dict[str, Any] = {} if names is None else {"class_names": names, "label_values": names}
    further = {column: cells[used] for column, cells in others.items()}
    about = {"kind": problem.kind, "outputs": "outputs", **classes}
    chosen = Choices(labels=outcome, **about, **options)
    inspection = inspect({**further, **arrays}, choices=chosen)
    data = inspection.predictions
    if data is None or len(data) != len(rows):  # a column beside it is at fault
        inspection = inspect(arrays, choices=Choices(labels=outcome, **about))
        data = inspection.predictions
    whole = data is not None and len(data) == len(rows)
    reason = "" if whole else inspection.findings[0].message.rstrip(".")
    collected.add(name, data, rows, reason)


def _add_subtable(
    collected: _Collected, name: str, table: Subtable, earlier: Mapping[str, object]
) -> dict[str, object]:
    """Build a task that is read as a file of its own; returns the roles of its columns for the next."""
    n = len(table.rows)
    if n < FEWEST_ROWS:
        collected.left_out[name] = {}
        collected.labelled[name] = n
        collected.add(name, None, table.rows, _few(n))
        return dict(earlier)
    inspection = inspect(shapes.arrow(table.columns), roles={**earlier, **table.roles})
    if inspection.predictions is None and earlier:
        inspection = inspect(shapes.arrow(table.columns), roles=dict(table.roles))
    data, reason = _usable(inspection)
    used = np.zeros(n, bool)
    roles: dict[str, Any] = dict(earlier)
    if data is not None:
        roles = {}
        for entry in data.roles:
            if entry.role in ("outcome", "outputs", "predicted"):
                roles[entry.role] = (*roles.get(entry.role, ()), entry.column)
        columns = [table.columns[column] for column in roles["outputs"] + roles["outcome"]]
        used = np.all([shapes.is_there(cells) for cells in columns], axis=0)
        if used.sum() != len(data):
            used = np.arange(n) < len(data)
    collected.left_out[name] = {"refused": 0, "no answer": 0, "no label": n - int(used.sum())}
    collected.labelled[name] = int(used.sum())
    collected.add(name, data, table.rows[used], reason)
    return {} if table.roles else roles


def _folder(folder: Path, isolate: bool | None) -> Tasks:
    """Tasks of a folder, a file each, which share no rows.

    Raises
    ------
    DataError
        If fewer than two files hold outputs.
    """
    collected = _Collected()
    start = 0
    paths = sorted(path for path in folder.rglob("*.json*") if path.is_file())
    samples = [path for path in paths if path.name.startswith("samples_")] or paths
    models: dict[str, str] = {}
    names = [RUN.sub("", path.stem) for path in samples]
    for path, name in zip(samples, names, strict=True):
        data, reason = _usable(inspect(path, isolate=isolate))
        n = 0 if data is None else len(data)
        if names.count(name) > 1:  # of several models, or of several runs
            name = f"{path.parent.name}{shapes.BETWEEN}{path.stem.removeprefix('samples_')}"
        models[name] = "" if data is None else data.model
        if path.parent != folder:
            models[name] = path.parent.name
        collected.add(name, data, np.arange(start, start + n), reason)
        collected.labelled[name] = n
        collected.left_out[name] = {}
        start += n
    if len(collected.predictions) < 2:
        with findings_as_error():
            reason = f"{folder.name} holds {len(samples):,} files of answers that can be read."
            raise InvalidUpload("tasks", reason, "Give a folder with a file for each task.")
    return collected.tasks("questions", np.arange(start), models)


def _usable(inspection: Inspection) -> tuple[Predictions | None, str]:
    """Data of a table or file, and why they cannot be judged."""
    data = inspection.predictions
    if data is None:
        return None, inspection.findings[0].message.rstrip(".")
    return data, _reason(data.logits, np.array(data.class_names)[data.labels])


def _reason(outputs: Array, labels: Array) -> str:
    """Return why rows cannot be judged, or nothing."""
    if not len(labels):
        return "no labels"
    if len(labels) < FEWEST_ROWS:
        return _few(len(labels))
    if len(np.unique(labels)) == 1:
        return f"one value, {labels[0]}"
    return "constant score" if (outputs == outputs[0]).all() else ""


def _few(n: int) -> str:
    return f"{n} rows, fewer than {FEWEST_ROWS}"


def _plain(labels: Array) -> Array:
    """Whole numbers and truth values as integers, also where these are text for the sake of blanks beside them."""
    if labels.dtype.kind == "U" and {*np.unique(labels).tolist()} == {"true", "false"}:
        return (labels == "true").astype(int)
    if labels.dtype.kind == "b" or (labels.dtype.kind == "f" and (labels % 1 == 0).all()):
        return labels.astype(int)
    return labels
