"""Outputs, and features, without labels, from a file of any format, for a fitted calibrator to be applied to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calib.data.build.features import Features, as_features
from calib.data.build.labels import crossed
from calib.data.build.part import (
    LONGEST_MODEL,
    as_floats,
    check_there,
    class_names_in,
    display_names,
    read_class_names,
    read_model,
)
from calib.data.findings import MAX_ROWS, InvalidUpload, listed
from calib.data.guess.arrays import infer_arrays
from calib.data.guess.question import infer_columns
from calib.data.loading import check_choices, findings_as_error, in_a_reader
from calib.data.names import FEATURES, first_named, texts_of
from calib.data.options import ONE_FILE, Choices, Columns, Source
from calib.data.read.base import Contents
from calib.data.read.files import open_file, open_source, reads_isolated
from calib.data.read.top_k import read_as_pairs
from calib.data.roles import ColumnRole
from calib.data.rows import group_names
from calib.numerics import Floats

LONGEST_NAME = 100
"""Letters of what names a row."""


@dataclass(frozen=True, eq=False)
class UnlabelledRows:
    """Rows to be calibrated.

    Attributes
    ----------
    outputs : floats as the model wrote them.
    ids : of a table, the columns that name its rows, as (n,) text by their names; empty for files of arrays.
    columns : of a table, the columns of the outputs in their order; of arrays, what the one that names the classes
        holds; empty where there is none.
    groups : group of each row, where a column of them was chosen.
    model : name and version of the model, as :class:`calib.Predictions` has them.
    features : (n, d) numbers or images, where they were asked for.
    """

    outputs: Floats
    ids: Mapping[str, npt.NDArray[np.str_]]
    columns: tuple[str, ...] = ()
    groups: npt.NDArray[np.str_] | None = None
    model: str = ""
    features: Features | None = None


def read_rows(
    source: Source,
    choices: Choices | None = None,
    isolate: bool | None = None,
    with_features: bool = False,
) -> UnlabelledRows:
    """A model's outputs as they stand in a file, and what names the rows; labels may be there and are left alone.

    Parameters
    ----------
    source : a path, or a file name with its bytes or an open binary file.
    choices : as for :func:`calib.data.inspect`; usually the outputs' name at most. Groups are read where they are
        chosen.
    isolate : whether the file is read in a process of its own, as by :func:`calib.data.inspect`.
    with_features : whether the inputs of the rows are read too, for methods that predict from them.

    Returns
    -------
    UnlabelledRows
        :meth:`calib.export.runtime.ExportedCalibrator.to_logits` makes their outputs canonical and checks them.

    Raises
    ------
    DataError
        If the file cannot be read or holds no outputs, or no features where these are needed.
    """
    if reads_isolated(isolate, source):
        return _read_isolated(source, choices, with_features)
    with _open_contents(source, choices) as (contents, chosen):
        check_there(contents, chosen.groups)
        read, roles = _infer_roles(contents, chosen)
        columns = check_there(contents, read.outputs)
        (name,) = display_names(contents, read.outputs)
        values = contents.read(read.outputs or "")
        if len(values) > MAX_ROWS:
            reason = f"{contents.name} has {len(values):,} rows; at most {MAX_ROWS:,} are read."
            raise InvalidUpload("too_large", reason, "Save fewer rows.")
        outputs = as_floats(values if values.ndim > 1 else values.reshape(-1, 1), name)
        ids = {}
        for column in (role.column for role in roles if role.role == "id"):
            texts = texts_of(contents.read(column).reshape(-1))
            if np.char.str_len(texts).max(initial=0) <= LONGEST_NAME:
                ids[column] = texts
        columns = (
            columns if contents.tabular else read_class_names(contents, class_names_in(contents))
        )
        groups = _groups_of_rows(contents, chosen.groups, len(outputs)) if chosen.groups else None
        unused = [role.column for role in roles if role.role == "ignore"]
        model = read_model(contents, unused)
        features = _features_of_rows(contents, chosen.features) if with_features else None
        return UnlabelledRows(outputs, ids, columns, groups, model, features)


def _features_of_rows(contents: Contents, chosen: Columns | None) -> Features:
    """The inputs of the rows, as they stand in the file."""
    names = () if contents.tabular else contents.names
    name = chosen or first_named(names, FEATURES, None, "test", "calibration")
    if name is None:
        reason = f"{contents.name} holds {listed(contents.names)}; none looks like the inputs of the rows."
        action = f"Name them as features=..., or put all arrays into one file: {ONE_FILE}."
        raise InvalidUpload("no_features", reason, action)
    check_there(contents, name)
    return as_features(contents.read(name), *display_names(contents, name))


def _groups_of_rows(contents: Contents, chosen: Columns, n_rows: int) -> npt.NDArray[np.str_]:
    """The group of each row as loading reads it."""
    names = check_there(contents, chosen)
    columns = [contents.read(name) for name in names]
    values = crossed(columns) if names[1:] else columns[0]
    groups, findings = group_names(values.reshape(len(values), -1)[:, 0])
    if groups is not None and len(groups) == n_rows:
        return groups
    why = findings[0].reason if groups is None else f"{len(values):,} groups for {n_rows:,} rows."
    raise InvalidUpload("groups", f"{listed(names)}: {why}", "Choose another column of groups.")


def _read_isolated(source: Source, choices: Choices | None, with_features: bool) -> UnlabelledRows:
    """Read in a process of its own; what is no array of numbers, or no rows of it, was not read by us."""
    with findings_as_error(), ExitStack() as stack:
        rows = in_a_reader(read_rows, open_file(source, stack), choices, False, with_features)
        outputs, features = rows.outputs, rows.features
        texts = [*rows.ids.values(), *([] if rows.groups is None else [rows.groups])]
        arrays = [outputs, *([] if features is None else [features])]
        numbers = all(array.dtype.kind in "fiu" and array.ndim >= 2 for array in arrays)
        named = (column.shape == outputs.shape[:1] and column.dtype.kind == "U" for column in texts)
        if not numbers or not all(named):
            raise InvalidUpload("damaged", "What was read cannot be right.", "Save the file anew.")
        return replace(rows, model=str(rows.model)[:LONGEST_MODEL])


@contextmanager
def _open_contents(source: Source, choices: Choices | None) -> Iterator[tuple[Contents, Choices]]:
    """Open a file with the choices that read it; what is wrong becomes a DataError."""
    choices = choices or Choices()
    with findings_as_error(), np.errstate(all="ignore"), ExitStack() as stack:
        check_choices(choices)
        contents = open_source(source, choices, stack)
        choices = replace(choices, **contents.format_choices)
        contents, options, _ = read_as_pairs(contents, None, choices, labelled=False)
        yield contents, replace(choices, **options)


def _infer_roles(contents: Contents, choices: Choices) -> tuple[Choices, tuple[ColumnRole, ...]]:
    """Infer the role of every array or column; the file need not hold labels."""
    if not contents.tabular:
        return infer_arrays(contents, choices, True), ()
    check_there(contents, choices.outputs)
    return infer_columns(contents, choices, True)[:2]
