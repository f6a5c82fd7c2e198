"""What can be said about an upload by hand: the files it consists of, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from calib.canonical import Kind
from calib.parameters import param

Columns = str | tuple[str, ...]
"""One array of an npz or hdf5 file, or the columns of a table."""

Source = str | Path | tuple[str, bytes] | tuple[str, BinaryIO]
"""A path, or what an upload gives: its file name with its bytes or an open binary file."""

NOTHING = ""
"""Given for an array or a column, it means "leave this out" where None means "guess"."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """How to read an upload. None means "guess"; an :class:`Inspection` holds every guess filled in.

    Attributes
    ----------
    outputs, labels : the model's outputs and the true classes: an array's name, or the columns of a table.
        Where the file holds two parts these are the calibration part.
    test_outputs, test_labels : the same for the test part, where it lies under its own names.
    split : array or column that says which rows are for calibration.
    groups, features : subgroup of each row; inputs of each row. ``""`` leaves them out.
    train_features, train_labels : the training set, for methods that need it. ``""`` leaves them out.
    kind : logits, probabilities, log-probabilities, or a single column for binary data.
    class_names : one name for each column of the outputs.
    label_values : the label that belongs to each column, where labels are not column numbers.
    transposed : whether the outputs are (n_classes, n).
    one_based : whether labels count from one.
    label_shift : number added to every label.
    row_shift : row i of the outputs belongs to row i + row_shift of the labels; rows without partner are left out.
    drop_bad_rows : whether rows with NaN, infinite values or no valid label are left out, of the training set too.
    percent : whether probabilities sum to 100.
    renormalise : whether each row of probabilities is divided by its sum.
    standardise : whether features are standardised with the mean and standard deviation of the training set.
    floor : what exact zeros become before the logarithm; guessed by :func:`calib.canonical.zero_floor`.
    delimiter, encoding, decimal, header : how a text table is written; ``header`` says whether its first line
        holds the names of the columns.
    """

    outputs: Columns | None = None
    labels: Columns | None = None
    test_outputs: Columns | None = None
    test_labels: Columns | None = None
    split: str | None = None
    groups: str | None = None
    features: Columns | None = None
    train_features: Columns | None = None
    train_labels: str | None = None
    kind: Kind | None = None
    class_names: tuple[str, ...] | None = None
    label_values: tuple[str, ...] | tuple[int, ...] | None = None
    transposed: bool | None = None
    one_based: bool | None = None
    label_shift: int | None = None
    row_shift: int | None = None
    drop_bad_rows: bool | None = None
    percent: bool | None = None
    renormalise: bool | None = None
    standardise: bool | None = None
    floor: float | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            if isinstance(value := getattr(self, f.name), list):
                object.__setattr__(self, f.name, tuple(value))  # as good as a tuple, and people write them

    def made(self) -> dict[str, object]:
        """The choices that are not left to guessing."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """What :func:`calib.load` and :func:`calib.data.inspect` take beside the file with the model's outputs.

    Every file is declared here once; the command line makes an option of each and the page a place to upload it,
    both with its help. A file that is not given is None: what it would hold is looked for in the first file.

    Attributes
    ----------
    labels : the labels of the first file.
    test, test_labels : the test set and its labels; the first file is then the calibration set.
    features : the features of all rows, calibration rows first; perhaps with the training set.
    train_features, train_labels : the training set.
    choices : how the files are read.
    """

    labels: Source | None = param(None, help="Labels, where they have their own file")
    test: Source | None = param(None, help="Test set, where it has its own file; the first is then for calibration")
    test_labels: Source | None = param(None, help="Labels of the test set, where they have their own file")
    features: Source | None = param(None, help="Features, one entry per row, where they have their own file")
    train_features: Source | None = param(None, help="Features of the training set, where they have their own file")
    train_labels: Source | None = param(None, help="Labels of the training set, where they have their own file")
    choices: Choices = Choices()

    def changed(self, *, choices: Choices | None = None, **changes: Any) -> Self:
        """The options with other files or choices; what is no file is a single field of the choices."""
        files = {name: changes.pop(name) for name in FILES if name in changes}
        return replace(self, **files, choices=replace(choices or self.choices, **changes))

    @property
    def files(self) -> dict[str, Source | None]:
        """Every file by its name, None where it was not given."""
        return {name: getattr(self, name) for name in FILES}


FILES: dict[str, str] = {f.name: f.metadata["help"] for f in fields(LoadOptions) if f.metadata}
"""The files beside the first one by name, each with its help, in the order of the command line and the page."""

FEATURE_FILES = ("features", "train_features", "train_labels")
"""Those of them that only some methods need."""
