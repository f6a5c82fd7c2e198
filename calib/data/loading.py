"""Load Predictions, with every inferred option and every finding."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from calib.canonical import class_order
from calib.data.build.predictions import build
from calib.data.findings import Findings, InvalidUpload, in_order, shortened
from calib.data.guess.files import SOURCE
from calib.data.options import OPTIONS, Choices, LoadOptions, Source, changed_options
from calib.data.predictions import Predictions, check_consistent
from calib.data.read.base import ArrayInfo, Contents, missing_packages
from calib.data.read.files import in_memory, open_file, open_source, reads_isolated
from calib.data.read.table import FIRST_ROWS
from calib.data.roles import Question, TableReading
from calib.data.upload import Files, align_files, guess_file, open_files, read_arrays
from calib.errors import AmbiguousTable, CalibrationWarning, DataError, Finding
from calib.outputs import check_index

T = TypeVar("T")

APART = os.name == "posix"
"""True where files can be read by a process of their own."""


def check_choices(choices: Choices) -> None:
    """Refuse a value of the wrong type, or one that is not allowed, as InvalidUpload that says what it may be."""
    for name, declared in OPTIONS.items():
        value, values = getattr(choices, name), declared["type"]
        if value is not None and not values.fits(value):
            chosen = shortened(repr(value))
            reason = f"{name} was chosen as {chosen}, but must be {values.expected}."
            action = "Choose another value, or leave it out to have it inferred."
            raise InvalidUpload("choice", reason, action)
    if choices.floor is not None and not 0 < choices.floor < 1:
        reason = f"The floor {choices.floor:g} is not a probability between 0 and 1."
        raise InvalidUpload("floor", reason, "Choose a small one.")


@contextmanager
def findings_as_error() -> Iterator[None]:
    """Turn InvalidUpload into a DataError."""
    try:
        with missing_packages():
            yield
    except InvalidUpload as invalid:
        readings = invalid.question.readings if invalid.question else ()
        raise unusable((invalid.finding,), readings) from None


def unusable(findings: Sequence[Finding], readings: Sequence[TableReading]) -> DataError:
    """The error for an upload that cannot be used, or for a table that can be read in several ways."""
    return AmbiguousTable(findings, readings) if readings else DataError(findings)


@dataclass(frozen=True)
class Inspection:
    """Contents of an upload and how they were understood.

    Attributes
    ----------
    arrays : what the file holds, whether used or not.
    choices : how it was read, with the inferred options as far as they were reached.
    findings : what was noticed; the errors first.
    predictions : the data set, or None if there is an error.
    readings : ways to read a table that can be read in several, the most plausible first; empty where it was read.
    rows : the first cells of each column of a table, as text; empty for files of arrays.
    models : the roles of each model, where a table has columns for several.
    """

    arrays: tuple[ArrayInfo, ...]
    choices: Choices
    findings: tuple[Finding, ...]
    predictions: Predictions | None
    readings: tuple[TableReading, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    models: Mapping[str, dict[str, object]] = field(default_factory=dict)


def inspect(source: Source, options: LoadOptions | None = None, **changes: Any) -> Inspection:
    """Read an upload and say what was understood; bad content gives findings, never an exception.

    The libraries that read HDF5, Parquet and Arrow are written in C and C++, where a damaged file can end the process,
    take all its memory or never come to an end. Files of strangers are read with ``isolate=True``, HDF5 on Linux in any
    case but with ``isolate=False``.

    Parameters
    ----------
    source : the model's outputs, with the labels unless these have their own file.
    options : the other files and how all are read; everything that is not chosen is inferred.
    **changes : fields of the options, such as ``isolate``, and single fields of their choices such as
        ``kind="logits"``. ``labels`` is a file here; the array of this name is chosen with
        ``choices=Choices(labels="y")``, and the columns of a table with
        ``roles={"outcome": "default", "outputs": "pd"}``.

    Returns
    -------
    Inspection
        With the data set under ``predictions``, unless there is an error.
    """
    if not isinstance(options, LoadOptions | None):
        reason = f"A {type(options).__name__} stands where options belong."
        action = (
            "Give arrays as calib.from_outputs(outputs, labels), and a file of labels as labels=."
        )
        return Inspection((), Choices(), (InvalidUpload("options", reason, action).finding,), None)
    options = changed_options(options or LoadOptions(), **changes)
    try:
        isolated = reads_isolated(options.isolate, source, *options.files.values())
        inspection = _isolated(source, options) if isolated else inspect_all(source, options)
    except InvalidUpload as invalid:
        return Inspection((), options.choices, (invalid.finding,), None)
    except DataError as error:
        return Inspection((), options.choices, tuple(error.findings), None)
    data = inspection.predictions
    return inspection if data is None else replace(inspection, predictions=data.identified())


def _isolated(source: Source, options: LoadOptions) -> Inspection:
    """An inspection in a process of its own, whose answer holds what an inspection promises, whoever wrote it."""
    check_choices(options.choices)
    with ExitStack() as stack:
        files: dict[str, Any] = {"": source, **options.files}
        for name, file in files.items():
            files[name] = file if file is None or in_memory(file) else open_file(file, stack)
        inspection = in_a_reader(inspect_all, files.pop(""), replace(options, **files))
    if inspection.predictions is not None:
        check_consistent(inspection.predictions)
    return inspection


def in_a_reader(task: Callable[..., T], *arguments: Any) -> T:
    """Return the result of a task in a process of its own; see :func:`calib.isolation.client.isolated`."""
    if not APART:
        reason = "Files cannot be read in a process of their own on this system."
        raise InvalidUpload("isolation", reason, "Read it without isolate.")
    from calib.isolation.client import isolated  # its modules are those of POSIX

    return isolated(task, *arguments)


def inspect_all(source: Source, options: LoadOptions) -> Inspection:
    """Inspect without computing the hash of the data."""
    choices = options.choices
    findings: Findings = ()
    question = Question()
    files: Files = {}
    predictions = None
    # Overflow and invalid numbers become findings; NumPy's warnings about them would only fill the log.
    with np.errstate(all="ignore"), ExitStack() as stack:
        try:
            with missing_packages():
                check_choices(choices)
                first = open_source(source, choices, stack)
                files = {SOURCE: first}
                files, choices, findings = open_files(first, options, stack)
                files, choices, more = align_files(files, choices)
                findings += more
                chosen = choices
                choices, roles, more = guess_file(files[SOURCE], files.get("labels"), chosen)
                findings += more
                part, choices, more = read_arrays(files, choices, chosen, roles)
                findings += more
                predictions, choices = build(part, choices, PurePath(first.name).stem)
                findings = in_order((*findings, *predictions.findings))
                predictions = replace(predictions, findings=findings)
        except InvalidUpload as invalid:
            findings = in_order((*findings, invalid.finding))
            question = invalid.question or question
        rows = first_rows(files[SOURCE]) if files else {}
    arrays = (replace(info, file=file.name) for file in files.values() for info in file.arrays)
    question_parts = question.readings, rows, question.models
    return Inspection(tuple(arrays), choices, findings, predictions, *question_parts)


def first_rows(contents: Contents) -> dict[str, tuple[str, ...]]:
    """The first cells of each column of a table, as text of a few characters; nothing for files of arrays."""
    if not contents.tabular:
        return {}
    try:
        sample = contents.sample()
    except InvalidUpload:  # which was said where it was read
        return {}
    first = {name: cells[:FIRST_ROWS].tolist() for name, cells in sample.items()}
    return {name: tuple(map(_in_a_cell, cells)) for name, cells in first.items()}


def _in_a_cell(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if value is None or text in ("nan", "NaT"):
        return ""
    return text if len(text) <= 40 and text.isprintable() else shortened(text)


def load(source: Source, options: LoadOptions | None = None, **changes: Any) -> Predictions:
    """Read a data set; the one-line form of :func:`inspect`, whose parameters it takes.

    Without ``isolate=True`` the file is parsed in this process, which a damaged Parquet file can end; HDF5 on Linux is
    parsed in this process with ``isolate=False`` alone.

    Parameters
    ----------
    source : str, Path, DataFrame, mapping or tuple
        Model outputs, with the labels unless these have their own file: a path, a table in memory, arrays by name, or a
        file name with its bytes or an open binary file.
    options : LoadOptions or None, default None
        The other files and how all are read; everything that is not chosen is inferred.
    **changes
        Fields of the options and of their choices, such as ``kind="logits"``; see :func:`calib.data.inspect`.

    Returns
    -------
    Predictions
        With what was noticed under ``findings``; those of level "warning" are Python warnings too.

    Raises
    ------
    DataError
        If the upload cannot be used; its ``findings`` say why and what to do.
    AmbiguousTable
        If a table can be read in several ways; its ``readings`` say in which, and what each would give.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"p_cat": [0.9, 0.2, 0.6], "p_dog": [0.1, 0.8, 0.4], "label": ["cat", "dog", "dog"]})
    >>> data = load(table)
    >>> data.class_names, data.labels.tolist()
    (('cat', 'dog'), [0, 1, 1])
    """
    return _with_warnings(load_quietly(source, options, **changes))


def load_quietly(source: Source, options: LoadOptions | None = None, **changes: Any) -> Predictions:
    """:func:`load` for callers that display the findings."""
    inspection = inspect(source, options, **changes)
    if inspection.predictions is None:
        raise unusable(inspection.findings, inspection.readings)
    return inspection.predictions


def _with_warnings(data: Predictions) -> Predictions:
    """Warn of what may invalidate results, in the line that called :func:`load` or :func:`from_outputs`."""
    for finding in data.findings:
        if finding.level == "warning":
            text = f"{finding.message} {finding.action}".strip()
            warnings.warn(text, CalibrationWarning, stacklevel=3)
    return data


def from_outputs(
    data: Any,
    labels: Any = None,
    *,
    name: str | None = None,
    class_names: Sequence[Any] | None = None,
    **changes: Any,
) -> Predictions:
    """Held-out predictions from what a session has at hand.

    Parameters
    ----------
    data : array_like, DataFrame, str, Path or Predictions
        (n, n_classes) probabilities or logits, or the (n,) of one class of two, as an array, a DataFrame or a tensor;
        without ``labels`` what :func:`calib.load` takes, such as a path or a DataFrame that holds the outcome too, the
        two as a pair, or data that were loaded before.
    labels : array_like of shape (n,) or None, default None
        True classes: numbers of columns in the order of ``class_names``, or the texts of these; of a DataFrame whose
        columns are named by numbers or truth values, as ``p_1``, these.
    name : str or None, default None
        How pages call the data; of a file its own name unless given.
    class_names : sequence or None, default None
        One for each column; by default the columns of a DataFrame, where these are texts, as ``low`` for ``p_low``. The
        columns' own names in another order say which order that is.
    **changes
        Options of :func:`calib.load`, such as ``kind="logits"``.

    Returns
    -------
    Predictions
        With what was noticed under ``findings``.

    Raises
    ------
    DataError
        If they cannot be used; the text says why and what to do.

    Examples
    --------
    >>> data = from_outputs([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], ["no", "yes", "yes"])
    >>> data.kind, data.class_names, data.labels.tolist()
    ('probabilities', ('no', 'yes'), [0, 1, 1])
    """
    predictions = predictions_from(data, labels, name=name, class_names=class_names, **changes)
    return predictions if isinstance(data, Predictions) else _with_warnings(predictions)


def predictions_from(
    data: Any,
    labels: Any = None,
    *,
    name: str | None = None,
    class_names: Sequence[Any] | None = None,
    **changes: Any,
) -> Predictions:
    """:func:`from_outputs` for callers that display the findings."""
    check_index(data, labels)
    is_pair = labels is None and isinstance(data, (tuple, list)) and len(data) == 2
    if is_pair and not isinstance(data[0], (str, dict)):
        data, labels = data
    if isinstance(data, Predictions):
        if labels is not None or class_names is not None or changes:
            loaded = "The data were loaded before, with their labels and options."
            action = "Give them alone, or the arrays in their place."
            raise DataError([Finding("error", "source", loaded, action)])
        return replace(data, name=name or data.name)
    for what, values in (("labels", labels), ("class_names", class_names)):
        if np.isscalar(values) or getattr(values, "ndim", 1) == 0:
            single = f"{what} is a single value, {shortened(repr(values))}."
            raise DataError([Finding("error", "shape_0d", single, "Give a list of them.")])
    name = None if name is None else str(name)
    if getattr(labels, "shape", ())[1:] == (1,):
        labels = np.asarray(labels)[:, 0]
    names = None if class_names is None else tuple(map(str, class_names))
    texts = labels is not None and all(isinstance(label, str) for label in labels)
    columns = [*map(str, getattr(data, "columns", ()))]
    settled = changes.get("label_values") is not None
    if labels is not None and names is not None and columns and not settled:
        order = class_order(columns, names)
        data = data if order == sorted(order) else data[[data.columns[place] for place in order]]
    if texts and names is None and not {*labels}.isdisjoint(columns):
        names = tuple(columns)
    if names is not None:
        changes["class_names"] = names
        if texts and not settled:
            changes["label_values"] = names
    source = data if labels is None else {"outputs": data, "labels": labels}
    predictions = load_quietly(source, **changes)
    return replace(
        predictions, name=name or ("predictions" if in_memory(source) else predictions.name)
    )
