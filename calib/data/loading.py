"""Loading: from files to Predictions, of one model or of several, with every inferred option and every finding."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from calib.canonical import class_order
from calib.data.assemble.arrays import (
    Arrays,
    check_names,
    read_any,
    read_aside,
    read_class_names,
    read_part,
    read_rows,
)
from calib.data.assemble.beside import METADATA, MOST_METADATA, ROW_ROLES, few_valued
from calib.data.assemble.join import joined
from calib.data.assemble.outputs import ask_whether_percent
from calib.data.assemble.parts import (
    in_file,
    left_to_files,
    named_by_file,
    named_part,
    one_after_the_other,
    with_features,
)
from calib.data.assemble.predicted import correct_answers
from calib.data.assemble.predictions import predictions_of_arrays
from calib.data.assemble.top_k import CONFIDENCE, CORRECT, read_as_pairs
from calib.data.findings import InvalidUpload, Notes, left_out_as, listed, shortened, warning
from calib.data.guess.arrays import infer_arrays, infer_label
from calib.data.guess.names import class_names as names_in_common
from calib.data.guess.names import has
from calib.data.guess.question import infer_columns
from calib.data.options import FEATURE_FILES, OPTIONS, Choices, LoadOptions, Source, names_in
from calib.data.predictions import Predictions
from calib.data.read.base import Array, ArrayInfo, Contents, missing_packages
from calib.data.read.files import in_memory, open_file, open_source, reads_apart
from calib.data.read.table import FIRST_ROWS, Table
from calib.data.roles import ColumnRole, Question, TableReading
from calib.data.words import WEIGHT
from calib.errors import AmbiguousTable, DataError, Finding

T = TypeVar("T")

APART = os.name == "posix"
"""Whether this system can have files read by a process of their own."""


def check_choices(choices: Choices) -> None:
    """Refuse a value of the wrong type, or one that is not allowed, as InvalidUpload that says what it may be."""
    for name, value in choices.given().items():
        values = OPTIONS[name]["type"]
        if not values.fits(value):
            reason = (
                f"{name} was chosen as {shortened(repr(value))}, but must be {values.expected}."
            )
            raise InvalidUpload(
                "choice", reason, "Choose another value, or leave it out to have it inferred."
            )
    if choices.floor is not None and not 0 < choices.floor < 1:
        reason = f"The floor {choices.floor:g} is not a probability between 0 and 1."
        raise InvalidUpload("floor", reason, "Choose a small one.")


@contextmanager
def findings_as_error(notes: Notes) -> Iterator[None]:
    """Turn InvalidUpload into a DataError with all findings."""
    try:
        with missing_packages():
            yield
    except InvalidUpload as invalid:
        notes.add(invalid.finding)
        raise unusable(
            notes.findings, invalid.question.readings if invalid.question else ()
        ) from None


def unusable(findings: Sequence[Finding], readings: Sequence[TableReading]) -> DataError:
    """The error for an upload that cannot be used, or for a table that can be read in several ways."""
    return AmbiguousTable(findings, readings) if readings else DataError(findings)


@dataclass(frozen=True)
class Inspection:
    """What an upload holds and how it was understood.

    Attributes
    ----------
    arrays : tuple of ArrayInfo
        What the file holds, whether used or not.
    choices : Choices
        How it was read, with the inferred options as far as they were reached.
    findings : tuple of Finding
        What was noticed; the errors first.
    predictions : Predictions or None
        The data set, or None if there is an error.
    readings : tuple of TableReading
        Ways to read a table that can be read in several, the most plausible first; empty where it was read.
    rows : mapping of str to tuple of str
        The first cells of each column of a table, as text; empty for files of arrays.
    models : mapping of str to dict
        The roles of each model, where a table has columns for several.
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
    source : str, Path, DataFrame, mapping or tuple
        The model's outputs, with the labels unless these have their own file.
    options : LoadOptions or None, default None
        The other files and how all are read; everything that is not chosen is inferred.
    **changes
        Fields of the options, such as ``isolate``, and single fields of their choices such as ``kind="logits"``.
        ``labels``, ``features``, ``train_features`` and ``train_labels`` are files here; the arrays of these names are
        chosen with ``choices=Choices(labels="y")``, and the columns of a table with
        ``roles={"outcome": "default", "outputs": "pd"}``.

    Returns
    -------
    Inspection
        With the data set under ``predictions``, unless there is an error.
    """
    if not isinstance(options, LoadOptions | None):
        reason = f"A {type(options).__name__} stands where options belong."
        arrays = (
            "Give arrays as calib.from_outputs(outputs, labels), and a file of labels as labels=."
        )
        return Inspection((), Choices(), (InvalidUpload("options", reason, arrays).finding,), None)
    options = (options or LoadOptions()).changed(**changes)
    notes = Notes(options.choices)
    try:
        apart = reads_apart(options.isolate, source, *options.files.values())
        found = _isolated(source, options) if apart else inspect_all(source, options)
    except InvalidUpload as invalid:
        notes.add(invalid.finding)
    except DataError as error:
        notes.add(*error.findings)
    else:
        data = found.predictions
        return found if data is None else replace(found, predictions=data.identified())
    return Inspection((), notes.choices, notes.findings, None)


def _isolated(source: Source, options: LoadOptions) -> Inspection:
    """An inspection in a process of its own, whose answer holds what an inspection promises, whoever wrote it."""
    check_choices(options.choices)
    with ExitStack() as stack:
        given = {
            "": source,
            **{name: file for name, file in options.files.items() if file is not None},
        }
        files: dict[str, Any] = {
            name: file if in_memory(file) else open_file(file, stack)
            for name, file in given.items()
        }
        answer = in_a_reader(inspect_all, files.pop(""), replace(options, **files))
    if answer.predictions is not None:
        answer.predictions.check()
    return answer


def in_a_reader(task: Callable[..., T], *arguments: Any) -> T:
    """What a task gives in a process of its own; see :func:`calib.isolation.client.isolated`."""
    if not APART:
        raise InvalidUpload(
            "isolation",
            "Files cannot be read in a process of their own on this system.",
            "Read it without isolate.",
        )
    from calib.isolation.client import isolated  # its modules are those of POSIX

    return isolated(task, *arguments)


def inspect_all(source: Source, options: LoadOptions) -> Inspection:
    """An inspection without the hash of its data, which is computed where these are used."""
    notes = Notes(options.choices)
    question = Question()
    files: list[Contents] = []
    predictions = None
    rows = {}
    # What overflows or is no number is found and said; NumPy's warnings about it would only fill the log.
    with np.errstate(all="ignore"), ExitStack() as stack:
        try:
            check_choices(options.choices)
            with missing_packages():
                predictions = read_files(source, options, files, notes, stack)
        except InvalidUpload as invalid:
            notes.add(invalid.finding)
            question = invalid.question or question
        if files:
            rows = first_rows(files[0])
    arrays = tuple(
        replace(array, file=contents.name) for contents in files for array in contents.arrays
    )
    return Inspection(
        arrays, notes.choices, notes.findings, predictions, question.readings, rows, question.models
    )


def first_rows(contents: Contents) -> dict[str, tuple[str, ...]]:
    """The first cells of each column of a table, as text of a few characters; nothing for files of arrays."""
    try:
        sample = contents.sample()
    except InvalidUpload:  # which was said where it was read
        return {}
    return {
        name: tuple(map(_in_a_cell, cells[:FIRST_ROWS].tolist())) for name, cells in sample.items()
    }


def _in_a_cell(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
    if text in ("nan", "NaT"):
        return ""
    return text if len(text) <= SHORT_CELL and text.isprintable() else shortened(text)


SHORT_CELL = 40
"""Characters of a cell that is shown as it is."""


def read_files(
    source: Source, options: LoadOptions, files: list[Contents], notes: Notes, stack: ExitStack
) -> Predictions:
    """Open the files, join their rows, read the arrays that are used, and make a data set of them.

    Parameters
    ----------
    files : gets what was opened, in that order.
    """
    chosen = options.choices

    def opened(file: Source) -> Contents:
        contents = open_source(file, chosen, stack)
        notes.add(*contents.findings)
        files.append(contents)
        return contents

    first = opened(source)
    others = (options.labels, options.test, options.test_labels)
    labels, test, test_labels = (None if file is None else opened(file) for file in others)
    beside = {}
    for role in (role for role in FEATURE_FILES if options.files[role] is not None):
        try:
            beside[role] = opened(options.files[role])  # type: ignore[arg-type]
        except InvalidUpload as invalid:
            notes.add(left_out_as(role, invalid))
    notes.decide(**first.format_choices)
    name = PurePath(first.name).stem
    pairs = notes.take(read_as_pairs(first, labels, notes.choices))
    if pairs is not first:
        first = pairs
        labels = None
        files[0] = pairs
    if test is not None:
        of_test = replace(chosen, outputs=chosen.test_outputs, labels=chosen.test_labels)
        pairs = read_as_pairs(test, test_labels, of_test).value
        if pairs is not test:
            test, test_labels = pairs, None
            chosen = replace(chosen, test_outputs=CONFIDENCE, test_labels=CORRECT)
    first, labels, _ = notes.take(joined(first, labels, chosen.ids))
    if test is not None:
        test, test_labels, _ = notes.take(joined(test, test_labels, chosen.ids))
    elif "features" in beside:
        first, labels = join_features(first, labels, beside, chosen, notes)
    notes.decide(**left_to_files(beside, chosen))
    arrays = read_arrays(first, labels, notes)
    if test is not None:
        arrays = with_test_file(arrays, first, test, test_labels, chosen, notes)
    elif notes.choices.test_outputs:
        arrays = notes.take(
            one_after_the_other(arrays, notes.take(named_part(first, notes.choices)), notes.choices)
        )
    if beside:
        arrays = with_features(arrays, beside, chosen, notes)
    data = predictions_of_arrays(arrays, name, notes)
    if chosen.weight_kind is None or data.weights is not None:
        return data
    if not any(finding.code == "weights" for finding in data.findings):
        named = [role.column for role in data.roles if has(role.column, WEIGHT)]
        held = f" {listed(named)} holds no numbers from 0 upwards that differ." if named else ""
        reason = (
            f"Weights of the kind {chosen.weight_kind} were announced, but none were found.{held}"
        )
        notes.add(
            warning(
                "weights", reason, "Name the column that holds them, as with weights='exposure'."
            )
        )
    return replace(data, findings=notes.findings)


def join_features(
    first: Contents,
    labels: Contents | None,
    beside: dict[str, Contents],
    chosen: Choices,
    notes: Notes,
) -> tuple[Contents, Contents | None]:
    """Outputs and labels with the rows that have features; features that cannot be joined are left out."""
    try:
        own, features, rows = notes.take(joined(first, beside["features"], chosen.ids))
    except InvalidUpload as invalid:
        notes.add(left_out_as("features", invalid))
        del beside["features"]
        return first, labels
    assert features is not None
    beside["features"] = features
    if (
        rows is not None
        and isinstance(labels, Table)
        and isinstance(first, Table)
        and labels.n_rows == first.n_rows
    ):
        labels = labels.taken(rows)
    return own, labels


def read_arrays(contents: Contents, labels: Contents | None, notes: Notes) -> Arrays:
    """Outputs and labels of one part, from one file or two, with what else the file holds per row."""
    check_names(contents, notes.choices, labels)
    roles: tuple[ColumnRole, ...] = ()
    if contents.tabular:
        roles = notes.take(infer_columns(contents, notes.choices, labels is not None))
    else:
        notes.choices = infer_arrays(contents, notes.choices, labels is not None)
    if labels is not None and not notes.choices.labels:
        notes.decide(labels=infer_label(labels))
    choices = notes.choices
    check_names(contents, choices, labels)
    are_pairs = choices.kind == "pairs"
    arrays = notes.take(read_part(contents, labels, choices.outputs, choices.labels, choices))
    signs = [finding.reason for finding in contents.findings if finding.code == "percent_signs"]
    if contents.tabular and not any(
        shortened(names_in(choices.outputs)[0]) in reason for reason in signs
    ):
        ask_whether_percent(arrays.outputs, choices)
    truth, names = arrays.labels, None
    if are_pairs:
        predicted = read_any(contents, choices.predicted) if choices.predicted else None
        truth = correct_answers(truth, predicted, arrays.labels_name, choices.event)
        names = ("wrong", "correct")
    beside = (*ROW_ROLES, "features", "split", *(() if are_pairs else ("predicted",)))
    rows = notes.take(
        read_rows(contents, len(arrays.outputs), {role: getattr(choices, role) for role in beside})
    )
    if contents.tabular:
        kept = [role.column for role in roles if role.role == "metadata"][:MOST_METADATA]
        rows |= {f"{METADATA}{name}": contents.read(name) for name in kept}
    else:
        taken = {name for value in choices.given().values() for name in names_of_arrays(value)}
        rows |= few_valued(contents, taken, len(arrays.outputs))
    train: dict[str, Array] = {}
    for role in ("train_features", "train_labels"):
        if name := getattr(choices, role):
            train |= read_aside(contents, role, name, notes)
    named = (read_class_names(contents) or names) if choices.class_names is None else names
    return replace(arrays, labels=truth, rows=rows, class_names=named, train=train, roles=roles)


def names_of_arrays(value: object) -> tuple[str, ...]:
    """The names in a choice that may be those of arrays."""
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)


def with_test_file(
    arrays: Arrays,
    first: Contents,
    test: Contents,
    test_labels: Contents | None,
    chosen: Choices,
    notes: Notes,
) -> Arrays:
    """Two files, calibration and then test; roles in the second are inferred anew, since its names may differ."""
    same = {
        role: name if in_file(test, name := getattr(notes.choices, role)) else None
        for role in (*ROW_ROLES, "features")
    }
    # Parts that the first file may bring itself are overruled by giving two files.
    other = Notes(
        Choices(
            outputs=chosen.test_outputs,
            labels=chosen.test_labels,
            label_values=chosen.label_values,
            split="",
            **same,
        )
    )
    second = read_arrays(test, test_labels, other)
    notes.add(*other.findings)
    notes.decide(test_outputs=other.choices.outputs, test_labels=other.choices.labels)
    own, theirs = notes.choices.features, other.choices.features
    if isinstance(own, tuple) and own != theirs and "features" in second.rows:
        del second.rows["features"]  # which is said where only one part has them
    whole = notes.take(
        one_after_the_other(
            named_by_file(arrays, first), named_by_file(second, test), notes.choices
        )
    )
    return replace(whole, outputs_name=arrays.outputs_name, labels_name=arrays.labels_name)


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
        With what was noticed under ``findings``.

    Raises
    ------
    DataError
        If the upload cannot be used; its ``findings`` say why and what to do.
    AmbiguousTable
        If a table can be read in several ways; its ``readings`` say in which, and what each would give.
    """
    inspection = inspect(source, options, **changes)
    if inspection.predictions is None:
        raise unusable(inspection.findings, inspection.readings)
    return inspection.predictions


def load_models(
    source: Source, options: LoadOptions | None = None, **changes: Any
) -> dict[str, Predictions]:
    """Read every model of a table, by name.

    Parameters
    ----------
    source : str, Path, DataFrame, mapping or tuple
        As for :func:`calib.load`. In wide form the table has the outcome once and outputs of each model side by side;
        in long form a column such as ``model`` says which model each row is of.
    options : LoadOptions or None, default None
        As for :func:`calib.load`.
    **changes
        As for :func:`calib.load`.

    Returns
    -------
    dict of str to Predictions
        Data set of each model; a single one under the file's name where the table holds no more.

    Raises
    ------
    DataError
        If the table cannot be used; :class:`calib.AmbiguousTable` where it is unclear for another reason than several
        models.
    """
    inspection = inspect(source, options, **changes)
    data = inspection.predictions
    warned = [finding for finding in inspection.findings if finding.code == "several_models"]
    if data is None and not warned and not inspection.models:
        raise unusable(inspection.findings, inspection.readings)
    options = (options or LoadOptions()).changed(**changes)
    if warned and warned[0].offers:  # the rows of all, with the models as the group
        (as_group,) = warned[0].offers.values()
        data = _model(source, options, dict(as_group), PurePath(inspection.arrays[0].file).stem)
    elif inspection.models:
        return {
            name: _model(source, options, roles, name) for name, roles in inspection.models.items()
        }
    assert data is not None
    if (
        not warned or data.groups is None
    ):  # of more names than groups may have, which a finding says
        return {data.name: data}
    (column,) = (role.column for role in data.roles if role.role == "group")
    chosen = options.choices
    roles: dict[str, Any] = {"ignore": (*names_in(chosen.ignore), column)}
    if column in names_in(chosen.groups):
        roles["group"] = None
    rest = _model(source, options, roles, data.name)
    rest = replace(
        rest, findings=tuple(each for each in rest.findings if each.code != "understood")
    )  # of all rows
    return {
        str(name): replace(rest.take(np.flatnonzero(data.groups == name)), name=str(name))
        for name in np.unique(data.groups)
    }


def _model(source: Source, options: LoadOptions, roles: dict[str, Any], name: str) -> Predictions:
    """One model, by the roles of its columns."""
    if isinstance(source, tuple) and hasattr(source[1], "seek"):
        source[1].seek(0)
    choices = Choices.from_roles(roles, options.choices)
    return replace(load(source, options, choices=choices), name=name)


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
    """
    if (
        labels is None
        and isinstance(data, (tuple, list))
        and len(data) == 2
        and not isinstance(data[0], (str, dict))
    ):
        data, labels = data
    if isinstance(data, Predictions):
        if labels is not None or class_names is not None or changes:
            loaded = "The data were loaded before, with their labels and options."
            raise DataError(
                [
                    Finding(
                        "error", "source", loaded, "Give them alone, or the arrays in their place."
                    )
                ]
            )
        return replace(data, name=name or data.name)
    for what, given in (("labels", labels), ("class_names", class_names)):
        if np.isscalar(given) or getattr(given, "ndim", 1) == 0:
            single = f"{what} is a single value, {shortened(repr(given))}."
            raise DataError([Finding("error", "shape_0d", single, "Give a list of them.")])
    name = None if name is None else str(name)
    if getattr(labels, "shape", ())[1:] == (1,):
        labels = np.asarray(labels)[:, 0]
    columns = list(getattr(data, "columns", ()))
    names = None if class_names is None else tuple(map(str, class_names))
    texts = labels is not None and all(isinstance(label, str) for label in labels)
    said = (
        len(columns) > 1
        and all(type(c) in (str, int) for c in columns)
        and columns != [*range(len(columns))]
    )
    if labels is not None and said and changes.get("label_values") is None:
        order = class_order([*map(str, columns)], names or ())
        if order != sorted(order):
            columns = [columns[place] for place in order]
            data = data[columns]
        called = names_in_common([*map(str, columns)])
        full = tuple(map(str, columns))
        values = _values_by_name(called, labels)
        if values is not None:
            changes["label_values"] = values
            names = names or called
        elif names is None:
            names = full if texts and not {*labels}.isdisjoint(full) else called
    if names is not None:
        changes[
            "label_values" if texts and changes.get("label_values") is None else "class_names"
        ] = names
    source = data if labels is None else {"outputs": data, "labels": labels}
    found = load(source, **changes)
    return replace(found, name=name or ("predictions" if in_memory(source) else found.name))


def _values_by_name(called: Sequence[str], labels: Any) -> tuple[int, ...] | None:
    """The label of each column, where columns are called by numbers or truth values that the labels hold.

    None also where these are 0, 1, 2 and so on, which are places.
    """
    given = np.asarray(labels)
    numbers = [{"false": "0", "true": "1"}.get(name.lower(), name) for name in called]
    if given.ndim != 1 or given.dtype.kind not in "biuf" or not all(map(str.isdecimal, numbers)):
        return None
    values = tuple(map(int, numbers))
    found = {*np.unique(given[np.isfinite(given)]).tolist()}
    return values if found <= {*values} and values != (*range(len(values)),) else None
