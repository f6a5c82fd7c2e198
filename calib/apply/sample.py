"""Random rows to fit on: of a file of any size, or of a data set with very many calibration rows."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from calib.apply.parts import Part, Progress, joined, no_progress, parts_of
from calib.arrays import check_number
from calib.data import Choices, Predictions
from calib.data.build.labels import decode_labels
from calib.data.build.part import check_rows, check_there
from calib.data.findings import MAX_BYTES, InvalidUpload
from calib.data.guess.arrays import infer_label
from calib.data.loading import check_choices, findings_as_error, load_quietly
from calib.data.names import class_names
from calib.data.read.base import Array
from calib.data.read.files import open_source, reads_isolated
from calib.errors import Finding
from calib.numerics import Ints

SAMPLED_ROWS = 50_000
"""Rows to fit on where there are very many."""

MANY_ROWS = 200_000
"""The app and the command line fit on a sample of more calibration rows than these, unless all are asked for."""


def sample_rows(
    source: str | Path,
    n_rows: int = SAMPLED_ROWS,
    *,
    labels: Any = None,
    choices: Choices | None = None,
    random_state: int = 0,
    progress: Progress = no_progress,
) -> Predictions:
    """Random rows of a file of any size, with their labels, as :func:`calib.load` reads a file of these rows alone.

    The file is read once, in blocks. What the labels mean is decided by those of all rows.

    Parameters
    ----------
    source : str or Path
        A .npy file, a Parquet table, or a folder of Parquet tables that belong together.
    n_rows : int, default 50000
        How many rows to draw, without replacement. They are fewer where the file has fewer, and where they would take
        more memory than ``CALIB_DATA_MB``; a finding says how many were drawn.
    labels : str, Path, array_like or None, default None
        Their file, or an array of them, unless they are a column of the table.
    choices : Choices or None, default None
        How the file is read, as for :func:`calib.load`.
    random_state : int, default 0
        Seed of the draw.
    progress : callable, optional
        Called as ``progress(rows done, rows in all)``.

    Returns
    -------
    Predictions
        In the order of the file.

    Raises
    ------
    CalibrationError
        If an argument cannot be, such as a negative number of rows.
    DataError
        If the file cannot be used, such as NaN in the rows drawn, labels of no class, or outputs and labels of
        different lengths; a row that is named is counted among those drawn.

    Examples
    --------
    >>> import tempfile
    >>> generator = np.random.default_rng(0)
    >>> file, labels = Path(tempfile.mkdtemp()) / "big.npy", generator.integers(0, 3, size=1000)
    >>> np.save(file, generator.normal(size=(1000, 3)))
    >>> data = sample_rows(file, 50, labels=labels)
    >>> data.logits.shape, data.labels.shape
    ((50, 3), (50,))
    """
    check_number("n_rows", n_rows, 1, whole=True)
    choices = choices or Choices()
    source = Path(source)
    with findings_as_error():
        check_choices(choices)
        parts = parts_of(source, choices, separate_labels=labels is not None)
        total = sum(part.n_rows for part in parts)
        all_labels, choices = _all_labels(labels, parts, total, source.name)
        most = max(1, MAX_BYTES // max(1, parts[0].row_bytes))
        drawn = _draw(total, min(n_rows, total, most), random_state)
        chosen = []
        start = 0
        for block in (block for part in parts for block in part.blocks()):
            within = drawn[slice(*np.searchsorted(drawn, [start, start + len(block)]))] - start
            chosen.append(block[within] if isinstance(block, np.ndarray) else block.take(within))
            start += len(block)
            progress(start, total)
        whole = joined(chosen, source.name) if parts[0].columns else np.concatenate(chosen)
    data = _loaded(whole, None if labels is None else all_labels[drawn], choices)
    if len(drawn) < total:
        sentence = f"{len(drawn):,} of the {total:,} rows of {source.name} were drawn at random (seed {random_state})."
        data = replace(data, findings=(*data.findings, Finding("info", "sampled", sentence)))
    return replace(data, name=source.stem)


def fewer_rows(
    data: Predictions, n_rows: int | None = None, random_state: int = 0
) -> tuple[Predictions, str]:
    """Random calibration rows to fit on, and a sentence that says so; all rows and "" where none are left out.

    Parameters
    ----------
    data : Predictions
        Calibration rows.
    n_rows : int or None, default None
        How many rows at most; None takes 50,000 of more than 200,000 rows, and all of fewer.
    random_state : int, default 0
        Seed of the draw.

    Returns
    -------
    tuple of Predictions and str
        The rows, and the sentence.
    """
    if n_rows is None:
        n_rows = SAMPLED_ROWS if len(data) > MANY_ROWS else len(data)
    check_number("n_rows", n_rows, 1, whole=True)
    if n_rows >= len(data):
        return data, ""
    sentence = f"{n_rows:,} of the {len(data):,} calibration rows were drawn at random (seed {random_state}) to fit on."
    return data.take(_draw(len(data), n_rows, random_state)), sentence


def _draw(n_rows: int, n_drawn: int, random_state: int) -> Ints:
    """Increasing numbers of different rows."""
    return np.sort(
        np.random.default_rng(random_state).choice(n_rows, n_drawn, replace=False, shuffle=False)
    )


def _all_labels(labels: Any, parts: list[Part], n_rows: int, name: str) -> tuple[Any, Choices]:
    """Return the labels of all rows, and the choices with the label of each column: a sample may miss a class.

    None where a table has a column for each class, which needs no decision.
    """
    columns, choices = parts[0].columns, parts[0].choices
    chosen = choices.labels
    what = Path(labels).name if isinstance(labels, (str, Path)) else f"The labels of {name}"
    if labels is None:
        if not columns:
            raise InvalidUpload(
                "no_labels", f"{name} holds outputs alone.", "Give the file of the labels."
            )
        if not isinstance(chosen, str):
            return None, choices
        labels = joined([block for part in parts for block in part.blocks((chosen,))], name)
    if reads_isolated(None, labels):
        raise InvalidUpload(
            "hdf5", f"{what} is HDF5, which is not read beside blocks of rows.", "Save it as npy."
        )
    with ExitStack() as stack:
        source = {"labels": labels} if isinstance(labels, np.ndarray) else labels
        contents = open_source(source, choices, stack)
        chosen = chosen or infer_label(contents)
        check_there(contents, chosen)
        raw = contents.read(chosen)
    check_rows(n_rows, len(raw) if raw.ndim else 0, name, what)
    if choices.kind != "pairs":
        names = class_names(columns) if columns else None
        width = max(parts[0].n_outputs, 2)
        order = decode_labels(raw, width, names, what, choices, may_miss=True)[1]
        if [*order] != [*range(width)]:
            choices = replace(choices, label_values=order)
    return raw, choices


def _loaded(rows: Any, labels: Array | None, choices: Choices) -> Predictions:
    """The rows that were drawn, an array or an Arrow table, as a data set; ``labels`` unless they lie in the table."""
    if isinstance(rows, np.ndarray):
        arrays = {"outputs": rows, "labels": labels}
        return load_quietly(arrays, choices=replace(choices, outputs="outputs", labels="labels"))
    if labels is None:
        return load_quietly(rows, choices=choices)
    return load_quietly(rows, labels={"labels": labels}, choices=replace(choices, labels="labels"))
